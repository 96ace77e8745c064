// Variables of a frame record (statement_stops.h) that stay in registers where no stop is made.
//
// The record's address goes to the hooks, so the optimiser has each variable stored in front of every
// statement and loaded again behind it. When it is done, the calls move into cold blocks, and only behind
// those a variable can have another value. Its stores stay where they are: the engine reads memory.
//
//   store total            store total;  register = total
//   ? hook stop      ──►   ? hook stop; register = load total
//   load total             register
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstddef>
#include <vector>

namespace cudasim::jit {

class RecordRegisters {
  public:
    explicit RecordRegisters(llvm::Function& function);

    /// Makes a register for each variable that something reads, as an alloca that nobody else knows: stores
    /// go there, too, and loads come from there. Where there are many, those that are read in the innermost
    /// loops come first. @param calls behind how many load_again() will be called
    void make(std::size_t calls);
    /// The engine may have changed the variables: the registers get their values again.
    void load_again(llvm::Instruction& before);
    /// What is left to be promoted.
    [[nodiscard]] const std::vector<llvm::AllocaInst*>& registers() const { return registers_; }
    /// After promotion.
    void remove_unread();

  private:
    struct Variable {
        llvm::Value* address = nullptr;
        llvm::Type* type = nullptr;
        llvm::AllocaInst* storage = nullptr;
    };
    llvm::Function& function_;
    std::vector<Variable> variables_;
    std::vector<llvm::AllocaInst*> registers_;
    std::vector<llvm::LoadInst*> loads_;  ///< of this class
};

}  // namespace cudasim::jit
