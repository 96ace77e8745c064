// Python objects that C++ keeps beyond a call.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "frontend/bindings/released_gil.h"

namespace cudasim::bindings {

/// A Python object that may be let go of without the GIL, and after the interpreter's end.
using KeptObject = std::shared_ptr<pybind11::object>;

[[nodiscard]] inline KeptObject kept(pybind11::object object) {
    return {new pybind11::object(std::move(object)), [](pybind11::object* owned) {
                if (interpreter_is_ending()) return;  // nobody may take the GIL any more
                const cpython::HeldGil acquire;
                delete owned;
            }};
}

}  // namespace cudasim::bindings
