// Local variables that can be accessed out of bounds, or through a pointer that the compiler cannot follow,
// get redzones and a shadow of their own (C1):
//
//   | 32 redzone | variable | padding | 32 redzone |     local_begin ... local_end around the function
//
// The others, nearly all, cost nothing.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace cudasim::jit {

class LocalVariables {
  public:
    explicit LocalVariables(llvm::Function& function) : function_(function) {}

    /// Finds and protects them. Call once, before checks are inserted.
    void protect();

  private:
    void protect(llvm::AllocaInst& local);
    llvm::Function& function_;
    std::vector<llvm::ReturnInst*> returns_;
};

/// Size in bytes without the redzones that protect() put around the variable.
[[nodiscard]] std::uint64_t bytes_of_variable(const llvm::AllocaInst& local);

/// Where the function's frame record begins in this memory, redzones or not; nothing where it holds none.
[[nodiscard]] std::optional<std::uint64_t> offset_of_record(const llvm::AllocaInst& local);

/// Does [offset, offset + bytes) with this alignment lie inside the variable?
[[nodiscard]] bool lies_inside(const llvm::AllocaInst& local, std::uint64_t offset, std::uint64_t bytes,
                               std::uint64_t alignment);

/// Does [address, address + bytes) with this alignment lie inside a local variable, whichever of several
/// it is?
[[nodiscard]] bool lies_inside_locals(const llvm::Value& address, std::uint64_t bytes,
                                      std::uint64_t alignment);

}  // namespace cudasim::jit
