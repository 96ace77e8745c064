// See kernel_record.h.
#include "frontend/pyfiber/kernel_record.h"

#include <vector>

#include "frontend/pyfiber/kernel_array_methods.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {

PyTypeObject* kernel_record_type = nullptr;

namespace {

struct KernelRecord {
    PyObject_HEAD Address data;
    bool writable;
    PyObject* dtype;  ///< numpy.dtype
    PyObject* owner;  ///< keeps the memory
};

KernelRecord* as_record(PyObject* self) {
    return reinterpret_cast<KernelRecord*>(self);
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_XDECREF(as_record(self)->dtype);
    Py_XDECREF(as_record(self)->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

struct Field {
    Reference dtype;  ///< of an element
    Py_ssize_t offset = 0;
    std::vector<Py_ssize_t> extents;  ///< of a field that is an array
    bool is_array = false;
};

/// False without an exception when there is no such field.
bool find_field(PyObject* dtype, PyObject* name, Field& field) {
    Reference fields(PyObject_GetAttrString(dtype, "fields"));
    Reference found(fields && fields.get() != Py_None ? PyObject_GetItem(fields.get(), name) : nullptr);
    if (!found) {
        if (PyErr_ExceptionMatches(PyExc_KeyError)) PyErr_Clear();
        return false;
    }
    field.dtype = Reference::borrowed(PyTuple_GetItem(found.get(), 0));
    field.offset = PyLong_AsSsize_t(PyTuple_GetItem(found.get(), 1));
    Reference nested(PyObject_GetAttrString(field.dtype.get(), "subdtype"));
    if (!nested) return false;
    field.is_array = nested.get() != Py_None;
    if (!field.is_array) return true;
    field.dtype = Reference::borrowed(PyTuple_GetItem(nested.get(), 0));
    PyObject* shape = PyTuple_GetItem(nested.get(), 1);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i)
        field.extents.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)));
    return !PyErr_Occurred();
}

/// Strides of the field's own axes.
std::vector<Py_ssize_t> strides_of(const Field& field) {
    Reference size(PyObject_GetAttrString(field.dtype.get(), "itemsize"));
    Py_ssize_t step = size ? PyLong_AsSsize_t(size.get()) : 0;
    std::vector<Py_ssize_t> strides(field.extents.size());
    for (std::size_t axis = strides.size(); axis-- > 0; step *= field.extents[axis]) strides[axis] = step;
    return strides;
}

PyObject* array_of(KernelRecord* record, const Field& field) {
    std::vector<Py_ssize_t> dimensions = field.extents;
    for (Py_ssize_t stride : strides_of(field)) dimensions.push_back(stride);
    return make_array(record->data + field.offset, field.dtype.get(), static_cast<int>(field.extents.size()),
                      dimensions.data(), record->writable, record->owner);
}

PyObject* get(KernelRecord* record, const Field& field) {
    if (!burn(fuel_of_access)) return nullptr;
    Reference array(array_of(record, field));
    if (!array || field.is_array) return array.release();
    Reference nothing(PyTuple_New(0));
    return PyObject_GetItem(array.get(), nothing.get());
}

int set(KernelRecord* record, const Field& field, PyObject* value) {
    if (value == nullptr) {
        PyErr_SetString(PyExc_TypeError, "fields of a record cannot be deleted");
        return -1;
    }
    Reference array(array_of(record, field)), whole(PyTuple_New(0));
    return array && whole ? PyObject_SetItem(array.get(), field.is_array ? Py_Ellipsis : whole.get(), value)
                          : -1;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
    Field field;
    if (find_field(as_record(self)->dtype, name, field)) return get(as_record(self), field);
    return PyErr_Occurred() ? nullptr : PyObject_GenericGetAttr(self, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
    Field field;
    if (find_field(as_record(self)->dtype, name, field)) return set(as_record(self), field, value);
    return PyErr_Occurred() ? -1 : PyObject_GenericSetAttr(self, name, value);
}

/// A field's name, or the name of the field of that number in order of offsets, as Numba counts them.
Reference name_of(KernelRecord* record, PyObject* key) {
    if (!PyLong_Check(key)) return Reference::borrowed(key);
    Reference names(PyObject_GetAttrString(record->dtype, "names")), ordered(PyList_New(0));
    for (Py_ssize_t i = 0; names && ordered && i < PyTuple_GET_SIZE(names.get()); ++i) {
        Field field;
        PyObject* name = PyTuple_GET_ITEM(names.get(), i);
        if (!find_field(record->dtype, name, field)) return Reference();
        Reference entry(Py_BuildValue("(nnO)", field.offset, i, name));
        if (!entry || PyList_Append(ordered.get(), entry.get()) != 0) return Reference();
    }
    if (!ordered || PyList_Sort(ordered.get()) != 0) return Reference();
    Reference entry(PyObject_GetItem(ordered.get(), key));
    return entry ? Reference::borrowed(PyTuple_GetItem(entry.get(), 2)) : Reference();
}

bool find_item(PyObject* self, PyObject* key, Field& field) {
    const Reference name = name_of(as_record(self), key);
    if (!name) return false;
    if (find_field(as_record(self)->dtype, name.get(), field)) return true;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "no field of name %R", name.get());
    return false;
}

PyObject* get_item(PyObject* self, PyObject* key) {
    Field field;
    return find_item(self, key, field) ? get(as_record(self), field) : nullptr;
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
    Field field;
    return find_item(self, key, field) ? set(as_record(self), field, value) : -1;
}

/// NumPy's, so that it can print records and take them where it wants one.
PyObject* as_numpy(PyObject* self, PyObject*, PyObject*) {
    return numpy_record(self, Use::anything);
}

PyObject* text(PyObject* self) {
    Reference view(as_numpy(self, nullptr, nullptr));
    return view ? PyObject_Str(view.get()) : nullptr;
}

/// What compiled kernels refuse: no order, no equality, no truth.
int truth(PyObject*) {
    PyErr_SetString(PyExc_TypeError, "a record cannot be a condition");
    return -1;
}

PyMethodDef methods[] = {
    {"__array__", with_keywords(&as_numpy), METH_VARARGS | METH_KEYWORDS, "The same memory as an ndarray."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* record_as_array(PyObject* self) {
    const KernelRecord* record = as_record(self);
    return make_array(record->data, record->dtype, 0, nullptr, record->writable, record->owner);
}

PyObject* numpy_record(PyObject* self, Use use) {
    Reference array(record_as_array(self));
    return array ? Py_XNewRef(numpy_view(reinterpret_cast<KernelArray*>(array.get()), use)) : nullptr;
}

PyObject* make_record(Address data, PyObject* dtype, bool writable, PyObject* owner) {
    PyTypeObject* type = kernel_record_type;
    auto* record = reinterpret_cast<KernelRecord*>(type->tp_alloc(type, 0));
    if (record == nullptr) return nullptr;
    record->data = data;
    record->writable = writable;
    record->dtype = Py_NewRef(dtype);
    record->owner = Py_XNewRef(owner);
    return reinterpret_cast<PyObject*>(record);
}

bool store_record(Address address, PyObject* dtype, PyObject* value) {
    if (Py_TYPE(value) != kernel_record_type) {
        PyErr_Format(PyExc_TypeError, "a record can be given a record, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    Reference size(PyObject_GetAttrString(dtype, "itemsize"));
    if (!size) return false;
    copy(address, as_record(value)->data, static_cast<std::size_t>(PyLong_AsSsize_t(size.get())));
    return true;
}

PyObject* field_array(KernelArray* array, PyObject* name) {
    Field field;
    if (array->element != Element::record || !find_field(array->dtype, name, field)) return nullptr;
    const auto* const outer = array->dimensions;
    std::vector<Py_ssize_t> dimensions(outer, outer + array->ndim);
    dimensions.insert(dimensions.end(), field.extents.begin(), field.extents.end());
    dimensions.insert(dimensions.end(), outer + array->ndim, outer + 2 * array->ndim);
    for (Py_ssize_t stride : strides_of(field)) dimensions.push_back(stride);
    return make_array(array->data + field.offset, field.dtype.get(), static_cast<int>(dimensions.size() / 2),
                      dimensions.data(), array->writable, array->owner);
}

bool initialise_kernel_records(PyObject* module) {
    PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
                           {Py_tp_doc, const_cast<char*>("A record of a kernel that runs in Python mode.")},
                           {Py_tp_getattro, reinterpret_cast<void*>(&get_attribute)},
                           {Py_tp_setattro, reinterpret_cast<void*>(&set_attribute)},
                           {Py_mp_subscript, reinterpret_cast<void*>(&get_item)},
                           {Py_mp_ass_subscript, reinterpret_cast<void*>(&set_item)},
                           {Py_nb_bool, reinterpret_cast<void*>(&truth)},
                           {Py_tp_methods, methods},
                           {Py_tp_repr, reinterpret_cast<void*>(&text)},
                           {0, nullptr}};
    PyType_Spec specification = {"cudasim.KernelRecord", sizeof(KernelRecord), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    kernel_record_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&specification));
    return kernel_record_type != nullptr && PyModule_AddType(module, kernel_record_type) == 0;
}

}  // namespace cudasim::pyfiber
