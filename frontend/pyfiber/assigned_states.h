// Under the check `init`: what NumPy moves between arrays of a kernel keeps its states, and what it compares
// is used (unwritten_value.h).
//
//   const AssignedStates states(target, value);   // before NumPy assigns: source and target may overlap
//   …
//   states.store();                               // behind it
#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {

class AssignedStates {
  public:
    /// @param value a number, an array or a record of the kernel, or a tuple of numbers; anything else counts
    /// as written. What does not fit the target's shape is left to NumPy to refuse.
    AssignedStates(const KernelArray* target, PyObject* value);
    void store() const;

  private:
    struct Element {
        Address place;
        std::vector<std::byte> unwritten;
    };
    void add_array(const KernelArray* target, const KernelArray* source);
    void add_numbers(const KernelArray* target, PyObject* const* numbers, Py_ssize_t count);

    std::vector<Element> elements_;  ///< those with unwritten bits
};

/// Tells of a use of the first element with unwritten bits, if there is one.
void tell_use_of_elements(ValueUse use, const KernelArray* array);

}  // namespace cudasim::pyfiber
