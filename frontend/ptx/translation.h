// Translates the syntax tree of syntax.h to NVVM IR. Every register is a variable of its width; LLVM makes
// values of them. A 64-bit register that holds an address is an integer, made a pointer where an instruction
// uses it.
//
// What instructions mean stands in tables, one row for each, by family: arithmetic.cpp, real_arithmetic.cpp,
// bits.cpp, comparisons.cpp, conversions.cpp, memory.cpp, threads.cpp, control.cpp.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "frontend/ptx/reader.h"
#include "frontend/ptx/syntax.h"
#include "simulator/image/kernel_image.h"
#include "simulator/image/sync_scopes.h"

namespace cudasim::ptx {

class ModuleTranslation {
  public:
    ModuleTranslation(const Module& source, const std::string& file, Entries entries);
    /// @throws PtxError
    [[nodiscard]] image::KernelImage run(const std::string& text);

    /// The type of a register or an element: integers for .b, .u and .s.
    [[nodiscard]] llvm::Type* type(Type type);
    /// The type of a variable or parameter as a whole; arrays are bytes.
    [[nodiscard]] llvm::Type* storage(const Variable& variable);
    [[nodiscard]] const Function* find_function(const std::string& name) const;
    [[nodiscard]] llvm::Function* declare(const Function& function);
    /// Whether the function gets a body here.
    [[nodiscard]] bool translates(const Function& function) const;
    /// @throws PtxError for several results
    [[nodiscard]] llvm::FunctionType* function_type(const std::vector<Variable>& results,
                                                    const std::vector<Variable>& parameters, int line);
    /// Null when the module has no such variable.
    [[nodiscard]] llvm::GlobalVariable* variable(const std::string& name) const;
    llvm::GlobalVariable* add_variable(const Variable& variable, const std::string& name);
    /// Where the driver of a GPU points %envreg1 (the upper half) and %envreg2: a grid's barrier, as
    /// cooperative groups of CUDA C++ write it out, counts there (cooperative_groups/details/driver_abi.h of
    /// the toolkit, grid_workspace).
    [[nodiscard]] llvm::GlobalVariable* grid_workspace();
    /// Some variable in shared memory, null when there is none: 32-bit shared addresses are distances to it.
    [[nodiscard]] llvm::GlobalVariable* some_shared_variable() const { return shared_; }
    /// @param number of a .file directive; 0: the PTX itself
    [[nodiscard]] llvm::DIFile* file(unsigned number);

    llvm::LLVMContext context;
    llvm::Module module;
    llvm::DIBuilder debug;

  private:
    [[nodiscard]] llvm::Function* declare_entry(const Function& entry);
    [[nodiscard]] llvm::Constant* initial_value(const Variable& variable);
    [[nodiscard]] llvm::Constant* initial_words(const Variable& variable);
    [[nodiscard]] llvm::Constant* address_of(const Variable& holder, const Operand& value);
    void add_variables_of_functions();

    const Module& source_;
    std::string path_;
    Entries entries_;
    std::map<std::string, llvm::GlobalVariable*> variables_;
    std::vector<std::pair<llvm::GlobalVariable*, const Variable*>> initialised_;
    llvm::GlobalVariable* shared_ = nullptr;
};

class FunctionTranslation {
  public:
    FunctionTranslation(ModuleTranslation& module_translation, const Function& function,
                        llvm::Function* target);
    void run();

    /// The operand as a value of the type: registers are cut or filled with zeros to its width.
    [[nodiscard]] llvm::Value* read(const Operand& operand, Type type);
    /// Writes to a register of any width. A narrower value is extended with zeros or with its sign.
    void write(const Operand& operand, llvm::Value* value, bool is_signed = false);
    /// The address operand [base + offset] as a pointer into the space.
    [[nodiscard]] llvm::Value* pointer(const Operand& address, Space space);
    /// A 64-bit address in a space as a pointer.
    [[nodiscard]] llvm::Value* pointer_of(llvm::Value* address, Space space);
    /// The carry flag of add.cc, sub.cc, mad.cc.
    [[nodiscard]] llvm::AllocaInst* carry();
    [[nodiscard]] llvm::AllocaInst* variable(const std::string& name) const;
    [[nodiscard]] llvm::BasicBlock* label(const std::string& name);
    /// Null when the function has none of this name.
    [[nodiscard]] const Prototype* prototype(const std::string& name) const;
    /// @throws PtxError when the function has none of this name
    [[nodiscard]] const Targets& targets(const std::string& name) const;
    /// Ends the block; what follows is reached by a label only.
    void end_block();
    void emit_return();
    [[noreturn]] void refuse(const std::string& reason) const;

    ModuleTranslation& module;
    const Function& source;
    llvm::IRBuilder<> builder;

  private:
    void add_variables();
    void translate(const Instruction& instruction);
    void set_place(const Place& place);
    [[nodiscard]] llvm::Value* bits_of(llvm::Value* value);
    [[nodiscard]] llvm::Value* read_brain(const Operand& operand, Type type);
    [[nodiscard]] llvm::Value* value_named(const Operand& operand);
    /// The address of what lies in memory, the function's own before the module's; null for registers and the
    /// unknown.
    [[nodiscard]] llvm::Value* memory_named(const std::string& name) const;
    [[nodiscard]] llvm::Value* special_register(const std::string& name);
    [[nodiscard]] llvm::Value* near_shared(llvm::Value* address);

    llvm::Function* target_;
    std::map<std::string, llvm::AllocaInst*> variables_;
    std::map<std::string, llvm::BasicBlock*> labels_;
    std::map<std::string, int> label_lines_;  ///< where they are named for the first time
    std::map<std::string, const Prototype*> prototypes_;
    std::map<std::string, const Targets*> targets_;
    std::set<std::string> registers_;
    std::set<std::string> defined_;  ///< labels whose place was reached
    llvm::AllocaInst* carry_ = nullptr;
    const Instruction* current_ = nullptr;
};

/// One instruction being translated.
struct InstructionContext {
    FunctionTranslation& function;
    const Instruction& instruction;
    llvm::IRBuilder<>& b;

    [[nodiscard]] bool has(std::string_view modifier) const;
    /// The last type among the modifiers. @param skip how many from the end to pass over
    [[nodiscard]] Type type(unsigned skip = 0) const;
    [[nodiscard]] const Operand& operand(std::size_t i) const;
    [[nodiscard]] llvm::Value* read(std::size_t i) const { return read(i, type()); }
    [[nodiscard]] llvm::Value* read(std::size_t i, Type as) const {
        return flushed(function.read(operand(i), as));
    }
    /// Writes to operand 0.
    /// A float that is the result of an instruction with a .bf16 result is rounded to it.
    void write(llvm::Value* value, bool is_signed = false) const;
    /// .ftz: subnormal operands and results in single and half precision become zeros of their sign.
    [[nodiscard]] llvm::Value* flushed(llvm::Value* value) const;
    [[nodiscard]] std::string shown() const;  ///< "add.rn.f32"
    [[noreturn]] void refuse() const;         ///< this form is not supported
    [[nodiscard]] llvm::CallInst* call(const char* name, llvm::Type* result,
                                       llvm::ArrayRef<llvm::Value*> arguments) const;
};

struct Row {
    std::string_view opcode;
    void (*translate)(InstructionContext&);
};

std::span<const Row> arithmetic_rows();
std::span<const Row> real_arithmetic_rows();
std::span<const Row> bit_rows();
std::span<const Row> comparison_rows();
std::span<const Row> conversion_rows();
std::span<const Row> memory_rows();
std::span<const Row> thread_rows();
std::span<const Row> control_rows();
std::span<const Row> video_rows();
std::span<const Row> matrix_rows();
std::span<const Row> barrier_object_rows();

/// cp.async.mbarrier.arrive (barrier_objects.cpp).
void translate_arrival_of_copies(InstructionContext& at);

/// A real operand, single or double, in another format: a decimal number, or 0d.. for .f32.
[[nodiscard]] llvm::APInt converted_bits(const Operand& real, const llvm::fltSemantics& format);

/// To nearest, to zero, down, up: .rn, .rz, .rm, .rp.
enum class Rounding { nearest, to_zero, down, up };
[[nodiscard]] Rounding rounding_of(const InstructionContext& at);

// Numbers in fewer bits than float (narrow_reals.cpp). Every NaN becomes the canonical one of GPUs.
/// An f32 or f64, or a vector of f32, as the bits of a bf16, to nearest.
[[nodiscard]] llvm::Value* brain_of(llvm::IRBuilder<>& b, llvm::Value* value);
[[nodiscard]] llvm::Value* brain_of(llvm::IRBuilder<>& b, llvm::Value* value, Rounding rounding);
/// An f32 as the 8 bits of an e4m3 or e5m2, to nearest; beyond the largest number it is the largest.
[[nodiscard]] llvm::Value* byte_of(llvm::IRBuilder<>& b, llvm::Value* value, Type::Kind kind);
/// What 8 bits mean, as an f32.
[[nodiscard]] llvm::Value* real_of_byte(llvm::IRBuilder<>& b, llvm::Value* byte, Type::Kind kind);
/// Rounded to 10 bits of fraction. @param ties_away .rna
[[nodiscard]] llvm::Value* tensor_real_of(llvm::IRBuilder<>& b, llvm::Value* value, bool ties_away,
                                          bool to_zero);
/// a * b + c of f32 that hold numbers of at most 11 bits, rounded so that another rounding to 11 bits or
/// fewer gives the exact sum's: to odd, as an f64.
[[nodiscard]] llvm::Value* fused_to_odd(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b,
                                        llvm::Value* c);
/// The nearest double of an integer of 64 bits with the last bit set when it is not exact.
[[nodiscard]] llvm::Value* double_to_odd(InstructionContext& at, llvm::Value* integer, bool is_signed);

/// A function of numbers for each element of vectors, or once.
[[nodiscard]] llvm::Value* for_each_element(
    llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> operands,
    llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> function);

/// .cta, .cluster, .gpu or .sys. @param otherwise  where the instruction names none
[[nodiscard]] llvm::SyncScope::ID sync_scope(const InstructionContext& at, image::Scope otherwise);

/// Rounding of real arithmetic as a suffix of libdevice's names, "rd", "ru" or "rz"; empty: to nearest.
[[nodiscard]] std::string_view directed_rounding(const InstructionContext& at);
/// add, sub and mul of real numbers, which rows of both kinds of arithmetic share.
void translate_real(InstructionContext& at, llvm::Instruction::BinaryOps operation, const char* name);
/// fma, and mad of real numbers, which is the same.
void translate_fma(InstructionContext& at);

/// bf16 or two of them.
[[nodiscard]] constexpr bool is_brain(Type type) {
    return type.kind == Type::brain || type.kind == Type::brain_pair;
}

inline constexpr Type u32{Type::unsigned_, 32}, u64{Type::unsigned_, 64}, predicate{Type::predicate, 1};

}  // namespace cudasim::ptx
