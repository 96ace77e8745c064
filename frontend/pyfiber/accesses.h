// The one way from Python mode to the memory of kernels: global, shared, local and constant.
//
//   a[i], a[i] = x, atomics, cache hints, fields of records     load(), store(), copy(), reach()
//   a[2:5] = x, dates, characters, x in a                       numpy_view(…, Use::read or Use::write)
//   np.asarray(a), a.sum(), ufuncs on arrays, masks             numpy_view(…, Use::anything)
//                                          │
//                                          └──► observers, if the launch has some
//
// An Address is no pointer. Only reach() makes one of it, and it tells the launch's observers of accesses
// first (simulator/execution/access_observer.h): kind, range, order, scope, thread; they ask for the place
// themselves. Without observers that is one test of a thread-local variable.
//
// NumPy's own accesses cannot be seen. What it is asked for by cudasim is known, and told as reads and writes
// of exactly those elements, before NumPy begins, also where it raises then. Whoever gets an ndarray for
// other ends gets it with AccessKind::view.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "frontend/pyfiber/elements.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "simulator/execution/access_observer.h"

namespace cudasim::pyfiber {

struct KernelArray;
using execution::AccessKind;

/// What an access orders, as compiled kernels have it.
struct Ordering {
    jit::MemoryOrder order = jit::MemoryOrder::plain;
    image::Scope scope = image::Scope::thread;
    bool is_volatile = false;
    bool compares = false;   ///< a compare-and-swap
    bool drops_old = false;  ///< an exchange of which nobody looks at the old value
};
inline constexpr Ordering plain_access{};
inline constexpr Ordering volatile_access{jit::MemoryOrder::plain, image::Scope::thread, true};
/// cuda.atomic.* (frontend/pykernel/calls/atomic_calls.cpp).
inline constexpr Ordering atomic_access{jit::MemoryOrder::relaxed, image::Scope::device, false};
inline constexpr Ordering exchange_access{jit::MemoryOrder::relaxed, image::Scope::device, false, false,
                                          true};
inline constexpr Ordering compare_and_swap_access{jit::MemoryOrder::relaxed, image::Scope::device, false,
                                                  true};

/// A place in memory that kernels access.
class Address {
  public:
    Address() = default;
    explicit Address(void* first) : first_(static_cast<char*>(first)) {}
    /// False for none.
    explicit operator bool() const { return first_ != nullptr; }
    [[nodiscard]] Address operator+(Py_ssize_t bytes) const { return Address(first_ + bytes); }
    [[nodiscard]] std::uintptr_t number() const { return reinterpret_cast<std::uintptr_t>(first_); }
    bool operator==(const Address&) const = default;

  private:
    friend char* reach(Address place, std::size_t bytes, AccessKind kind, const Ordering& ordering,
                       const void* written);
    friend bool holds(Address place, const char* bits, std::size_t count);
    char* first_ = nullptr;
};

/// Tells of an access of the current thread, which somebody observes.
[[gnu::cold, gnu::noinline]] void tell_access(Address place, std::size_t bytes, AccessKind kind,
                                              const Ordering& ordering, const void* written = nullptr);

/// The memory of `bytes` bytes, which is accessed now. Every access of a kernel comes through here.
/// @param written what a write is about to write there; null where nobody knows yet
[[nodiscard]] inline char* reach(Address place, std::size_t bytes, AccessKind kind,
                                 const Ordering& ordering = plain_access, const void* written = nullptr) {
    if (observed_thread != nullptr) [[unlikely]]
        tell_access(place, bytes, kind, ordering, written);
    return place.first_;
}

/// Whether the memory holds these bits: what kind of access follows may depend on it. No access by itself.
[[nodiscard]] bool holds(Address place, const char* bits, std::size_t count);

/// load() where somebody observes the thread.
[[gnu::cold, gnu::noinline]] [[nodiscard]] PyObject* load_observed(Element element, Address place,
                                                                   const Ordering& ordering);
/// The value of an element; null with an exception set. Under the check `init` it may be an unwritten one
/// (unwritten_value.h).
[[nodiscard]] inline PyObject* load(Element element, Address place, const Ordering& ordering = plain_access) {
    if (observed_thread != nullptr) [[unlikely]]
        return load_observed(element, place, ordering);
    return value_of_bits(element,
                         reach(place, static_cast<std::size_t>(width(element)), AccessKind::read, ordering));
}
/// False with an exception set, and then nothing is written.
[[nodiscard]] bool store(Element element, Address place, PyObject* value);
/// Ranges may overlap.
void copy(Address target, Address source, std::size_t bytes);

/// What an ndarray over an array's memory is for.
enum class Use : std::uint8_t {
    nothing,  ///< its shape, or memory that is not the kernel's
    read,     ///< reading all elements once, now
    write,    ///< writing all elements once, now
    anything  ///< whatever its new owner does with it, as long as there is one
};
/// @param view_maker callable(address, shape, strides, dtype, writable, owner) → numpy.ndarray
void set_view_maker(PyObject* view_maker);
/// The same memory as an ndarray; borrowed, null with an exception set.
[[nodiscard]] PyObject* numpy_view(KernelArray* array, Use use);
/// NumPy has read all elements of the array.
void tell_read(const KernelArray* array);

/// A shared or local array begins to exist.
void tell_memory(Address place, std::size_t bytes, execution::MemorySpace space);
/// It ends, when nobody refers to it any more.
void tell_memory_ends(const execution::AccessObserverList* observers, const KernelArray* array,
                      execution::MemorySpace space);
/// Whether anybody is told of the memory of the thread that runs.
[[nodiscard]] bool observes_memory();
/// cuda.threadfence() and its forms.
void tell_fence(image::Scope scope);

}  // namespace cudasim::pyfiber
