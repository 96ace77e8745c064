// cuda.atomic.*: load, combine, store. Nothing comes between: simulated threads switch at calls that wait
// only. The rules are those of frontend/pykernel/calls/atomic_calls.cpp.
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "frontend/cpython/code_objects.h"
#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

enum class Update { add, sub, max, min, nanmax, nanmin, and_, or_, xor_, inc, dec, exch };

template <typename T>
T combined_float(Update update, T old, T value) {
    const bool largest = update == Update::max || update == Update::nanmax;
    switch (update) {
        case Update::add:
            return old + value;
        case Update::sub:
            return old - value;
        case Update::exch:
            return value;
        case Update::max:
        case Update::min:
            return (largest ? old < value : old > value) ? value : old;
        default:
            return (largest ? old < value : old > value) || (std::isnan(old) && !std::isnan(value)) ? value
                                                                                                    : old;
    }
}

template <typename T>
T combined_integer(Update update, T old, T value) {
    using Bits = std::make_unsigned_t<T>;
    const auto a = static_cast<Bits>(old), b = static_cast<Bits>(value);
    switch (update) {
        case Update::add:
            return static_cast<T>(a + b);
        case Update::sub:
            return static_cast<T>(a - b);
        case Update::max:
        case Update::nanmax:
            return old >= value ? old : value;
        case Update::min:
        case Update::nanmin:
            return old <= value ? old : value;
        case Update::and_:
            return static_cast<T>(a & b);
        case Update::or_:
            return static_cast<T>(a | b);
        case Update::xor_:
            return static_cast<T>(a ^ b);
        case Update::inc:
            return a >= b ? T(0) : static_cast<T>(a + 1);
        case Update::dec:
            return a == 0 || a > b ? value : static_cast<T>(a - 1);
        case Update::exch:
            return value;
    }
    return old;
}

/// Whether the kernel takes no notice of what the call that it is in gives.
bool result_is_dropped() {
    const CodePlace place = current_place();
    return place.code != nullptr && cpython::drops_result(place.code, place.instruction);
}

/// The element before the update; null with an exception set. The value takes the element's type first, as an
/// argument of the compiled call does.
template <typename T>
PyObject* apply(Element element, Update update, Address address, PyObject* value) {
    T old{}, operand{}, result{};
    if (!bits_of_value(element, value, reinterpret_cast<char*>(&operand))) return nullptr;
    const bool drops_old = update == Update::exch && follows_values() && result_is_dropped();
    char* memory =
        reach(address, sizeof old, AccessKind::update, drops_old ? exchange_access : atomic_access);
    std::memcpy(&old, memory, sizeof old);
    if constexpr (std::is_floating_point_v<T>)
        result = combined_float(update, old, operand);
    else
        result = combined_integer(update, old, operand);
    std::memcpy(memory, &result, sizeof result);
    return value_of_bits(element, reinterpret_cast<const char*>(&old));
}

/// Numba's CUDA documentation, "Supported Atomic Operations".
bool has_element(Update update, Element element) {
    if (is_whole(element) && (element == Element::boolean || width(element) < 4)) return false;
    switch (update) {
        case Update::inc:
        case Update::dec:
            return is_unsigned(element);
        case Update::and_:
        case Update::or_:
        case Update::xor_:
        case Update::exch:
            return is_integer(element);
        default:
            return true;
    }
}

PyObject* update_element(Element element, Update update, Address address, PyObject* value) {
    if (has_element(update, element)) {
        switch (element) {
            case Element::int32:
                return apply<std::int32_t>(element, update, address, value);
            case Element::int64:
                return apply<std::int64_t>(element, update, address, value);
            case Element::uint32:
                return apply<std::uint32_t>(element, update, address, value);
            case Element::uint64:
                return apply<std::uint64_t>(element, update, address, value);
            case Element::float32:
                return apply<float>(element, update, address, value);
            case Element::float64:
                return apply<double>(element, update, address, value);
            default:
                break;
        }
    }
    PyErr_SetString(PyExc_TypeError, "this atomic operation does not exist for elements of this type");
    return nullptr;
}

/// What is not an integer (a bool, a float) is cast to one. New reference.
PyObject* as_index(PyObject* index) {
    if (PyTuple_CheckExact(index)) {
        Reference whole(PyTuple_New(PyTuple_GET_SIZE(index)));
        for (Py_ssize_t i = 0; whole && i < PyTuple_GET_SIZE(index); ++i) {
            PyObject* element = as_index(PyTuple_GET_ITEM(index, i));
            if (element == nullptr) return nullptr;
            PyTuple_SET_ITEM(whole.get(), i, element);
        }
        return Py_XNewRef(whole.get());
    }
    index = told_value(index, ValueUse::address);
    const Number number = read_number(index);
    if (!is_float(number.type) && number.type != Element::boolean) return Py_NewRef(index);
    char bits[8];
    return bits_of_value(Element::int64, index, bits) ? value_of_bits(Element::int64, bits) : nullptr;
}

/// The array and the address of its element; none with an exception set.
Address place(PyObject* target, PyObject* index, KernelArray*& array) {
    if (Py_TYPE(target) != kernel_array_type) {
        PyErr_Format(PyExc_TypeError, "an atomic operation works on an array, not on %.100s",
                     Py_TYPE(target)->tp_name);
        return {};
    }
    array = reinterpret_cast<KernelArray*>(target);
    if (array->element >= Element::record) {
        PyErr_SetString(PyExc_TypeError, "this atomic operation does not exist for elements of this type");
        return {};
    }
    if (!burn(fuel_of_atomic) || !check_writable(array)) return {};
    Reference whole(as_index(index));
    return whole ? element_address(array, whole.get()) : Address();
}

bool takes(Py_ssize_t given, Py_ssize_t wanted, const char* form) {
    if (given == wanted) return true;
    PyErr_Format(PyExc_TypeError, "an atomic operation takes %s; %zd arguments were given", form, given);
    return false;
}

template <Update update>
PyObject* atomic(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    KernelArray* array = nullptr;
    if (require_thread("cuda.atomic") == nullptr || !takes(count, 3, "(ary, idx, val)")) return nullptr;
    const Address address = place(arguments[0], arguments[1], array);
    if (!address) return nullptr;
    return update_element(array->element, update, address, told_value(arguments[2], ValueUse::atomic));
}

/// Where it finds another value it is an atomic read, else a read and a write.
PyObject* swap(KernelArray* array, Address address, PyObject* expected, PyObject* desired) {
    if (!has_element(Update::exch, array->element)) {
        PyErr_SetString(PyExc_TypeError, "this atomic operation does not exist for elements of this type");
        return nullptr;
    }
    const auto bytes = static_cast<std::size_t>(width(array->element));
    char wanted[8], given[8];
    if (!bits_of_value(array->element, told_value(expected, ValueUse::atomic), wanted) ||
        !bits_of_value(array->element, told_value(desired, ValueUse::atomic), given))
        return nullptr;
    if (!holds(address, wanted, bytes)) return load(array->element, address, compare_and_swap_access);
    std::memcpy(reach(address, bytes, AccessKind::update, compare_and_swap_access), given, bytes);
    return value_of_bits(array->element, wanted);  // bits are compared, as by the hardware
}

PyObject* cas(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    KernelArray* array = nullptr;
    if (require_thread("cuda.atomic.cas()") == nullptr || !takes(count, 4, "(ary, idx, old, val)"))
        return nullptr;
    const Address address = place(arguments[0], arguments[1], array);
    return address ? swap(array, address, arguments[2], arguments[3]) : nullptr;
}

PyObject* compare_and_swap(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    KernelArray* array = nullptr;
    if (require_thread("cuda.atomic.compare_and_swap()") == nullptr || !takes(count, 3, "(ary, old, val)"))
        return nullptr;
    Reference zero(PyLong_FromLong(0));
    Reference index(PyTuple_New(
        Py_TYPE(arguments[0]) == kernel_array_type ? reinterpret_cast<KernelArray*>(arguments[0])->ndim : 1));
    for (Py_ssize_t i = 0; index && i < PyTuple_GET_SIZE(index.get()); ++i)
        PyTuple_SET_ITEM(index.get(), i, Py_NewRef(zero.get()));
    const Address address = index ? place(arguments[0], index.get(), array) : Address();
    return address ? swap(array, address, arguments[1], arguments[2]) : nullptr;
}

PyMethodDef functions[] = {{"add", fast(&atomic<Update::add>), METH_FASTCALL, nullptr},
                           {"sub", fast(&atomic<Update::sub>), METH_FASTCALL, nullptr},
                           {"max", fast(&atomic<Update::max>), METH_FASTCALL, nullptr},
                           {"min", fast(&atomic<Update::min>), METH_FASTCALL, nullptr},
                           {"nanmax", fast(&atomic<Update::nanmax>), METH_FASTCALL, nullptr},
                           {"nanmin", fast(&atomic<Update::nanmin>), METH_FASTCALL, nullptr},
                           {"and_", fast(&atomic<Update::and_>), METH_FASTCALL, nullptr},
                           {"or_", fast(&atomic<Update::or_>), METH_FASTCALL, nullptr},
                           {"xor", fast(&atomic<Update::xor_>), METH_FASTCALL, nullptr},
                           {"inc", fast(&atomic<Update::inc>), METH_FASTCALL, nullptr},
                           {"dec", fast(&atomic<Update::dec>), METH_FASTCALL, nullptr},
                           {"exch", fast(&atomic<Update::exch>), METH_FASTCALL, nullptr},
                           {"cas", fast(&cas), METH_FASTCALL, nullptr},
                           {"compare_and_swap", fast(&compare_and_swap), METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_atomics(PyObject* table) {
    return add_functions(table, "cuda.atomic.", functions);
}

}  // namespace cudasim::pyfiber
