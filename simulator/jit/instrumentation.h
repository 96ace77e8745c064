// A check or a service that is compiled into kernels: passes over the IR at three points of the compilation
// (C0), and the functions that its code calls at run time.
//
//   image ─► lowering ─► early() ─► inlining ─► values() ─► SROA ─► late() ─► optimiser ─► machine code
//
// The compiler knows a list of them (CompileOptions::instrumentations) and nothing else about them; whoever
// owns a launch chooses the list. The two that every launch has by default are in
// standard_instrumentations.h.
//
// What a pass finds in the IR:
//   - marks on accesses (compilation.h): the compiler's own, and those that are in bounds by a declared check
//   - the accesses themselves, with order, scope and volatile: memory_accesses.h
//   - fences, barriers and warp operations: synchronisation.h
//   - when asynchronous copies begin, and when threads wait for them: asynchronous_copies.h
//   - one address space only, the context as parameter 0 of every function (E2), hooks for barriers and warps
//   - debug locations, from which site_numbering.h makes site numbers for code that notes where it is
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cudasim::jit {

struct Compilation;

/// A function that compiled code calls, under its name in object code. A hook's name begins with
/// `cudasim_hook_`; it takes the ThreadContext first and a site, a std::uint32_t, last (hook_calls.h).
struct HookAddress {
    std::string_view name;
    void* address = nullptr;
    bool operator==(const HookAddress&) const = default;
};

/// Instrumentations have no state, and live as long as the process: kernels compiled with them call their
/// hooks. Passes of several compilations run one after another, never at once.
class Instrumentation {
  public:
    virtual ~Instrumentation() = default;

    /// Unique among all instrumentations; a word without spaces. With version() it is part of the object
    /// cache's key.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Grows whenever the code that the passes insert, or what its hooks mean, changes. The cache's key names
    /// the build of this library too; the version is what tells builds of other libraries apart.
    [[nodiscard]] virtual std::uint32_t version() const = 0;

    /// Runs after lowering and before anything that could fold undefined behaviour away. Device functions are
    /// not inlined yet, local variables are in memory.
    virtual void early(Compilation&) const {}
    /// Runs after inlining and before local variables become registers: for state that goes with values.
    virtual void values(Compilation&) const {}
    /// Runs after local variables have become registers and before anything that could remove, merge or
    /// reorder accesses.
    virtual void late(Compilation&) const {}

    /// Whether the variables of shared memory must not touch each other, so that an access beyond the end of
    /// one meets memory that is nobody's.
    [[nodiscard]] virtual bool needs_redzones() const { return false; }

    /// Whether local variables are filled with poison where their scopes begin (llvm.lifetime.start), and not
    /// only where their function does.
    [[nodiscard]] virtual bool needs_scopes() const { return false; }

    /// What the inserted code calls besides the hooks of the engine (hooks.def). The same at every call.
    [[nodiscard]] virtual std::span<const HookAddress> hooks() const { return {}; }
};

/// Instrumentations in the order in which their passes run. A small value: launches copy it.
class InstrumentationList {
  public:
    static constexpr std::size_t most = 8;

    InstrumentationList() = default;
    InstrumentationList(std::initializer_list<const Instrumentation*> instrumentations) {
        for (const Instrumentation* each : instrumentations) add(*each);
    }

    /// Appends an instrumentation unless it is in the list already. @throws std::length_error beyond `most`
    void add(const Instrumentation& instrumentation) {
        if (contains(instrumentation)) return;
        if (count_ == most) throw std::length_error("too many instrumentations");
        list_[count_++] = &instrumentation;
    }
    void remove(const Instrumentation& instrumentation) {
        count_ = static_cast<std::size_t>(std::remove(list_.begin(),
                                                      list_.begin() + static_cast<std::ptrdiff_t>(count_),
                                                      &instrumentation) -
                                          list_.begin());
    }
    [[nodiscard]] bool contains(const Instrumentation& instrumentation) const {
        return std::find(begin(), end(), &instrumentation) != end();
    }
    [[nodiscard]] const Instrumentation* const* begin() const { return list_.data(); }
    [[nodiscard]] const Instrumentation* const* end() const { return list_.data() + count_; }

    [[nodiscard]] bool operator==(const InstrumentationList& other) const {
        return std::equal(begin(), end(), other.begin(), other.end());
    }
    [[nodiscard]] std::strong_ordering operator<=>(const InstrumentationList& other) const {
        return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end(),
                                                      std::compare_three_way());
    }

  private:
    std::array<const Instrumentation*, most> list_{};
    std::size_t count_ = 0;
};

}  // namespace cudasim::jit
