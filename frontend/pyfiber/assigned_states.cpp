// See assigned_states.h.
#include "frontend/pyfiber/assigned_states.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_record.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {
namespace {

/// visit(place, indices) for each element; ends where it gives false.
template <typename Visit>
void for_each_element(const KernelArray* array, Visit visit) {
    std::vector<Py_ssize_t> indices(static_cast<std::size_t>(array->ndim));
    for (int axis = 0; axis < array->ndim; ++axis)
        if (array->extent(axis) == 0) return;
    for (;;) {
        Address place = array->data;
        for (int axis = 0; axis < array->ndim; ++axis)
            place = place + indices[static_cast<std::size_t>(axis)] * array->stride(axis);
        if (!visit(place, std::span<const Py_ssize_t>(indices))) return;
        int axis = array->ndim - 1;
        while (axis >= 0 && ++indices[static_cast<std::size_t>(axis)] == array->extent(axis))
            indices[static_cast<std::size_t>(axis--)] = 0;
        if (axis < 0) return;
    }
}

/// Whether NumPy repeats the source along axes to fill the target.
bool broadcasts(const KernelArray* source, const KernelArray* target) {
    const int offset = target->ndim - source->ndim;
    for (int axis = 0; offset >= 0 && axis < source->ndim; ++axis)
        if (source->extent(axis) != 1 && source->extent(axis) != target->extent(axis + offset)) return false;
    return offset >= 0;
}

Address element_of(const KernelArray* source, std::span<const Py_ssize_t> indices) {
    Address place = source->data;
    const std::size_t offset = indices.size() - static_cast<std::size_t>(source->ndim);
    for (int axis = 0; axis < source->ndim; ++axis)
        if (source->extent(axis) != 1)
            place = place + indices[offset + static_cast<std::size_t>(axis)] * source->stride(axis);
    return place;
}

/// Those of an element of the array. Longer ones have no states of their own.
std::vector<std::byte> bytes_of(const KernelArray* array, const BitStates& states) {
    const auto bytes = std::as_bytes(std::span(states));
    return {bytes.begin(), bytes.begin() + std::min(array->itemsize, static_cast<Py_ssize_t>(bytes.size()))};
}

}  // namespace

AssignedStates::AssignedStates(const KernelArray* target, PyObject* value) {
    if (!follows_values()) return;
    if (Py_TYPE(value) == kernel_array_type) {
        add_array(target, reinterpret_cast<const KernelArray*>(value));
    } else if (Py_TYPE(value) == kernel_record_type) {
        const Reference record(record_as_array(value));
        if (record) add_array(target, reinterpret_cast<const KernelArray*>(record.get()));
    } else if (PyTuple_Check(value)) {
        add_numbers(target, &PyTuple_GET_ITEM(value, 0), PyTuple_GET_SIZE(value));
    } else {
        add_numbers(target, &value, 1);
    }
}

void AssignedStates::add_array(const KernelArray* target, const KernelArray* source) {
    if (!broadcasts(source, target)) return;
    const auto bytes = static_cast<std::size_t>(source->itemsize);
    const bool is_copy = source->element == target->element && source->itemsize == target->itemsize;
    for_each_element(target, [&](Address place, std::span<const Py_ssize_t> indices) {
        std::vector<std::byte> unwritten(bytes);
        const Address from = element_of(source, indices);
        if (!load_states(from, bytes, unwritten.data())) return true;
        if (is_copy) {
            elements_.push_back({place, std::move(unwritten)});
        } else {
            const Reference element(loaded_value(source->element, from, bytes, Py_NewRef(Py_None)));
            if (!element) return false;
            const BitStates states = stored_value(target->element, element.get()).states;
            if (states != all_written) elements_.push_back({place, bytes_of(target, states)});
        }
        return true;
    });
}

void AssignedStates::add_numbers(const KernelArray* target, PyObject* const* numbers, Py_ssize_t count) {
    if (std::none_of(numbers, numbers + count, is_unwritten)) return;
    const bool is_along_last = target->ndim > 0 && target->extent(target->ndim - 1) == count;
    if (count != 1 && !is_along_last) return;
    for_each_element(target, [&](Address place, std::span<const Py_ssize_t> indices) {
        PyObject* number = numbers[count == 1 ? 0 : indices.back()];
        const BitStates states = stored_value(target->element, number).states;
        if (states != all_written) elements_.push_back({place, bytes_of(target, states)});
        return true;
    });
}

void AssignedStates::store() const {
    for (const Element& each : elements_)
        store_states(each.place, each.unwritten.size(), each.unwritten.data());
}

void tell_use_of_elements(ValueUse use, const KernelArray* array) {
    if (!follows_values()) return;
    const auto bytes = static_cast<std::size_t>(array->itemsize);
    std::vector<std::byte> unwritten(bytes);
    for_each_element(array, [&](Address place, std::span<const Py_ssize_t>) {
        if (!load_states(place, bytes, unwritten.data())) return true;
        tell_use(use, {place.number(), bytes});
        return false;
    });
}

}  // namespace cudasim::pyfiber
