// Values of kernels in Python mode with bits that nobody has written, under the check `init`: objects that
// stand for a number, a bool or a date, and know which of its bits are unwritten.
//
//   load() ─► UnwrittenValue ─┬─► assigned, passed, selected, stored, shuffled:   it is handed on
//                             ├─► int32(x), x & 0xFF, x << 8, x | y << 16:        another one
//                             └─► everything else that takes a number:            told (told_value()), and
//                                                                                 done with the plain value
//
// What carries states along is what carries them in compiled kernels (simulator/checks/value_states.h). A
// value is told once, where it is first used; an integer of less than 64 bits is told at each place. Without
// the check there are no such objects.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "frontend/pyfiber/accesses.h"
#include "frontend/pyfiber/elements.h"
#include "simulator/execution/value_observer.h"

namespace cudasim::pyfiber {

using execution::ValueOrigin;
using execution::ValueUse;

extern PyTypeObject* unwritten_value_type;

/// Whether it stands for a value with unwritten bits.
[[nodiscard]] inline bool is_unwritten(PyObject* object) {
    return Py_TYPE(object) == unwritten_value_type;
}

/// The value as it is, of which nobody is told. Borrowed; any other object is its own.
[[nodiscard]] PyObject* plain_value(PyObject* object);
/// The same, where it is used now.
[[nodiscard]] PyObject* told_value(PyObject* object, ValueUse use);
/// Tells of the use of memory that has unwritten bits.
void tell_use(ValueUse use, const ValueOrigin& origin);

/// For each bit of a value of up to 16 bytes whether nobody has written it (1).
using BitStates = std::array<std::uint64_t, 2>;
inline constexpr BitStates all_written{};

/// The states that an object has as a value of a type. Nothing where converting it is a use.
[[nodiscard]] std::optional<BitStates> states_as(Element element, PyObject* object);
/// What kind of use such a conversion is.
[[nodiscard]] ValueUse use_of_conversion(Element element);
/// The object converted: an unwritten value, or a plain one where that is a use. New reference, or null with
/// an exception set.
[[nodiscard]] PyObject* converted_unwritten(Element element, PyObject* object);
/// A value with states that comes from elsewhere than an element, as from a shuffle. Steals the value; null
/// for null.
[[nodiscard]] PyObject* with_states(Element element, PyObject* plain, const BitStates& states,
                                    const ValueOrigin& origin);

/// What a store of a value that is_unwritten() leaves in memory, and the plain value that it writes.
struct StoredValue {
    PyObject* plain = nullptr;  ///< borrowed
    BitStates states = all_written;
};
/// Tells of a use where the conversion is one.
[[nodiscard]] StoredValue stored_value(Element element, PyObject* object);

// States of memory, where the launch follows values; otherwise everything is written ------------------------

[[nodiscard]] bool follows_values();
/// Whether a bit of the memory is unwritten. @param unwritten gets a byte for each
[[nodiscard]] bool load_states(Address place, std::size_t bytes, std::byte* unwritten);
/// Behind a write.
void store_states(Address place, std::size_t bytes, const std::byte* unwritten);
/// The same for a value of an element's type.
void store_states(Element element, Address place, const BitStates& states);

/// A value that has just been loaded. Steals it; null for null. @param bytes how many of memory it is
[[nodiscard]] PyObject* loaded_value(Element element, Address place, std::size_t bytes, PyObject* plain);

/// False with an exception set.
bool initialise_unwritten_values(PyObject* module);

}  // namespace cudasim::pyfiber
