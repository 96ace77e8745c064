// What the threads of a group have in common (thread_groups.h), and whether they can run together at all.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>

namespace cudasim::jit {

/// The parameters of a kernel's body (lowering.h) that differ between the threads of a group.
inline constexpr unsigned body_tid_x = 1, body_thread = 4;

class GroupShapes {
  public:
    explicit GroupShapes(llvm::Function& body);

    /// Whether groups of the body's threads may run together, and are likely to gain by it.
    [[nodiscard]] bool can_group_threads();

    /// By how much the value differs from one lane to the next: 0 for what is the same in all. Nothing where
    /// each lane has to have a value of its own. Of pointers: in bytes.
    [[nodiscard]] std::optional<std::int64_t> stride(const llvm::Value& value) const;
    [[nodiscard]] bool is_vector(const llvm::Value& value) const { return !stride(value); }

    /// Code that ends in a hook which never returns: a check of the program that does not hold.
    [[nodiscard]] bool is_cold(const llvm::BasicBlock& block) const { return cold_.contains(&block); }
    /// An extension of an integer with a stride: its lanes must not wrap.
    [[nodiscard]] static bool is_extension(const llvm::Instruction& instruction);
    [[nodiscard]] static bool is_inexact(const llvm::Instruction& instruction);
    /// Whether a store's first and last lane are to be read first, because the threads may have to run again.
    [[nodiscard]] bool probes_stores() const { return probes_stores_; }
    /// Whether the access touches neighbouring elements, so that it is one access of a vector.
    [[nodiscard]] bool is_consecutive(const llvm::Instruction& access) const;

  private:
    void find_cold_blocks();
    void find_stores();
    void find_strides();
    void find_values_from_memory();
    std::optional<std::int64_t> stride_of(const llvm::Instruction& instruction) const;
    std::optional<std::int64_t> stride_of_address(const llvm::GetElementPtrInst& address) const;
    std::optional<std::int64_t> common_stride(llvm::ArrayRef<const llvm::Value*> values) const;
    bool has_known_strides(const llvm::Instruction& instruction) const;
    bool is_behind_store(const llvm::Instruction& instruction) const;
    bool is_allowed(const llvm::Instruction& instruction) const;
    bool is_allowed_access(const llvm::Instruction& access) const;
    bool is_allowed_end(const llvm::Instruction& end) const;
    bool runs_again_alike();
    bool is_wide_in_loop(const llvm::Instruction& access) const;
    bool has_wide_loops() const;

    llvm::Function& body_;
    llvm::DenseMap<const llvm::Value*, std::optional<std::int64_t>> strides_;
    llvm::DenseSet<const llvm::BasicBlock*> cold_;
    llvm::DenseSet<const llvm::BasicBlock*> behind_store_;  ///< from their beginning
    llvm::DenseSet<const llvm::BasicBlock*> in_loop_;
    llvm::DenseSet<const llvm::Value*> from_memory_;
    bool probes_stores_ = false;
};

}  // namespace cudasim::jit
