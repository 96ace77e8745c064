// See accesses.h.
#include "frontend/pyfiber/accesses.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

PyObject* make_view = nullptr;

struct Axis {
    Py_ssize_t extent, stride;
};

/// Tells of all elements of an array, in as few accesses without gaps as its strides allow.
class ElementRuns {
  public:
    explicit ElementRuns(const KernelArray* array) : start_(array->data), bytes_(array->itemsize) {
        for (int axis = 0; axis < array->ndim; ++axis) add(array->extent(axis), array->stride(axis));
        std::ranges::sort(axes_, std::greater(), &Axis::stride);
        while (!axes_.empty() && axes_.back().stride == bytes_) {
            bytes_ *= axes_.back().extent;
            axes_.pop_back();
        }
    }
    void tell(AccessKind kind) const {
        if (bytes_ != 0 && !is_empty_) tell_from(0, start_, kind);
    }

  private:
    /// The order of elements does not matter: axes that run backwards are turned, repeated elements told
    /// once.
    void add(Py_ssize_t extent, Py_ssize_t stride) {
        is_empty_ = is_empty_ || extent == 0;
        if (extent <= 1 || stride == 0) return;
        if (stride < 0) {
            start_ = start_ + (extent - 1) * stride;
            stride = -stride;
        }
        axes_.push_back({extent, stride});
    }
    void tell_from(std::size_t axis, Address place, AccessKind kind) const {
        if (axis == axes_.size()) {
            tell_access(place, static_cast<std::size_t>(bytes_), kind, plain_access);
            return;
        }
        for (Py_ssize_t i = 0; i < axes_[axis].extent; ++i)
            tell_from(axis + 1, place + i * axes_[axis].stride, kind);
    }

    Address start_;
    Py_ssize_t bytes_;  ///< of a run
    bool is_empty_ = false;
    std::vector<Axis> axes_;  ///< between runs, the largest stride first
};

void tell_elements(const KernelArray* array, AccessKind kind) {
    if (observed_thread != nullptr) ElementRuns(array).tell(kind);
}

PyObject* tuple_of(const Py_ssize_t* values, int count) {
    PyObject* result = PyTuple_New(count);
    for (int i = 0; result != nullptr && i < count; ++i)
        PyTuple_SET_ITEM(result, i, PyLong_FromSsize_t(values[i]));
    return result;
}

PyObject* made_view(const KernelArray* array) {
    if (make_view == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "cudasim.python_mode was not set up");
        return nullptr;
    }
    Reference address(PyLong_FromSize_t(array->data.number())),
        extents(tuple_of(array->dimensions, array->ndim)),
        steps(tuple_of(array->dimensions + array->ndim, array->ndim));
    if (!address || !extents || !steps) return nullptr;
    return PyObject_CallFunctionObjArgs(make_view, address.get(), extents.get(), steps.get(), array->dtype,
                                        array->writable ? Py_True : Py_False,
                                        array->owner != nullptr ? array->owner : Py_None, nullptr);
}

/// In front of an access: another thread may have a turn (simulator/execution/interleaving.h).
void take_turns() {
    execution::ThreadHandle& handle = *observed_thread->handle;
    // The end of the launch is seen at the thread's next wait.
    if (handle.gives_turn(handle.site_here()) && !give_turn()) PyErr_Clear();
}

}  // namespace

void tell_access(Address place, std::size_t bytes, AccessKind kind, const Ordering& ordering,
                 const void* written) {
    if (!ordering.compares) take_turns();  // a compare-and-swap has in holds()
    observed_thread->observers->access(
        *observed_thread->handle, {place.number(), bytes, kind, ordering.order, ordering.scope,
                                   ordering.is_volatile, ordering.compares, ordering.drops_old, written});
}

bool holds(Address place, const char* bits, std::size_t count) {
    if (observed_thread != nullptr) [[unlikely]]
        take_turns();
    return std::memcmp(place.first_, bits, count) == 0;
}

/// What a compare-and-swap finds has been told as its use.
PyObject* load_observed(Element element, Address place, const Ordering& ordering) {
    const auto bytes = static_cast<std::size_t>(width(element));
    PyObject* value = value_of_bits(element, reach(place, bytes, AccessKind::read, ordering));
    return ordering.compares ? value : loaded_value(element, place, bytes, value);
}

void copy(Address target, Address source, std::size_t bytes) {
    const char* from = reach(source, bytes, AccessKind::read);
    std::vector<std::byte> unwritten(follows_values() ? bytes : 0);
    const bool has_unwritten = !unwritten.empty() && load_states(source, bytes, unwritten.data());
    std::memmove(reach(target, bytes, AccessKind::write, plain_access, from), from, bytes);
    if (has_unwritten) store_states(target, bytes, unwritten.data());
}

void set_view_maker(PyObject* view_maker) {
    Py_XSETREF(make_view, Py_NewRef(view_maker));
}

PyObject* numpy_view(KernelArray* array, Use use) {
    if (array->numpy == nullptr) array->numpy = made_view(array);
    if (array->numpy == nullptr || use == Use::nothing) return array->numpy;
    tell_elements(array, use == Use::read    ? AccessKind::read
                         : use == Use::write ? AccessKind::write
                                             : AccessKind::view);
    return array->numpy;
}

void tell_read(const KernelArray* array) {
    tell_elements(array, AccessKind::read);
}

void tell_memory(Address place, std::size_t bytes, execution::MemorySpace space) {
    if (observed_thread == nullptr) return;
    observed_thread->observers->memory(*observed_thread->handle, {place.number(), bytes, space});
}

void tell_memory_ends(const execution::AccessObserverList* observers, const KernelArray* array,
                      execution::MemorySpace space) {
    if (observers == nullptr || array->owner == nullptr) return;
    const auto bytes = static_cast<std::uint64_t>(PyByteArray_GET_SIZE(array->owner));
    observers->memory_ends({array->data.number(), bytes, space});
}

bool observes_memory() {
    return observed_thread != nullptr;
}

void tell_fence(image::Scope scope) {
    if (observed_thread == nullptr) return;
    observed_thread->observers->fence(*observed_thread->handle, jit::MemoryOrder::sequential, scope);
}

}  // namespace cudasim::pyfiber
