// See elements.h; and store() of accesses.h, which converts straight into memory.
#include "frontend/pyfiber/elements.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "frontend/pyfiber/accesses.h"
#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

template <typename T>
T read(const char* bits) {
    T value;
    std::memcpy(&value, bits, sizeof value);
    return value;
}

/// Where converted values go. Conversion may run Python code, so memory is reached when the value is known.
struct Variable {
    char* bits;
    [[nodiscard]] char* open(std::size_t, const void*) const { return bits; }
};
struct Memory {
    Address place;
    [[nodiscard]] char* open(std::size_t bytes, const void* written) const {
        return reach(place, bytes, AccessKind::write, plain_access, written);
    }
};

template <typename Target, typename T>
void write(Target target, T value) {
    std::memcpy(target.open(sizeof value, &value), &value, sizeof value);
}

/// PTX cvt.rzi: saturates; NaN gives 0, except that 1 << (width - 1) where the source is f64 or the target is
/// 64 bits wide (PTX ISA, cvt). Narrower targets get the low bits of a conversion to 16 bits.
template <typename T>
T from_float(double value, bool narrow_source) {
    using Wide = std::conditional_t<sizeof(T) == 1,
                                    std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>, T>;
    using Limits = std::numeric_limits<Wide>;
    if (std::isnan(value)) {
        if (narrow_source && sizeof(Wide) < 8) return 0;
        return static_cast<T>(std::uint64_t{1} << (8 * sizeof(Wide) - 1));
    }
    const double low = static_cast<double>(Limits::min()), high = std::ldexp(1.0, Limits::digits);
    if (value <= low) return static_cast<T>(Limits::min());
    if (value >= high) return static_cast<T>(Limits::max());
    return static_cast<T>(static_cast<Wide>(value));
}

template <typename T, typename Target>
bool put_integer(Target target, PyObject* value) {
    if (PyLong_Check(value)) {
        write(target, static_cast<T>(low_bits(value)));
        return true;
    }
    const Number number = read_number(value);
    if (number.type != Element::other) {
        write(target, is_float(number.type) ? from_float<T>(number.real, number.type != Element::float64)
                                            : static_cast<T>(number.whole));
        return true;
    }
    Reference whole(PyNumber_Index(value));
    if (!whole) return false;
    write(target, static_cast<T>(PyLong_AsUnsignedLongLongMask(whole.get())));
    return true;
}

template <typename T, typename Target>
bool put_float(Target target, PyObject* value) {
    if constexpr (std::is_same_v<T, float>) {
        if (PyLong_Check(value)) {  // one rounding, as from 64 bits
            const Number number = read_number(value);
            if (number.type == Element::uint64)
                write(target, static_cast<float>(static_cast<std::uint64_t>(number.whole)));
            else if (number.type != Element::other)
                write(target, static_cast<float>(number.whole));
            if (number.type != Element::other) return true;
        }
    }
    double number = 0;
    if (number_of(value, number) == NumberKind::none) {
        Reference converted(PyNumber_Float(value));
        if (!converted) return false;
        number = PyFloat_AS_DOUBLE(converted.get());
    }
    write(target, static_cast<T>(number));
    return true;
}

/// The value as a float16 or bfloat16.
template <typename Target>
bool put_short_float(Element element, Target target, PyObject* value) {
    const Number number = read_number(value);
    const bool half = element == Element::float16;
    if (number.type == element) {
        write(target, short_float_bits(value));
        return true;
    }
    if (number.type == Element::other) {
        PyErr_Format(PyExc_TypeError, "an element of a %s array is a real number, not %.100s",
                     half ? "float16" : "bfloat16", Py_TYPE(value)->tp_name);
        return false;
    }
    write(target, half ? to_half_bits(number.as_double()) : to_bfloat_bits(double_for_rounding(number)));
    return true;
}

template <typename T, typename Target>
bool put_complex(Target target, PyObject* value) {
    const ComplexNumber number = read_complex(value);
    if (number.type == Element::other) {
        PyErr_Format(PyExc_TypeError, "an element of a complex array is a number, not %.100s",
                     Py_TYPE(value)->tp_name);
        return false;
    }
    write(target, std::array{static_cast<T>(number.real), static_cast<T>(number.imaginary)});
    return true;
}

/// False with an exception set, and then nothing is written.
template <typename Target>
bool put(Element element, Target target, PyObject* value) {
    switch (element) {
        case Element::boolean: {
            const int truth = PyObject_IsTrue(value);
            if (truth >= 0) write(target, static_cast<char>(truth));
            return truth >= 0;
        }
        case Element::int8:
            return put_integer<std::int8_t>(target, value);
        case Element::int16:
            return put_integer<std::int16_t>(target, value);
        case Element::int32:
            return put_integer<std::int32_t>(target, value);
        case Element::int64:
            return put_integer<std::int64_t>(target, value);
        case Element::uint8:
            return put_integer<std::uint8_t>(target, value);
        case Element::uint16:
            return put_integer<std::uint16_t>(target, value);
        case Element::uint32:
            return put_integer<std::uint32_t>(target, value);
        case Element::uint64:
            return put_integer<std::uint64_t>(target, value);
        case Element::bfloat16:
        case Element::float16:
            return put_short_float(element, target, value);
        case Element::float32:
            return put_float<float>(target, value);
        case Element::float64:
            return put_float<double>(target, value);
        case Element::complex64:
            return put_complex<float>(target, value);
        case Element::complex128:
            return put_complex<double>(target, value);
        case Element::record:
        case Element::other:
            break;
    }
    PyErr_SetString(PyExc_SystemError, "not an element type of its own");
    return false;
}

}  // namespace

PyObject* value_of_bits(Element element, const char* bits) {
    switch (element) {
        case Element::boolean:
            return PyBool_FromLong(*bits != 0);
        case Element::int8:
            return make_integer(element, static_cast<std::int64_t>(read<std::int8_t>(bits)));
        case Element::int16:
            return make_integer(element, static_cast<std::int64_t>(read<std::int16_t>(bits)));
        case Element::int32:
            return make_integer(element, static_cast<std::int64_t>(read<std::int32_t>(bits)));
        case Element::int64:
            return make_integer(element, static_cast<std::int64_t>(read<std::int64_t>(bits)));
        case Element::uint8:
            return make_integer(element, static_cast<std::int64_t>(read<std::uint8_t>(bits)));
        case Element::uint16:
            return make_integer(element, static_cast<std::int64_t>(read<std::uint16_t>(bits)));
        case Element::uint32:
            return make_integer(element, static_cast<std::int64_t>(read<std::uint32_t>(bits)));
        case Element::uint64:
            return make_integer(element, static_cast<std::int64_t>(read<std::uint64_t>(bits)));
        case Element::bfloat16:
        case Element::float16:
            return make_short_float(element, read<std::uint16_t>(bits));
        case Element::float32:
            return make_float32(read<float>(bits));
        case Element::float64:
            return make_float64(read<double>(bits));
        case Element::complex64:
            return make_complex(element, read<float>(bits), read<float>(bits + 4));
        case Element::complex128:
            return make_complex(element, read<double>(bits), read<double>(bits + 8));
        case Element::record:
        case Element::other:
            break;
    }
    PyErr_SetString(PyExc_SystemError, "not an element type of its own");
    return nullptr;
}

bool bits_of_value(Element element, PyObject* value, char* bits) {
    return put(element, Variable{bits}, told_value(value, use_of_conversion(element)));
}

bool store(Element element, Address place, PyObject* value) {
    if (!is_unwritten(value)) [[likely]]
        return put(element, Memory{place}, value);
    const StoredValue stored = stored_value(element, value);
    const Reference plain = Reference::borrowed(stored.plain);
    if (!put(element, Memory{place}, plain.get())) return false;
    store_states(element, place, stored.states);
    return true;
}

std::int64_t saturated(Element type, double value, bool from_float32) {
    switch (type) {
        case Element::int8:
            return from_float<std::int8_t>(value, from_float32);
        case Element::int16:
            return from_float<std::int16_t>(value, from_float32);
        case Element::int32:
            return from_float<std::int32_t>(value, from_float32);
        case Element::uint8:
            return from_float<std::uint8_t>(value, from_float32);
        case Element::uint16:
            return from_float<std::uint16_t>(value, from_float32);
        case Element::uint32:
            return from_float<std::uint32_t>(value, from_float32);
        case Element::uint64:
            return static_cast<std::int64_t>(from_float<std::uint64_t>(value, from_float32));
        default:
            return from_float<std::int64_t>(value, from_float32);
    }
}

}  // namespace cudasim::pyfiber
