// What cudasim._pyfiber is for a CPython that Python mode does not know: a module whose import says so.
// Kernels are compiled there as everywhere. CMakeLists.txt in this folder chooses.
#include <Python.h>

PyMODINIT_FUNC PyInit__pyfiber() {
#if defined(Py_GIL_DISABLED)
    constexpr const char* build = " without the global interpreter lock";
#else
    constexpr const char* build = "";
#endif
    PyErr_Format(PyExc_ImportError,
                 "Python mode is not available on CPython %d.%d%s (it needs CPython " CUDASIM_KNOWN_PYTHONS
                 ")",
                 PY_MAJOR_VERSION, PY_MINOR_VERSION, build);
    return nullptr;
}
