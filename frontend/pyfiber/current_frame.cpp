// Where the innermost Python frame is, without making a frame object of it: CPython 3.11's own structures,
// which is why the extension refuses to be imported by any other version (module.cpp).
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>

#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"

namespace cudasim::pyfiber {

CodePlace current_place() {
    _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
    while (frame != nullptr && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
    if (frame == nullptr) return {};
    PyCodeObject* code = frame->f_code;
    const int instruction = _PyInterpreterFrame_LASTI(frame) * static_cast<int>(sizeof(_Py_CODEUNIT));
    // A call is two instructions, PRECALL and CALL, and CPython calls from the first once it knows the
    // function well: one place all the same.
    constexpr unsigned char precall = 166;  // opcode.opmap
    constexpr int to_call = 4;              // bytes: PRECALL and its cache entry
    const Reference bytes(PyCode_GetCode(code));
    if (bytes && static_cast<unsigned char>(PyBytes_AS_STRING(bytes.get())[instruction]) == precall)
        return {code, instruction + to_call};
    return {code, instruction};
}

}  // namespace cudasim::pyfiber
