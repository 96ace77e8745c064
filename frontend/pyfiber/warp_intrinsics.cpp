// Operations of a warp. Values travel in words of 32 bits, as in compiled kernels: one of 64 bits takes two
// shuffles.
#include <algorithm>
#include <array>
#include <cstring>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

using jit::WarpKind;

constexpr std::uint32_t whole_warp = ~std::uint32_t{0};

bool takes(Py_ssize_t given, Py_ssize_t wanted, const char* form) {
    if (require_thread("a warp operation") == nullptr) return false;
    if (given == wanted) return true;
    PyErr_Format(PyExc_TypeError, "a warp operation takes %s; %zd arguments were given", form, given);
    return false;
}

bool whole_number(PyObject* object, const char* what, std::uint32_t& bits) {
    const Number number = read_number(object);
    if (!is_integer(number.type)) {
        PyErr_Format(PyExc_TypeError, "%s is an integer, not %.100s", what, Py_TYPE(object)->tp_name);
        return false;
    }
    bits = static_cast<std::uint32_t>(number.whole);
    return true;
}

bool mask_of(PyObject* object, std::uint32_t& mask) {
    return whole_number(object, "the mask of a warp operation", mask);
}

/// The number's own bits, as many as its type has; what is narrower than a word is extended.
bool bits_of(PyObject* object, Number& number, std::uint64_t& bits) {
    number = read_number(object);
    if (is_integer(number.type) || number.type == Element::boolean) {
        bits = static_cast<std::uint64_t>(number.whole);
        if (width(number.type) < 8) bits &= 0xFFFFFFFF;
        return true;
    }
    if (number.type == Element::float32) {
        const auto value = static_cast<float>(number.real);
        std::uint32_t word = 0;
        std::memcpy(&word, &value, sizeof word);
        bits = word;
        return true;
    }
    if (number.type == Element::float64) {
        std::memcpy(&bits, &number.real, sizeof bits);
        return true;
    }
    PyErr_Format(PyExc_TypeError, "a warp operation exchanges numbers, not %.100s", Py_TYPE(object)->tp_name);
    return false;
}

PyObject* from_bits(Element type, std::uint64_t bits) {
    Number number;
    number.type = type;
    if (type == Element::float32) {
        const auto word = static_cast<std::uint32_t>(bits);
        float value = 0;
        std::memcpy(&value, &word, sizeof value);
        number.real = value;
    } else if (type == Element::float64) {
        std::memcpy(&number.real, &bits, sizeof bits);
    } else {
        number.whole = static_cast<std::int64_t>(bits);
        // It may come from a lane whose integer is wider.
        if (width(type) < 8 && number.whole != static_cast<std::int32_t>(bits)) number.type = Element::int64;
    }
    return make_number(number.type, number);
}

/// Puts keyword arguments to their places. False with an exception set.
template <std::size_t size>
bool bind_arguments(PyObject* const* given, Py_ssize_t positional, PyObject* keywords,
                    const std::array<const char*, size>& names, std::array<PyObject*, size>& arguments) {
    arguments.fill(nullptr);
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < positional && i < static_cast<Py_ssize_t>(size); ++i)
        arguments[static_cast<std::size_t>(i)] = given[i];
    for (Py_ssize_t i = 0; i < named; ++i) {
        const auto name = std::ranges::find_if(names, [&](const char* known) {
            return PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), known) == 0;
        });
        PyObject** place =
            name == names.end() ? nullptr : &arguments[static_cast<std::size_t>(name - names.begin())];
        if (place == nullptr || *place != nullptr) {
            PyErr_Format(PyExc_TypeError, "a warp operation does not take %R, or takes it once",
                         PyTuple_GET_ITEM(keywords, i));
            return false;
        }
        *place = given[positional + i];
    }
    if (positional <= static_cast<Py_ssize_t>(size) &&
        std::ranges::find(arguments, nullptr) == arguments.end())
        return true;
    PyErr_Format(PyExc_TypeError, "a warp operation takes %zu arguments; %zd were given", size,
                 positional + named);
    return false;
}

std::uint64_t extended(std::uint64_t word) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)));
}

/// The states of a word's bits 1 to 31 travel above the word's predicate, as those of compiled kernels do
/// (simulator/checks/init_checks.cpp): bit 0 has that of bit 1, unless one of the two is unwritten.
constexpr std::uint64_t states_above_predicate = 0xFFFF'FFFE;

/// @param word, states their low 32 bits count
std::uint64_t word_with_states(std::uint64_t word, std::uint64_t states) {
    states |= (states & 1) << 1;
    return (word & 0xFFFF'FFFF) | (states & states_above_predicate) << 32;
}

std::uint64_t states_of_word(std::uint64_t shuffled) {
    const std::uint64_t states = shuffled >> 32 & states_above_predicate;
    return states | (states >> 1 & 1);
}

template <WarpKind kind>
PyObject* shuffle(PyObject*, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
    constexpr const char* lane_name = kind == WarpKind::shuffle_index ? "src_lane"
                                      : kind == WarpKind::shuffle_xor ? "lane_mask"
                                                                      : "delta";
    std::array<PyObject*, 3> arguments;
    if (require_thread("a warp operation") == nullptr ||
        !bind_arguments(given, positional, keywords, std::array{"mask", "value", lane_name}, arguments))
        return nullptr;
    std::uint32_t mask = 0, lane = 0;
    Number number;
    std::uint64_t bits = 0, low = 0, high = 0;
    if (!mask_of(arguments[0], mask) || !bits_of(plain_value(arguments[1]), number, bits) ||
        !whole_number(arguments[2], "the lane of a shuffle", lane))
        return nullptr;
    const bool known =
        number.type == Element::int32 || number.type == Element::int64 || is_float(number.type);
    if (!known) {
        PyErr_SetString(PyExc_TypeError, "shuffles exchange int32, int64, float32 and float64");
        return nullptr;
    }
    constexpr std::uint32_t clamp = kind == WarpKind::shuffle_up ? 0 : jit::warp_size - 1;
    const std::uint32_t operand = clamp << jit::shuffle_clamp_shift | (lane & (jit::warp_size - 1));
    std::uint64_t states = states_as(number.type, arguments[1]).value_or(all_written)[0];
    if (!meet_in_warp(kind, mask, word_with_states(bits, states), operand, low)) return nullptr;
    // Integers of the lanes may be of different widths, as those of Python are: all travel as 64 bits.
    const bool is_narrow = width(number.type) < 8 && !is_float(number.type);
    if (is_narrow) {
        bits = extended(bits);
        states = extended(states);
    }
    if ((is_narrow || width(number.type) == 8) &&
        !meet_in_warp(kind, mask, word_with_states(bits >> 32, states >> 32), operand, high))
        return nullptr;
    PyObject* result = from_bits(number.type, (low & 0xFFFFFFFF) | high << 32);
    if (!follows_values() || result == nullptr) return result;
    const Element type = read_number(result).type;
    states = states_of_word(low);
    if (width(type) == 8) states |= states_of_word(high) << 32;
    const auto line = static_cast<std::uint32_t>(PyFrame_GetLineNumber(PyEval_GetFrame()));
    return with_states(type, result, {states, 0}, {.shuffle_line = line});
}

template <WarpKind kind>
PyObject* vote(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    std::uint32_t mask = 0;
    std::uint64_t result = 0;
    if (!takes(count, 2, "(mask, predicate)") || !mask_of(arguments[0], mask)) return nullptr;
    const int truth = PyObject_IsTrue(arguments[1]);
    if (truth < 0 || !meet_in_warp(kind, mask, static_cast<std::uint64_t>(truth), 0, result)) return nullptr;
    if (kind == WarpKind::ballot) return make_integer(Element::int32, static_cast<std::int32_t>(result));
    return PyBool_FromLong((result & jit::warp_predicate) != 0);
}

template <WarpKind kind>
PyObject* match(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    std::uint32_t mask = 0;
    Number number;
    std::uint64_t bits = 0, result = 0;
    if (!takes(count, 2, "(mask, value)") || !mask_of(arguments[0], mask) ||
        !bits_of(arguments[1], number, bits) || !meet_in_warp(kind, mask, bits, 0, result))
        return nullptr;
    PyObject* lanes = make_integer(Element::int32, static_cast<std::int32_t>(result));
    if (kind == WarpKind::match_any || lanes == nullptr) return lanes;
    return Py_BuildValue("NN", lanes, PyBool_FromLong((result & jit::warp_predicate) != 0));
}

PyObject* syncwarp(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    std::uint32_t mask = whole_warp;
    std::uint64_t result = 0;
    if (count > 0 && (!takes(count, 1, "(mask)") || !mask_of(arguments[0], mask))) return nullptr;
    if (require_thread("cuda.syncwarp()") == nullptr || !meet_in_warp(WarpKind::sync, mask, 0, 0, result))
        return nullptr;
    Py_RETURN_NONE;
}

PyObject* activemask(PyObject*, PyObject*) {
    std::uint64_t result = 0;
    if (require_thread("cuda.activemask()") == nullptr ||
        !meet_in_warp(WarpKind::active, whole_warp, 0, 0, result))
        return nullptr;
    return make_integer(Element::uint32, static_cast<std::int64_t>(result & 0xFFFFFFFF));
}

PyObject* lanemask_lt(PyObject*, PyObject*) {
    SimulatedThread* thread = require_thread("cuda.lanemask_lt()");
    if (thread == nullptr) return nullptr;
    return make_integer(Element::uint32, (std::int64_t{1} << thread->handle->thread() % jit::warp_size) - 1);
}

PyMethodDef functions[] = {
    {"syncwarp", fast(&syncwarp), METH_FASTCALL, nullptr},
    {"all_sync", fast(&vote<WarpKind::all>), METH_FASTCALL, nullptr},
    {"any_sync", fast(&vote<WarpKind::any>), METH_FASTCALL, nullptr},
    {"eq_sync", fast(&vote<WarpKind::uniform>), METH_FASTCALL, nullptr},
    {"ballot_sync", fast(&vote<WarpKind::ballot>), METH_FASTCALL, nullptr},
    {"shfl_sync", fast(&shuffle<WarpKind::shuffle_index>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"shfl_up_sync", fast(&shuffle<WarpKind::shuffle_up>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"shfl_down_sync", fast(&shuffle<WarpKind::shuffle_down>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"shfl_xor_sync", fast(&shuffle<WarpKind::shuffle_xor>), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"match_any_sync", fast(&match<WarpKind::match_any>), METH_FASTCALL, nullptr},
    {"match_all_sync", fast(&match<WarpKind::match_all>), METH_FASTCALL, nullptr},
    {"activemask", &activemask, METH_NOARGS, nullptr},
    {"lanemask_lt", &lanemask_lt, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_warp_intrinsics(PyObject* table) {
    return add_functions(table, "cuda.", functions);
}

}  // namespace cudasim::pyfiber
