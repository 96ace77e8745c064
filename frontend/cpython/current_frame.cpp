// The structures: `struct _frame` in CPython 3.10, `_PyInterpreterFrame` (Include/internal/pycore_frame.h,
// from 3.14 on pycore_interpframe.h) since.
#if !defined(Py_BUILD_CORE)
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#elif PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif

#include "frontend/cpython/code_objects.h"
#include "frontend/cpython/current_frame.h"

namespace cudasim::cpython {

#if PY_VERSION_HEX < 0x030B0000

CodePlace current_place() {
    PyFrameObject* frame = PyEval_GetFrame();
    return frame == nullptr ? CodePlace{} : CodePlace{frame->f_code, instruction_of(frame)};
}

#else

namespace {

_PyInterpreterFrame* innermost_frame() {
#if PY_VERSION_HEX >= 0x030D0000
    _PyInterpreterFrame* frame = PyThreadState_Get()->current_frame;
#else
    _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
#endif
    while (frame != nullptr && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
    return frame;
}

PyCodeObject* code_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
    return _PyFrame_GetCode(frame);
#else
    return frame->f_code;
#endif
}

}  // namespace

CodePlace current_place() {
    _PyInterpreterFrame* frame = innermost_frame();
    if (frame == nullptr) return {};
    PyCodeObject* code = code_of(frame);
    const int instruction = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
#if PY_VERSION_HEX < 0x030C0000
    // In 3.11 a call is two instructions, PRECALL and CALL, and CPython calls from the first once it has
    // specialised the call. Both are one place in the source.
    constexpr unsigned char precall = 166;  // opcode.opmap
    constexpr int to_call = 4;              // bytes: PRECALL and its cache entry
    PyObject* bytes = PyCode_GetCode(code);
    const bool is_precall =
        bytes != nullptr && static_cast<unsigned char>(PyBytes_AS_STRING(bytes)[instruction]) == precall;
    Py_XDECREF(bytes);
    if (is_precall) return {code, instruction + to_call};
#endif
    return {code, instruction};
}

#endif

}  // namespace cudasim::cpython
