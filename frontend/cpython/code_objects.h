// Code objects, their instructions, and where frames are in them. Offsets of instructions are in bytes.
#pragma once

#include <Python.h>
#include <frameobject.h>

namespace cudasim::cpython {

/// A place in the source as a code object knows it. Zero where it does not; columns count from 1 and are not
/// known before CPython 3.11.
struct CodeLocation {
    int line = 0, column = 0;
};

[[nodiscard]] inline CodeLocation location_in(PyCodeObject* code, int instruction) {
#if PY_VERSION_HEX >= 0x030B0000
    int line = 0, column = 0, end_line = 0, end_column = 0;
    if (PyCode_Addr2Location(code, instruction, &line, &column, &end_line, &end_column) == 0) return {};
    return {line < 0 ? 0 : line, column < 0 ? 0 : column + 1};
#else
    const int line = PyCode_Addr2Line(code, instruction);
    return {line < 0 ? 0 : line, 0};
#endif
}

/// The instructions as bytes, none specialised or instrumented. New reference, or null with an exception set.
[[nodiscard]] inline PyObject* instructions_of(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyCode_GetCode(code);
#else
    return Py_NewRef(code->co_code);
#endif
}

/// The instruction that a frame is at; negative before the first.
[[nodiscard]] inline int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti < 0 ? -1 : frame->f_lasti * static_cast<int>(sizeof(_Py_CODEUNIT));
#endif
}

/// The number of an instruction, as the standard library's module opcode gives it: they change between
/// versions. -1 where that fails.
[[nodiscard]] inline int opcode_of(const char* name) {
    PyObject* module = PyImport_ImportModule("opcode");
    PyObject* numbers = module == nullptr ? nullptr : PyObject_GetAttrString(module, "opmap");
    PyObject* number = numbers == nullptr ? nullptr : PyMapping_GetItemString(numbers, name);
    const long value = number == nullptr ? -1 : PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(numbers);
    Py_XDECREF(module);
    PyErr_Clear();
    return static_cast<int>(value);
}

/// That of `raise`.
[[nodiscard]] inline int raise_opcode() {
    static const int opcode = opcode_of("RAISE_VARARGS");
    return opcode;
}

/// Whether the result of a call is thrown away by the instruction behind it. @param instruction the call
[[nodiscard]] inline bool drops_result(PyCodeObject* code, int instruction) {
    static const int pop_top = opcode_of("POP_TOP");
    constexpr unsigned char cache = 0;  // CACHE; of versions without caches no instruction
    PyObject* instructions = instructions_of(code);
    if (instructions == nullptr) {
        PyErr_Clear();
        return false;
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(instructions));
    const Py_ssize_t size = PyBytes_GET_SIZE(instructions);
    Py_ssize_t next = instruction + 2;
    while (next < size && bytes[next] == cache) next += 2;
    const bool drops = instruction >= 0 && next < size && bytes[next] == pop_top;
    Py_DECREF(instructions);
    return drops;
}

}  // namespace cudasim::cpython
