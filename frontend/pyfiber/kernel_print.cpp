// print() in kernels. It is the built-in one, save that characters which the output's encoding does not have
// are escaped, as they are for compiled kernels (frontend/bindings/host_poll.cpp), and do not end the thread
// with a UnicodeEncodeError.
#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {

namespace {

/// `file=`, or sys.stdout. Null: no exception is set.
Reference output_of(PyObject* keywords) {
    PyObject* file = keywords == nullptr ? nullptr : PyDict_GetItemString(keywords, "file");
    if (file == nullptr || file == Py_None) file = PySys_GetObject("stdout");
    return Reference::borrowed(file);
}

Reference attribute_or_null(PyObject* object, const char* name) {
    Reference value(PyObject_GetAttrString(object, name));
    if (!value) PyErr_Clear();
    return value && PyUnicode_Check(value.get()) ? std::move(value) : Reference();
}

/// What print() writes for an argument: the argument, or its text with escapes. Null: an exception is set.
PyObject* printable(PyObject* argument, PyObject* output) {
    Reference text(PyObject_Str(argument));
    if (!text || PyUnicode_IS_ASCII(text.get())) return text.release();
    const Reference encoding = attribute_or_null(output, "encoding"),
                    errors = attribute_or_null(output, "errors");
    if (!encoding) return text.release();
    const char* name = PyUnicode_AsUTF8(encoding.get());
    const char* handler = errors ? PyUnicode_AsUTF8(errors.get()) : "strict";
    if (name == nullptr || handler == nullptr) return nullptr;
    if (Reference encoded(PyUnicode_AsEncodedString(text.get(), name, handler)); encoded)
        return text.release();
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) return nullptr;
    PyErr_Clear();
    Reference escaped(PyUnicode_AsEncodedString(text.get(), name, "backslashreplace"));
    if (!escaped) return nullptr;
    return PyUnicode_Decode(PyBytes_AS_STRING(escaped.get()), PyBytes_GET_SIZE(escaped.get()), name,
                            "strict");
}

/// Called with the arguments of each print() to sys.stdout, after it. Set while a launch is recorded, null
/// otherwise.
PyObject* print_listener = nullptr;

/// Calls print(), then the listener.
PyObject* print_and_tell(PyObject* print, PyObject* texts, PyObject* keywords) {
    PyObject* result = PyObject_Call(print, texts, keywords);
    const bool to_output = keywords == nullptr || PyDict_GetItemString(keywords, "file") == nullptr;
    if (result == nullptr || print_listener == nullptr || !to_output) return result;
    Reference listener = Reference::borrowed(print_listener);
    const Reference told(PyObject_Call(listener.get(), texts, keywords));
    if (told) return result;
    Py_DECREF(result);
    return nullptr;
}

PyObject* print_in_kernel(PyObject*, PyObject* arguments, PyObject* keywords) {
    Reference builtins(PyImport_ImportModule("builtins"));
    Reference print(builtins ? PyObject_GetAttrString(builtins.get(), "print") : nullptr);
    if (!print) return nullptr;
    const Reference output = output_of(keywords);
    if (!output || output.get() == Py_None) return PyObject_Call(print.get(), arguments, keywords);
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    Reference texts(PyTuple_New(count));
    for (Py_ssize_t i = 0; texts && i < count; ++i) {
        PyObject* text = printable(PyTuple_GET_ITEM(arguments, i), output.get());
        if (text == nullptr) return nullptr;
        PyTuple_SET_ITEM(texts.get(), i, text);
    }
    return texts ? print_and_tell(print.get(), texts.get(), keywords) : nullptr;
}

PyMethodDef functions[] = {{"print", with_keywords(&print_in_kernel), METH_VARARGS | METH_KEYWORDS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* set_print_listener(PyObject*, PyObject* listener) {
    PyObject* before = print_listener;
    print_listener = listener == Py_None ? nullptr : Py_NewRef(listener);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

bool add_print(PyObject* table) {
    return add_functions(table, "", functions);
}

}  // namespace cudasim::pyfiber
