// Attributes and methods of KernelArray. Methods that give another view of the same memory give a
// KernelArray, so that what is done with it is checked too.
#include "frontend/pyfiber/kernel_array_methods.h"

#include <cstring>

#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_record.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {
namespace {

KernelArray* as_array(PyObject* self) {
    return reinterpret_cast<KernelArray*>(self);
}

PyObject* tuple_of(const Py_ssize_t* values, int count) {
    PyObject* result = PyTuple_New(count);
    for (int i = 0; result != nullptr && i < count; ++i)
        PyTuple_SET_ITEM(result, i, PyLong_FromSsize_t(values[i]));
    return result;
}

Py_ssize_t element_count(const KernelArray* array) {
    Py_ssize_t count = 1;
    for (int axis = 0; axis < array->ndim; ++axis) count *= array->extent(axis);
    return count;
}

PyObject* shape(PyObject* self, void*) {
    return tuple_of(as_array(self)->dimensions, as_array(self)->ndim);
}
PyObject* strides(PyObject* self, void*) {
    return tuple_of(as_array(self)->dimensions + as_array(self)->ndim, as_array(self)->ndim);
}
PyObject* ndim(PyObject* self, void*) {
    return PyLong_FromLong(as_array(self)->ndim);
}
PyObject* size(PyObject* self, void*) {
    return PyLong_FromSsize_t(element_count(as_array(self)));
}
PyObject* itemsize(PyObject* self, void*) {
    return PyLong_FromSsize_t(as_array(self)->itemsize);
}
PyObject* nbytes(PyObject* self, void*) {
    return PyLong_FromSsize_t(element_count(as_array(self)) * as_array(self)->itemsize);
}
PyObject* dtype(PyObject* self, void*) {
    return Py_NewRef(as_array(self)->dtype);
}

/// An ndarray as a KernelArray that keeps it; anything else as it is. Steals.
PyObject* wrapped(PyObject* result, const KernelArray* source) {
    if (result == nullptr || source->numpy == nullptr || Py_TYPE(result) != Py_TYPE(source->numpy))
        return result;
    Reference array(result);
    Reference extents(PyObject_GetAttrString(result, "shape")),
        steps(PyObject_GetAttrString(result, "strides")), type(PyObject_GetAttrString(result, "dtype")),
        interface(PyObject_GetAttrString(result, "__array_interface__"));
    if (!extents || !steps || !type || !interface) return nullptr;
    PyObject* data = PyDict_GetItemString(interface.get(), "data");
    void* address = data == nullptr ? nullptr : PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
    const auto count = static_cast<int>(PyTuple_GET_SIZE(extents.get()));
    std::vector<Py_ssize_t> dimensions;
    for (PyObject* part : {extents.get(), steps.get()})
        for (int i = 0; i < count; ++i) dimensions.push_back(PyLong_AsSsize_t(PyTuple_GET_ITEM(part, i)));
    if (PyErr_Occurred()) return nullptr;
    return make_array(Address(address), type.get(), count, dimensions.data(), source->writable, result);
}

PyObject* call_view(PyObject* self, const char* method, PyObject* arguments, PyObject* keywords) {
    PyObject* view = numpy_view(as_array(self), Use::nothing);
    if (view == nullptr) return nullptr;
    Reference bound(PyObject_GetAttrString(view, method));
    PyObject* result =
        bound ? wrapped(PyObject_Call(bound.get(), arguments, keywords), as_array(self)) : nullptr;
    const bool has_elements = result != nullptr && Py_TYPE(result) == kernel_array_type;
    if (has_elements && as_array(result)->data != as_array(self)->data) tell_read(as_array(self));  // a copy
    return result;
}

/// Whether the exception that is set says so.
bool text_contains_error(const char* part) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    Reference text(value == nullptr ? nullptr : PyObject_Str(value));
    const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    const bool found = bytes != nullptr && std::strstr(bytes, part) != nullptr;
    PyErr_Restore(type, value, traceback);
    return found;
}

template <const char* const* name>
PyObject* view_method(PyObject* self, PyObject* arguments, PyObject* keywords) {
    return call_view(self, *name, arguments, keywords);
}

constexpr const char* reshape_name = "reshape";
constexpr const char* view_name = "view";

PyObject* reshape(PyObject* self, PyObject* arguments, PyObject* keywords) {
    PyObject* result = call_view(self, reshape_name, arguments, keywords);
    if (result == nullptr && PyErr_ExceptionMatches(PyExc_ValueError) &&
        text_contains_error("cannot reshape"))
        PyErr_SetString(PyExc_ValueError, "total size of new array must be unchanged");
    if (result == nullptr || Py_TYPE(result) != kernel_array_type) return result;
    // NumPy copies where the memory does not allow the shape; a kernel cannot.
    if (as_array(result)->data == as_array(self)->data || element_count(as_array(self)) == 0) return result;
    Py_DECREF(result);
    PyErr_SetString(PyExc_NotImplementedError, "incompatible shape for array");
    return nullptr;
}

/// array.view(dtype). The elements of the new dtype have to be aligned.
PyObject* view(PyObject* self, PyObject* arguments, PyObject* keywords) {
    PyObject* result = call_view(self, view_name, arguments, keywords);
    if (result == nullptr || Py_TYPE(result) != kernel_array_type) return result;
    const KernelArray* array = as_array(result);
    const bool is_complex = array->element == Element::complex64 || array->element == Element::complex128;
    const Py_ssize_t alignment = is_complex ? array->itemsize / 2 : array->itemsize;
    const bool number = array->element < Element::record && array->itemsize > 0;
    if (!number || array->data.number() % static_cast<std::uintptr_t>(alignment) == 0) return result;
    Py_DECREF(result);
    PyErr_SetString(PyExc_ValueError, "the elements of this view would be misaligned");
    return nullptr;
}

constexpr const char* ravel_name = "ravel";
constexpr const char* transpose_name = "transpose";

PyObject* transposed(PyObject* self, void*) {
    Reference nothing(PyTuple_New(0));
    return nothing ? call_view(self, transpose_name, nothing.get(), nullptr) : nullptr;
}

/// NumPy asks for it when it needs an ndarray.
PyObject* as_numpy(PyObject* self, PyObject*, PyObject*) {
    return Py_XNewRef(numpy_view(as_array(self), Use::anything));
}

/// NumPy's protocol for ufuncs on foreign arrays: (ufunc, method, *inputs, **keywords).
PyObject* array_ufunc(PyObject* self, PyObject* arguments, PyObject* keywords) {
    (void)self;
    if (PyTuple_GET_SIZE(arguments) < 2) Py_RETURN_NOTIMPLEMENTED;
    Reference method(PyObject_GetAttr(PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1)));
    Reference rest(PyTuple_GetSlice(arguments, 2, PyTuple_GET_SIZE(arguments)));
    Reference inputs(rest ? without_kernel_arrays(rest.get(), Use::anything) : nullptr);
    Reference options(PyDict_New());
    if (!method || !inputs || !options) return nullptr;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (keywords != nullptr && PyDict_Next(keywords, &position, &key, &value)) {
        Reference plain(without_kernel_arrays(value, Use::anything));
        if (!plain || PyDict_SetItem(options.get(), key, plain.get()) != 0) return nullptr;
    }
    return PyObject_Call(method.get(), inputs.get(), options.get());
}

}  // namespace

PyMethodDef kernel_array_methods[] = {
    {"reshape", with_keywords(&reshape), METH_VARARGS | METH_KEYWORDS, "The array in another shape."},
    {"ravel", with_keywords(&view_method<&ravel_name>), METH_VARARGS | METH_KEYWORDS,
     "The array in one dimension."},
    {"view", with_keywords(&view), METH_VARARGS | METH_KEYWORDS, "The memory with another dtype."},
    {"transpose", with_keywords(&view_method<&transpose_name>), METH_VARARGS | METH_KEYWORDS,
     "With axes permuted."},
    {"__array__", with_keywords(&as_numpy), METH_VARARGS | METH_KEYWORDS, "The same memory as an ndarray."},
    {"__array_ufunc__", with_keywords(&array_ufunc), METH_VARARGS | METH_KEYWORDS,
     "NumPy's ufuncs on the memory."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef kernel_array_attributes[] = {
    {"shape", &shape, nullptr, "Extents.", nullptr},
    {"strides", &strides, nullptr, "Bytes from element to element.", nullptr},
    {"ndim", &ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", &size, nullptr, "The number of elements.", nullptr},
    {"itemsize", &itemsize, nullptr, "Bytes of an element.", nullptr},
    {"nbytes", &nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"dtype", &dtype, nullptr, "The elements' type.", nullptr},
    {"T", &transposed, nullptr, "The array transposed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* without_kernel_arrays(PyObject* value, Use use) {
    if (Py_TYPE(value) == kernel_array_type) return Py_XNewRef(numpy_view(as_array(value), use));
    if (!PyTuple_Check(value)) return Py_NewRef(value);
    PyObject* copy = PyTuple_New(PyTuple_GET_SIZE(value));
    for (Py_ssize_t i = 0; copy != nullptr && i < PyTuple_GET_SIZE(value); ++i) {
        PyObject* part = without_kernel_arrays(PyTuple_GET_ITEM(value, i), use);
        if (part == nullptr) {
            Py_DECREF(copy);
            return nullptr;
        }
        PyTuple_SET_ITEM(copy, i, part);
    }
    return copy;
}

/// Own attributes first, then fields of records, then the ndarray's: `x.sum()`, `x.real`.
PyObject* kernel_array_attribute(PyObject* self, PyObject* name) {
    PyObject* own = PyObject_GenericGetAttr(self, name);
    if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr || (text[0] == '_' && text[1] == '_')) return nullptr;
    PyErr_Clear();
    if (PyObject* fields = field_array(as_array(self), name)) return fields;
    if (PyErr_Occurred()) return nullptr;
    PyObject* view = numpy_view(as_array(self), Use::anything);
    return view == nullptr ? nullptr : PyObject_GetAttr(view, name);
}

PyObject* kernel_array_text(PyObject* self) {
    PyObject* view = numpy_view(as_array(self), Use::anything);  // of a large array it reads some
    return view == nullptr ? nullptr : PyObject_Repr(view);
}

}  // namespace cudasim::pyfiber
