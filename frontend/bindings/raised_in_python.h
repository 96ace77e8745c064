// Python exceptions in C++ that does not hold the GIL.
#pragma once

#include <exception>
#include <utility>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/kept_object.h"
#include "frontend/bindings/released_gil.h"

namespace cudasim::bindings {

/// A Python exception on its way through C++ that does not hold the GIL; Python gets it as it was.
struct RaisedInPython : std::exception {
    explicit RaisedInPython(KeptObject raised) : value(std::move(raised)) {}
    [[nodiscard]] const char* what() const noexcept override { return "a Python exception"; }
    KeptObject value;
};

/// Calls a Python object from a thread that does not hold the GIL. @throws RaisedInPython
template <typename... Arguments>
void call(const KeptObject& callable, Arguments... arguments) {
    const cpython::HeldGil acquire;
    try {
        cpython::parked_at_exit([&] { (*callable)(arguments...); });
    } catch (const pybind11::error_already_set& error) {
        throw RaisedInPython(kept(error.value()));
    }
}

}  // namespace cudasim::bindings
