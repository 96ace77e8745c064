// Where the innermost Python frame is, found without making a frame object of it: the interpreter's own
// structures are read. It is the hot path of barriers and of cuda.shared.array() in Python mode.
#pragma once

#include <Python.h>

namespace cudasim::cpython {

/// A call's place in the source: the code object, borrowed from its frame, and the offset of the instruction
/// in bytes. A call has one place, however often the interpreter has specialised it.
struct CodePlace {
    PyCodeObject* code = nullptr;
    int instruction = 0;
    bool operator==(const CodePlace&) const = default;
};

/// The place of the innermost Python frame of this thread; no code where there is none.
[[nodiscard]] CodePlace current_place();

}  // namespace cudasim::cpython
