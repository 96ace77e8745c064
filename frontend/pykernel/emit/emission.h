// Typed IR → NVVM IR.
//
// A value of the typed IR becomes a list of LLVM values, its parts: a real number has one, a complex one two,
// an array its data pointer, shape and strides, a tuple the parts of its elements, a function none. Each
// variable and type has one alloca, described to debuggers by dbg.declare; where versions of different types
// meet, the predecessor converts into the phi's alloca. LLVM's own SSA construction (SROA) comes later.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/NoFolder.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/pykernel/infer/program.h"
#include "simulator/image/variable_reads.h"

namespace cudasim::pykernel {

struct CallEmission;

/// Does not fold constants: LLVM would fold what V2 defines (shifts, divisions, conversions) into poison.
using Builder = llvm::IRBuilder<llvm::NoFolder>;
using Parts = llvm::SmallVector<llvm::Value*, 4>;

/// The constant, if that is what the compiler knows the value to be; else null. A debugger may set a variable
/// that holds it: code that is the constant's alone has to take what this returns, not the value
/// (simulator/image/variable_reads.h).
template <typename Constant = llvm::Constant>
[[nodiscard]] Constant* known_constant(llvm::Value* value) {
    return llvm::dyn_cast<Constant>(image::stored_value(value));
}

struct Emitted {
    TypeRef type = nullptr;
    Parts parts;
    [[nodiscard]] llvm::Value* value() const { return parts.front(); }
};

/// One LLVM module: a kernel, the device functions it reaches, their constants and shared arrays.
class ModuleEmitter {
  public:
    explicit ModuleEmitter(const Program& program);
    /// Emits the kernel, or the device function, and everything it calls.
    [[nodiscard]] image::KernelImage run(const Specialisation& root);

    /// The type of SSA values: booleans are i1.
    [[nodiscard]] llvm::Type* value_type(TypeRef scalar);
    /// The type in memory: booleans are i8, complex numbers a pair.
    [[nodiscard]] llvm::Type* memory_type(TypeRef scalar);
    /// One LLVM type for each part.
    void part_types(TypeRef type, bool in_memory, llvm::SmallVectorImpl<llvm::Type*>& types);
    /// What a variable of this type occupies; null when it has no parts.
    [[nodiscard]] llvm::Type* storage_type(TypeRef type);
    [[nodiscard]] llvm::DIType* debug_type(TypeRef type);
    /// As debug_type(), but for a record the type of the record itself instead of a reference to it.
    [[nodiscard]] llvm::DIType* debug_type_in_memory(TypeRef type);
    [[nodiscard]] llvm::FunctionCallee declare(const std::string& name, llvm::Type* result,
                                               llvm::ArrayRef<llvm::Type*> parameters);
    /// The function of a specialisation; emitted later when new.
    [[nodiscard]] llvm::Function* function(const Specialisation& specialisation);
    [[nodiscard]] std::uint32_t exception_index(const std::string& type, const std::string& message);
    /// Generic pointer to a constant text that ends in a zero.
    [[nodiscard]] llvm::Constant* text_constant(const std::string& text);
    [[nodiscard]] llvm::GlobalVariable* constant_array(const GlobalValue& array, TypeRef element);
    /// @param count elements; 0: the dynamic shared memory of the launch
    /// @param extents whose product it is
    [[nodiscard]] llvm::GlobalVariable* shared_array(const std::string& name, TypeRef element,
                                                     std::uint64_t count,
                                                     llvm::ArrayRef<std::int64_t> extents,
                                                     llvm::DISubprogram* scope, Location place);
    [[nodiscard]] llvm::DIFile* file(const std::string& path);

    const Program& program;  ///< typed: emission decides nothing
    llvm::LLVMContext context;
    llvm::Module module;
    llvm::DIBuilder debug;

  private:
    llvm::DISubprogram* subprogram(const Specialisation& specialisation);
    void declare_kernel(llvm::Function* function);
    /// emit_device_entry.cpp: the function by which others call the device function.
    void make_device_entry(const Specialisation& root);
    [[nodiscard]] llvm::DIType* debug_struct(TypeRef type);
    [[nodiscard]] llvm::DIType* debug_record(TypeRef record);

    llvm::DICompileUnit* unit_ = nullptr;
    const Specialisation* kernel_ = nullptr;
    std::map<const Specialisation*, llvm::Function*> functions_;
    std::deque<std::pair<const Specialisation*, llvm::Function*>> pending_;
    std::map<std::pair<std::string, std::string>, std::uint32_t> exceptions_;
    std::map<const GlobalValue*, llvm::GlobalVariable*> constants_;
    std::map<std::string, llvm::Constant*> texts_;
    std::map<TypeRef, llvm::DIType*> debug_types_, debug_records_;
};

class FunctionEmitter {
  public:
    FunctionEmitter(ModuleEmitter& module, const Specialisation& specialisation, llvm::Function* function,
                    bool is_kernel);
    void run();

    // Values (emit_values.cpp).
    [[nodiscard]] Emitted convert(const Emitted& value, TypeRef type);
    /// The value of an optional; None is a TypeError of the kernel. Anything else as it is.
    [[nodiscard]] Emitted present(const Emitted& value);
    [[nodiscard]] llvm::Value* truth(const Emitted& value);
    [[nodiscard]] Emitted number(llvm::Value* value, TypeRef type) { return {type, {value}}; }
    [[nodiscard]] Emitted constant(const GlobalValue& value, TypeRef type);
    [[nodiscard]] llvm::ConstantInt* int64(std::int64_t value) {
        return builder.getInt64(static_cast<std::uint64_t>(value));
    }
    [[nodiscard]] llvm::Value* to_memory(llvm::Value* value, TypeRef type);
    [[nodiscard]] llvm::Value* from_memory(llvm::Value* value, TypeRef type);

    /// A real number as a float64, exactly, but for large 64-bit integers: of what they lose there stays
    /// enough for roundings to 16 bits (emit_short_floats.cpp).
    [[nodiscard]] llvm::Value* exact_float(const Emitted& value);

    /// What type inference has found, on these operands.
    [[nodiscard]] Emitted apply(const Resolution& operation, const Instruction& instruction,
                                std::span<const Emitted> operands);

    // Arithmetic on numbers of one type (emit_arithmetic.cpp).
    [[nodiscard]] llvm::Value* compare(Operator op, llvm::Value* left, llvm::Value* right, TypeRef type);
    [[nodiscard]] llvm::Value* integer_binary(Operator op, llvm::Value* left, llvm::Value* right,
                                              bool is_signed);
    [[nodiscard]] llvm::Value* float_binary(Operator op, llvm::Value* left, llvm::Value* right);
    /// Of a real number.
    [[nodiscard]] llvm::Value* negated(llvm::Value* value, TypeRef type);
    /// What `make` makes of a value. Of a variable that holds a constant it makes two, of the constant and of
    /// what the variable's memory holds; it must not begin new blocks then, nor call what has effects.
    template <typename Make>
    [[nodiscard]] llvm::Value* each_way(llvm::Value* value, Make make) {
        auto* known = known_constant(value);
        if (!known || known == value) return make(value);
        llvm::Value* stored = make(known);
        return read(stored, make(image::as_variable_read(value)->getArgOperand(1)));
    }
    void check_float_divisor(llvm::Value* divisor);
    [[nodiscard]] Emitted power(const Emitted& left, const Emitted& right, TypeRef result,
                                TypeRef exponent_type);

    // Complex numbers (emit_complex.cpp).
    [[nodiscard]] Emitted complex_binary(Operator op, const Emitted& left, const Emitted& right);
    [[nodiscard]] llvm::Value* complex_magnitude(const Emitted& value);

    // Tuples (emit_tuples.cpp).
    [[nodiscard]] Emitted element_of(const Emitted& tuple, std::size_t index);
    /// By an index that only the running kernel knows. @param result the type of all elements
    [[nodiscard]] Emitted any_element_of(const Emitted& tuple, const Emitted& index, TypeRef result);

    // Arrays (emit_arrays.cpp).
    /// The index, in the size, that the check gives (C0). @param axis for what is reported
    [[nodiscard]] llvm::Value* check_index(const Emitted& index, llvm::Value* size, unsigned axis);
    /// Marks a check of an index as one that is no matter of memory (image::meant_mark), and gives it.
    llvm::Value* meant(llvm::Value* check);
    /// The indices of as many axes as there are integers.
    [[nodiscard]] Parts checked_indices(const Emitted& array, const Emitted& index);
    /// Checks every axis and gives the address of the element.
    [[nodiscard]] llvm::Value* element_address(const Emitted& array, const Emitted& index);
    /// The element, or the rows where there are fewer indices than axes.
    [[nodiscard]] Emitted item_at(const Emitted& array, std::span<llvm::Value* const> indices,
                                  TypeRef result);
    /// The element at a position in C order.
    [[nodiscard]] llvm::Value* flat_address(const Emitted& array, llvm::Value* position);
    /// Every index that an array of them names, or a mask: one after another.
    void for_each_chosen(const Emitted& chosen, const std::function<void(const Emitted&)>& body);
    [[nodiscard]] Emitted make_array(TypeRef type, llvm::Value* data, std::span<llvm::Value* const> shape);
    [[nodiscard]] llvm::Value* array_size(const Emitted& array);
    /// Element `axis` (x, y or z) of threadIdx, blockIdx, blockDim or gridDim.
    [[nodiscard]] llvm::Value* dim3_element(const Emitted& indices, char axis);
    /// Marks an access that an index check has guarded, where the indices of such a container guard its
    /// memory.
    void checked(llvm::Instruction* access, TypeRef container);

    // Views (emit_views.cpp).
    [[nodiscard]] Emitted make_slice(TypeRef type, std::span<const Emitted> bounds);
    /// The view that a basic index (array_indexing.cpp) selects; every integer is checked. Of an element it
    /// is the address.
    [[nodiscard]] Emitted selected(const Emitted& array, const Emitted& index, TypeRef result);
    void for_each_element(const Emitted& view, const std::function<void(llvm::Value*)>& body);
    void assign_view(const Emitted& view, const Emitted& value);
    /// An element at an address that an index check guards.
    /// @param container the type of the array, record or pointer that it is an element of
    [[nodiscard]] Emitted load_element(llvm::Value* place, TypeRef element, TypeRef container);
    void store_element(llvm::Value* place, const Emitted& value, TypeRef element, TypeRef container);
    /// Each part of a value at its place: {place, type of the part}.
    [[nodiscard]] llvm::SmallVector<std::pair<llvm::Value*, TypeRef>, 2> element_parts(llvm::Value* place,
                                                                                       TypeRef element);

    // Records (emit_records.cpp).
    /// A field of a record, or the array of the fields of an array of records.
    [[nodiscard]] Emitted get_field(const Emitted& object, const RecordField& field, TypeRef result);
    [[nodiscard]] llvm::Value* field_address(const Emitted& object, const RecordField& field);
    void copy_record(llvm::Value* place, const Emitted& record, TypeRef type);
    /// @param element what the elements of the source are, with the memory of a record
    void copy_elements(const Emitted& target, const Emitted& source, TypeRef element);

    // Iterators (emit_iterators.cpp).
    void begin_iteration(TypeRef type, const Emitted& over, bool may_travel);
    void begin_counting(TypeRef enumerated, llvm::Value* first);
    /// Makes slots for the elements taken by a zip of iterators that other code may use too.
    /// @param elements the type of what it yields
    void begin_shared_zip(TypeRef zipped, TypeRef elements);
    [[nodiscard]] llvm::Value* has_next(TypeRef type);
    [[nodiscard]] llvm::Value* range_length(const Emitted& range);
    /// @param result the type of the element
    [[nodiscard]] Emitted take_next(TypeRef type, TypeRef result);

    /// The value that another function returns for these arguments, converted to its types.
    [[nodiscard]] Emitted call_function(const Specialisation& callee, std::span<const Emitted> arguments);

    // Calls into libdevice and the engine's checks.
    llvm::Value* call(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
    void raise(const std::string& exception, const std::string& message);
    /// Raises unless the condition holds.
    void require(llvm::Value* condition, const std::string& exception, const std::string& message);
    /// Storage in the entry block: one for the whole function, in loops too (V4).
    [[nodiscard]] llvm::AllocaInst* entry_alloca(llvm::Type* type, const llvm::Twine& name);
    llvm::BasicBlock* new_block(const llvm::Twine& name);
    [[nodiscard]] llvm::DISubprogram* scope() const { return function_->getSubprogram(); }
    [[nodiscard]] const Emitted& value(ValueId id) const { return values_[id]; }
    [[nodiscard]] const TypeTable& types() const { return module.program.types; }

    ModuleEmitter& module;
    Builder builder;

  private:
    using VariableKey = std::pair<VariableId, TypeRef>;

    // emit_function.cpp
    void bind_parameters();
    void emit(ValueId id);
    void emit_terminator(const Instruction& instruction);
    void emit_return(const Instruction& instruction);
    void convert_for_phis(BlockId from);
    void convert_for_phis(BlockId from, BlockId to);
    void set_location(Location location);
    llvm::AllocaInst* variable(VariableId id, TypeRef type);
    void describe(VariableId id, TypeRef type, llvm::AllocaInst* storage);
    void store_variable(VariableId id, const Emitted& value);
    [[nodiscard]] Emitted load_variable(VariableId id, TypeRef type);
    [[nodiscard]] Parts load_parts(VariableId id, TypeRef type, const llvm::Twine& name);
    // emit_reads.cpp
    [[nodiscard]] Emitted read(VariableId id, const Emitted& stored);
    [[nodiscard]] llvm::Value* read(llvm::Value* stored, llvm::Value* loaded);
    // emit_assigned.cpp
    void find_unassigned();
    void note_assigned(VariableId id);
    void check_assigned(const Instruction& load);

    [[nodiscard]] Emitted emit_value(ValueId id, const Instruction& instruction);
    [[nodiscard]] Emitted emit_attribute(const Instruction& instruction);
    [[nodiscard]] Emitted emit_call(const Instruction& instruction);
    /// The type of what `raise e` raises: of an exception that was made, or of a class.
    [[nodiscard]] TypeRef type_of_raised(const Instruction& in) const { return values_[in.operands[0]].type; }
    [[nodiscard]] Emitted emit_function_call(const Resolution& called, const Instruction& instruction);
    /// What a program has given for an operation (added_operations.h).
    [[nodiscard]] Emitted emit_added(const Resolution& called, std::span<const Emitted> operands);
    void convert_added(CallEmission& emission);
    /// The function of the request, or the linked code, that was chosen.
    [[nodiscard]] Emitted call_resolved(const Resolution& called, std::span<const Emitted> arguments);
    [[nodiscard]] const Resolution& resolution(const Instruction& in) const {
        return specialisation_.resolutions.at(in.id);
    }
    /// A function of linked code that takes and gives the parts of its values.
    [[nodiscard]] Emitted call_linked(const Resolution& called, std::span<const Emitted> arguments);
    /// A pointer as a generic one, anything else as it is.
    [[nodiscard]] llvm::Value* generic(llvm::Value* value);
    [[nodiscard]] Emitted parts_of_result(TypeRef type, llvm::Value* result);

    // emit_values.cpp
    [[nodiscard]] Emitted convert_to_complex(const Emitted& value, TypeRef from, TypeRef type);
    [[nodiscard]] Emitted make_optional(const Emitted& value, TypeRef type);
    [[nodiscard]] llvm::Value* convert_number(llvm::Value* value, TypeRef from, TypeRef to);
    [[nodiscard]] llvm::Value* convert_one_number(llvm::Value* value, TypeRef from, TypeRef to);
    [[nodiscard]] llvm::Value* convert_constant(llvm::Value* value, TypeRef from, TypeRef to);

    // emit_short_floats.cpp
    [[nodiscard]] llvm::Value* narrow_to_half(llvm::Value* value, TypeRef from);
    [[nodiscard]] llvm::Value* narrow_to_odd(llvm::Value* wide);
    [[nodiscard]] llvm::Value* widen_bfloat(llvm::Value* bits);
    [[nodiscard]] llvm::Value* narrow_to_bfloat(llvm::Value* value, TypeRef from);
    [[nodiscard]] llvm::Value* sticky_float(llvm::Value* value, bool is_signed);

    // emit_arithmetic.cpp
    [[nodiscard]] llvm::Value* floor_quotient(llvm::Value* left, llvm::Value* right, bool want_remainder);
    [[nodiscard]] llvm::Value* floor_quotient_by(llvm::Value* left, llvm::Value* right, bool want_remainder);

    // emit_complex.cpp
    [[nodiscard]] Emitted complex_quotient(const Emitted& left, const Emitted& right);
    [[nodiscard]] Emitted complex_power(const Emitted& base, const Emitted& exponent);

    // emit_power.cpp
    [[nodiscard]] llvm::Value* integer_power(llvm::Value* base, llvm::Value* exponent, bool signed_exponent);
    [[nodiscard]] llvm::Value* power_by_squaring(llvm::Value* base, std::uint64_t exponent);

    // emit_arrays.cpp
    [[nodiscard]] llvm::Value* address(const Emitted& array, std::span<llvm::Value* const> indices);

    // emit_views.cpp
    struct AxisSlice {
        llvm::Value *start, *length, *step;
    };
    [[nodiscard]] AxisSlice slice_axis(const Emitted& slice, llvm::Value* size);
    [[nodiscard]] llvm::Value* clamp_bound(llvm::Value* bound, llvm::Value* size, llvm::Value* downward);

    // emit_iterators.cpp
    struct Held {
        llvm::Value* value = nullptr;
        llvm::AllocaInst* slot = nullptr;
    };
    struct Iterator {
        llvm::AllocaInst* position = nullptr;   ///< next value of a range; next index of anything else
        llvm::AllocaInst* remaining = nullptr;  ///< iterations left; null: compare the position with `stop`
        Held stop, step;
        TypeRef over_type = nullptr;
        llvm::SmallVector<Held> over;
        std::vector<llvm::AllocaInst*> taken;  ///< iternext's result, of iterables that a program has added
    };
    struct SharedZip {
        TypeRef elements = nullptr;            ///< the type of what it yields
        std::vector<llvm::AllocaInst*> slots;  ///< parts of what it took
    };
    [[nodiscard]] Held hold(llvm::Value* value, bool in_memory);
    [[nodiscard]] llvm::Value* get(const Held& held);
    void begin_range(Iterator& iterator, const Emitted& range);
    void begin_added(Iterator& iterator, const Emitted& over, bool may_travel);
    [[nodiscard]] llvm::Value* iteration_count(const Emitted& over);
    [[nodiscard]] llvm::Value* take_one_of_each(TypeRef zipped);
    [[nodiscard]] Emitted element_at(const Emitted& over, llvm::Value* position, TypeRef result);
    [[nodiscard]] Parts split_index(std::span<llvm::Value* const> shape, llvm::Value* position);

    const Specialisation& specialisation_;
    const FlowGraph& graph_;
    llvm::Function* function_;
    bool is_kernel_;
    llvm::BasicBlock* entry_ = nullptr;
    std::vector<llvm::BasicBlock*> blocks_;
    std::vector<Emitted> values_;
    std::map<VariableKey, llvm::AllocaInst*> variables_;
    std::vector<char> maybe_unassigned_;     ///< by variable
    std::vector<char> unassigned_versions_;  ///< by version: reading it may find no value
    std::map<VariableId, llvm::AllocaInst*>
        assigned_;                 ///< of variables that are read so: whether there is a value
    std::vector<ValueId> stored_;  ///< by version: the value, for versions that one store makes
    std::map<TypeRef, Iterator> iterators_;
    std::map<TypeRef, llvm::AllocaInst*> counters_;  ///< of enumerate: the next number
    std::map<TypeRef, SharedZip> shared_zips_;
};

}  // namespace cudasim::pykernel
