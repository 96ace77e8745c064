// The array type: making arrays, indexing, views.
#include "frontend/pyfiber/kernel_array.h"

#include <cstring>
#include <vector>

#include "frontend/pyfiber/assigned_states.h"
#include "frontend/pyfiber/kernel_array_methods.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/kernel_record.h"

namespace cudasim::pyfiber {

PyTypeObject* kernel_array_type = nullptr;

namespace {

/// Looks at the array protocol's type string, because `dtype.name` is a Python function, into which debuggers
/// would step.
Element element_of(PyObject* dtype) {
    Reference code(PyObject_GetAttrString(dtype, "str"));
    const char* text = code ? PyUnicode_AsUTF8(code.get()) : nullptr;
    PyErr_Clear();
    if (text == nullptr) return Element::other;
    static constexpr const char* codes[] = {"|b1", "|i1", "<i2", "<i4", "<i8",
                                            "|u1", "<u2", "<u4", "<u8", "<V2" /* ml_dtypes.bfloat16 */,
                                            "<f2", "<f4", "<f8", "<c8", "<c16"};
    for (std::size_t i = 0; i < std::size(codes); ++i)
        if (std::strcmp(text, codes[i]) == 0) return static_cast<Element>(i);
    Reference names(PyObject_GetAttrString(dtype, "names"));
    return names && names.get() != Py_None ? Element::record : Element::other;
}

KernelArray* as_array(PyObject* self) {
    return reinterpret_cast<KernelArray*>(self);
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    KernelArray* array = as_array(self);
    Py_XDECREF(array->dtype);
    Py_XDECREF(array->numpy);
    Py_XDECREF(array->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

bool refuse_index(PyObject* key, Py_ssize_t size, int axis) {
    raise_finding(PyExc_IndexError, findings::FindingKind::out_of_bounds_index,
                  "index %S is out of bounds for axis %d with size %zd", key, axis, size);
    return false;
}

/// A negative index that is in range, where the launch asks for those that are not literals (plain ints).
bool note_wrap(PyObject* key, Py_ssize_t index, Py_ssize_t size, int axis) {
    if (current_thread == nullptr || PyLong_CheckExact(key) || !current_thread->handle->checks_wraps())
        return true;
    SimulatedThread& thread = *current_thread;
    if (!thread.handle->wrapped_index(index, size, axis, thread.launch->site_here())) return true;
    raise_finding(PyExc_IndexError, findings::FindingKind::negative_index,
                  "index %zd wraps around to element %zd of axis %d with size %zd", index, index + size, axis,
                  size);
    return false;
}

/// The index along an axis, with negative ones counted from the end; false with an exception set.
bool as_index(PyObject* key, Py_ssize_t& index, Py_ssize_t size, int axis) {
    if (PyLong_Check(key)) [[likely]] {
        if (!PyLong_CheckExact(key)) {  // a kernel's: 64 bits at most
            index = low_bits(key);
            if (index >= 0 && index < size) [[likely]]
                return true;
        }
        int overflow = 0;
        index = static_cast<Py_ssize_t>(PyLong_AsLongLongAndOverflow(key, &overflow));
        if (overflow != 0) return refuse_index(key, size, axis);
    } else if (PyIndex_Check(key)) {
        index = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (index == -1 && PyErr_Occurred()) return false;
    } else {
        PyErr_Format(PyExc_TypeError,
                     "an array is indexed with integers, slices, None and ..., not with %.100s",
                     Py_TYPE(key)->tp_name);
        return false;
    }
    if (index >= 0 && index < size) return true;
    if (index >= 0 || index < -size) return refuse_index(key, size, axis);
    if (!note_wrap(key, index, size, axis)) return false;
    index += size;
    return true;
}

/// The element's address when the key is one whole index; none without an exception when it is something
/// else.
Address whole_index(KernelArray* array, PyObject* key) {
    Py_ssize_t index = 0;
    if (array->ndim == 1 && PyLong_Check(key)) [[likely]] {
        if (!as_index(key, index, array->extent(0), 0)) return {};
        return array->data + index * array->stride(0);
    }
    if (!PyTuple_Check(key)) {
        if (array->ndim != 1 || !PyIndex_Check(key)) return {};
        if (!as_index(key, index, array->extent(0), 0)) return {};
        return array->data + index * array->stride(0);
    }
    if (PyTuple_GET_SIZE(key) != array->ndim) return {};
    Address address = array->data;
    for (int axis = 0; axis < array->ndim; ++axis) {
        PyObject* part = PyTuple_GET_ITEM(key, axis);
        if (!PyIndex_Check(part)) return {};
        if (!as_index(part, index, array->extent(axis), axis)) return {};
        address = address + index * array->stride(axis);
    }
    return address;
}

/// Extents and strides of a view that is being made, and where it begins.
struct View {
    Address data;
    std::vector<Py_ssize_t> extents, strides;
};

bool add_slice(const KernelArray* array, int axis, PyObject* slice, View& view) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(slice, &start, &stop, &step) != 0) return false;
    const Py_ssize_t length = PySlice_AdjustIndices(array->extent(axis), &start, &stop, step);
    if (length > 0) view.data = view.data + start * array->stride(axis);
    view.extents.push_back(length);
    view.strides.push_back(array->stride(axis) * step);
    return true;
}

void keep_axis(const KernelArray* array, int axis, View& view) {
    view.extents.push_back(array->extent(axis));
    view.strides.push_back(array->stride(axis));
}

/// NumPy's basic indexing: integers, slices, None, one Ellipsis.
bool index_view(KernelArray* array, PyObject* key, View& view) {
    PyObject* const* parts = PyTuple_Check(key) ? &PyTuple_GET_ITEM(key, 0) : &key;
    const Py_ssize_t count = PyTuple_Check(key) ? PyTuple_GET_SIZE(key) : 1;
    int used = 0;
    for (Py_ssize_t i = 0; i < count; ++i) used += parts[i] != Py_None && parts[i] != Py_Ellipsis;
    if (used > array->ndim) {
        PyErr_Format(PyExc_IndexError,
                     "too many indices for array: array is %d-dimensional, but %d were indexed", array->ndim,
                     used);
        return false;
    }
    int axis = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* part = parts[i];
        if (part == Py_None) {
            view.extents.push_back(1);
            view.strides.push_back(0);
        } else if (part == Py_Ellipsis) {
            for (int rest = array->ndim - used; rest > 0; --rest) keep_axis(array, axis++, view);
            used = array->ndim;  // another one stands for nothing
        } else if (PySlice_Check(part)) {
            if (!add_slice(array, axis++, part, view)) return false;
        } else {
            Py_ssize_t index = 0;
            if (!as_index(part, index, array->extent(axis), axis)) return false;
            view.data = view.data + index * array->stride(axis++);
        }
    }
    while (axis < array->ndim) keep_axis(array, axis++, view);
    return true;
}

PyObject* view_of(KernelArray* array, PyObject* key) {
    View view{array->data, {}, {}};
    if (!index_view(array, key, view)) return nullptr;
    const int ndim = static_cast<int>(view.extents.size());
    view.extents.insert(view.extents.end(), view.strides.begin(), view.strides.end());
    return make_array(view.data, array->dtype, ndim, view.extents.data(), array->writable, array->owner);
}

/// NumPy serves index arrays and masks, and chooses the elements.
bool has_index_array(PyObject* key) {
    if (!PyTuple_Check(key)) return Py_TYPE(key) == kernel_array_type;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
        if (Py_TYPE(PyTuple_GET_ITEM(key, i)) == kernel_array_type) return true;
    return false;
}

PyObject* select_by_arrays(KernelArray* array, PyObject* key) {
    Reference plain(without_kernel_arrays(key, Use::read));
    PyObject* view = plain ? numpy_view(array, Use::anything) : nullptr;
    return view == nullptr ? nullptr : PyObject_GetItem(view, plain.get());
}

/// What NumPy is to assign to elements of the array: numbers converted as stores of single elements are,
/// where NumPy would refuse -2 for uint16; tuples likewise; arrays and records of the kernel as ndarrays that
/// are read now; anything else as it is. New reference.
PyObject* as_elements(const KernelArray* array, PyObject* value) {
    if (Py_TYPE(value) == kernel_array_type)
        return Py_XNewRef(numpy_view(reinterpret_cast<KernelArray*>(value), Use::read));
    if (Py_TYPE(value) == kernel_record_type) return numpy_record(value, Use::read);
    if (array->element >= Element::record) return Py_NewRef(stored_value(array->element, value).plain);
    if (PyTuple_Check(value)) {
        PyObject* copy = PyTuple_New(PyTuple_GET_SIZE(value));
        for (Py_ssize_t i = 0; copy != nullptr && i < PyTuple_GET_SIZE(value); ++i) {
            PyObject* part = as_elements(array, PyTuple_GET_ITEM(value, i));
            if (part == nullptr)
                Py_CLEAR(copy);
            else
                PyTuple_SET_ITEM(copy, i, part);
        }
        return copy;
    }
    value = stored_value(array->element, value).plain;
    if (read_number(value).type == Element::other) return Py_NewRef(value);
    char bits[most_element_bytes];
    if (!bits_of_value(array->element, value, bits)) return nullptr;
    Reference own(PyByteArray_FromStringAndSize(bits, width(array->element)));
    if (!own) return nullptr;
    Reference one(
        make_array(Address(PyByteArray_AS_STRING(own.get())), array->dtype, 0, nullptr, true, own.get()));
    return one ? Py_XNewRef(numpy_view(as_array(one.get()), Use::nothing)) : nullptr;
}

int assign_by_arrays(KernelArray* array, PyObject* key, PyObject* value) {
    Reference plain(without_kernel_arrays(key, Use::read)), elements(as_elements(array, value));
    PyObject* view = plain && elements ? numpy_view(array, Use::anything) : nullptr;
    return view == nullptr ? -1 : PyObject_SetItem(view, plain.get(), elements.get());
}

PyObject* named_fields(KernelArray* array, PyObject* name) {
    PyObject* fields = field_array(array, name);
    if (fields == nullptr && !PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "no field of name %R", name);
    return fields;
}

PyObject* subscript(PyObject* self, PyObject* key) {
    KernelArray* array = as_array(self);
    if (!burn(fuel_of_access)) return nullptr;
    if (array->element == Element::record) {
        if (PyUnicode_Check(key)) return named_fields(array, key);
        if (const Address address = whole_index(array, key))
            return make_record(address, array->dtype, array->writable, array->owner);
    } else if (array->element != Element::other) {
        if (const Address address = whole_index(array, key)) return load(array->element, address);
        if (PyErr_Occurred()) return nullptr;
        return has_index_array(key) ? select_by_arrays(array, key) : view_of(array, key);
    } else if (const Address address = whole_index(array, key)) {
        // NumPy reads the element: a date, or characters.
        Reference one(make_array(address, array->dtype, 0, nullptr, array->writable, array->owner));
        PyObject* view = one ? numpy_view(as_array(one.get()), Use::read) : nullptr;
        Reference nothing(PyTuple_New(0));
        PyObject* value = view == nullptr ? nullptr : PyObject_GetItem(view, nothing.get());
        return loaded_value(array->element, address, static_cast<std::size_t>(array->itemsize), value);
    }
    return PyErr_Occurred() ? nullptr : view_of(array, key);
}

int assign(PyObject* self, PyObject* key, PyObject* value) {
    KernelArray* array = as_array(self);
    if (value == nullptr) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (!burn(fuel_of_access) || !check_writable(array)) return -1;
    const Address address = whole_index(array, key);
    if (!address && PyErr_Occurred()) return -1;
    if (address && array->element == Element::record)
        return store_record(address, array->dtype, value) ? 0 : -1;
    if (address && array->element != Element::other) return store(array->element, address, value) ? 0 : -1;
    if (has_index_array(key)) return assign_by_arrays(array, key, value);
    Reference target(view_of(array, key)), elements(as_elements(array, value));
    if (!target || !elements) return -1;
    const AssignedStates states(as_array(target.get()), value);
    PyObject* view = numpy_view(as_array(target.get()), Use::write);
    if (view == nullptr) return -1;
    const int failed = PyObject_SetItem(view, Py_Ellipsis, elements.get());
    if (failed != 0 && PyErr_ExceptionMatches(PyExc_ValueError))
        PyErr_SetString(PyExc_ValueError, "cannot assign slice from input of different size");
    if (failed == 0) states.store();
    return failed;
}

Py_ssize_t length(PyObject* self) {
    if (as_array(self)->ndim != 0) return as_array(self)->extent(0);
    PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    return -1;
}

/// Whether an element in any dimension equals the value; -1 with an exception set on failure.
int contains(PyObject* self, PyObject* value) {
    PyObject* view = numpy_view(as_array(self), Use::read);
    tell_use_of_elements(ValueUse::comparison, as_array(self));
    return view == nullptr ? -1 : PySequence_Contains(view, told_value(value, ValueUse::comparison));
}

/// Iteration: rows, or elements. IndexError ends it.
PyObject* item(PyObject* self, Py_ssize_t index) {
    KernelArray* array = as_array(self);
    if (array->ndim == 0 || index < 0 || index >= array->extent(0)) {
        PyErr_SetString(PyExc_IndexError, "iteration is over");
        return nullptr;
    }
    Reference key(PyLong_FromSsize_t(index));
    return key ? subscript(self, key.get()) : nullptr;
}

}  // namespace

bool check_writable(const KernelArray* array) {
    if (array->writable) [[likely]]
        return true;
    raise_finding(PyExc_MemoryError, findings::FindingKind::write_to_constant,
                  "write to memory that kernels may only read");
    return false;
}

Address element_address(KernelArray* array, PyObject* index) {
    const Address address = whole_index(array, index);
    if (!address && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%d indices are needed for an element of a %d-dimensional array",
                     array->ndim, array->ndim);
    return address;
}

PyObject* make_array(Address data, PyObject* dtype, int ndim, const Py_ssize_t* dimensions, bool writable,
                     PyObject* owner) {
    PyTypeObject* type = kernel_array_type;
    auto* array = reinterpret_cast<KernelArray*>(type->tp_alloc(type, 2 * ndim));
    if (array == nullptr) return nullptr;
    array->data = data;
    array->dtype = Py_NewRef(dtype);
    array->owner = Py_XNewRef(owner);
    array->numpy = nullptr;
    array->writable = writable;
    array->ndim = ndim;
    static PyObject* known_dtype =
        nullptr;  // most arrays of a kernel have one of a few dtypes, as the one before
    static Element known_element = Element::other;
    if (dtype != known_dtype) {
        known_element = element_of(dtype);
        Py_XSETREF(known_dtype, Py_NewRef(dtype));
    }
    array->element = known_element;
    Reference size(PyObject_GetAttrString(dtype, "itemsize"));
    array->itemsize = size ? PyLong_AsSsize_t(size.get()) : 0;
    for (int i = 0; i < 2 * ndim; ++i) array->dimensions[i] = dimensions[i];
    return reinterpret_cast<PyObject*>(array);
}

PyObject* make_fresh_memory(Py_ssize_t bytes, std::uint16_t poison) {
    PyObject* memory = PyByteArray_FromStringAndSize(nullptr, bytes);
    if (memory == nullptr) return nullptr;
    char* data = PyByteArray_AS_STRING(memory);
    for (Py_ssize_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(poison >> (i % 2 == 0 ? 0 : 8));
    return memory;
}

PyObject* make_fresh_array(PyObject* dtype, int ndim, const Py_ssize_t* extents, std::uint16_t poison,
                           execution::MemorySpace space) {
    Reference size(PyObject_GetAttrString(dtype, "itemsize"));
    if (!size) return nullptr;
    std::vector<Py_ssize_t> dimensions(extents, extents + ndim);
    dimensions.resize(2 * static_cast<std::size_t>(ndim));
    Py_ssize_t bytes = PyLong_AsSsize_t(size.get());
    for (int axis = ndim - 1; axis >= 0; --axis) {
        dimensions[static_cast<std::size_t>(ndim) + static_cast<std::size_t>(axis)] = bytes;
        bytes *= extents[axis];
    }
    Reference owner(make_fresh_memory(bytes, poison));
    if (!owner) return nullptr;
    const Address data(PyByteArray_AS_STRING(owner.get()));
    tell_memory(data, static_cast<std::size_t>(bytes), space);
    return make_array(data, dtype, ndim, dimensions.data(), true, owner.get());
}

bool initialise_kernel_arrays(PyObject* module) {
    PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
                           {Py_tp_doc, const_cast<char*>("An array of a kernel that runs in Python mode.")},
                           {Py_mp_subscript, reinterpret_cast<void*>(&subscript)},
                           {Py_mp_ass_subscript, reinterpret_cast<void*>(&assign)},
                           {Py_mp_length, reinterpret_cast<void*>(&length)},
                           {Py_sq_length, reinterpret_cast<void*>(&length)},
                           {Py_sq_contains, reinterpret_cast<void*>(&contains)},
                           {Py_sq_item, reinterpret_cast<void*>(&item)},
                           {Py_tp_methods, kernel_array_methods},
                           {Py_tp_getset, kernel_array_attributes},
                           {Py_tp_getattro, reinterpret_cast<void*>(&kernel_array_attribute)},
                           {Py_tp_repr, reinterpret_cast<void*>(&kernel_array_text)},
                           {Py_tp_str, reinterpret_cast<void*>(&kernel_array_text)},
                           {0, nullptr}};
    PyType_Spec specification = {"cudasim.KernelArray", offsetof(KernelArray, dimensions), sizeof(Py_ssize_t),
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    kernel_array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&specification));
    return kernel_array_type != nullptr && PyModule_AddType(module, kernel_array_type) == 0;
}

}  // namespace cudasim::pyfiber
