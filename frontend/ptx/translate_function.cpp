// A function's registers, values and blocks, and the way from an instruction to its row.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <optional>

#include "frontend/ptx/reader.h"
#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

const Row* find_row(std::string_view opcode) {
    for (const auto rows :
         {arithmetic_rows(), real_arithmetic_rows(), bit_rows(), comparison_rows(), conversion_rows(),
          memory_rows(), thread_rows(), control_rows(), video_rows(), matrix_rows(), barrier_object_rows()}) {
        for (const Row& row : rows)
            if (row.opcode == opcode) return &row;
    }
    return nullptr;
}

bool lies_in_module(Space space) {
    return space == Space::shared || space == Space::global || space == Space::constant;
}

struct SpecialRegister {
    std::string_view name;
    llvm::Intrinsic::ID id;
};

/// PTX ISA, "Special Registers"; those that NVVM has intrinsics for and the simulator answers.
constexpr SpecialRegister special_registers[] = {
    {"%tid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {"%tid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y},
    {"%tid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z},
    {"%ntid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x},
    {"%ntid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y},
    {"%ntid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z},
    {"%ctaid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
    {"%ctaid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y},
    {"%ctaid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
    {"%nctaid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
    {"%nctaid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y},
    {"%nctaid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z},
    {"%clusterid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_x},
    {"%clusterid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_y},
    {"%clusterid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_z},
    {"%nclusterid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_nclusterid_x},
    {"%nclusterid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_nclusterid_y},
    {"%nclusterid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_nclusterid_z},
    {"%cluster_ctaid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_x},
    {"%cluster_ctaid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_y},
    {"%cluster_ctaid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_z},
    {"%cluster_nctaid.x", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_x},
    {"%cluster_nctaid.y", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_y},
    {"%cluster_nctaid.z", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_z},
    {"%cluster_ctarank", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank},
    {"%cluster_nctarank", llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_nctarank},
    {"%is_explicit_cluster", llvm::Intrinsic::nvvm_is_explicit_cluster},
    {"%laneid", llvm::Intrinsic::nvvm_read_ptx_sreg_laneid},
    {"%warpid", llvm::Intrinsic::nvvm_read_ptx_sreg_warpid},
    {"%lanemask_lt", llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt},
    {"%lanemask_le", llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_le},
    {"%lanemask_gt", llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_gt},
    {"%lanemask_ge", llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_ge},
    {"%lanemask_eq", llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_eq},
    {"%nwarpid", llvm::Intrinsic::nvvm_read_ptx_sreg_nwarpid},
    {"%clock", llvm::Intrinsic::nvvm_read_ptx_sreg_clock},
    {"%clock64", llvm::Intrinsic::nvvm_read_ptx_sreg_clock64},
    {"%smid", llvm::Intrinsic::nvvm_read_ptx_sreg_smid},
    {"%nsmid", llvm::Intrinsic::nvvm_read_ptx_sreg_nsmid},
    {"%globaltimer", llvm::Intrinsic::nvvm_read_ptx_sreg_globaltimer},
};

/// Registers that are the same everywhere here: no performance is counted, and nothing of shared memory is
/// reserved. The registers envreg3 to 31 belong to the driver, which sets none.
std::optional<std::uint32_t> constant_register(std::string_view name) {
    if (name.starts_with("%envreg") && name != "%envreg1" && name != "%envreg2") return 0;
    if (name.starts_with("%reserved_smem_offset_")) return 0;
    if (name.starts_with("%pm")) return 0;
    return {};
}

/// What a register is called that says the same: nothing of shared memory is reserved.
std::string usual_register(const std::string& name) {
    return name == "%aggr_smem_size" ? "%total_smem_size" : name;
}

}  // namespace

FunctionTranslation::FunctionTranslation(ModuleTranslation& module_translation, const Function& function,
                                         llvm::Function* target)
    : module(module_translation), source(function), builder(module_translation.context), target_(target) {}

void FunctionTranslation::refuse(const std::string& reason) const {
    throw PtxError(reason, current_ ? current_->place.line : source.place.line);
}

void FunctionTranslation::run() {
    Place first = source.place;
    for (const auto& item : source.body) {
        if (const auto* instruction = std::get_if<Instruction>(&item)) {
            first = instruction->place;
            break;
        }
    }
    auto* type = module.debug.createSubroutineType(module.debug.getOrCreateTypeArray({}));
    const unsigned line = first.file ? first.file_line : static_cast<unsigned>(source.place.line);
    target_->setSubprogram(module.debug.createFunction(
        module.file(first.file), source.name, source.name, module.file(first.file), line, type, line,
        llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition));
    builder.SetInsertPoint(llvm::BasicBlock::Create(module.context, "entry", target_));
    set_place(first);
    add_variables();
    for (const auto& item : source.body) {
        if (const auto* form = std::get_if<Prototype>(&item)) prototypes_[form->name] = form;
        if (const auto* list = std::get_if<Targets>(&item)) targets_[list->name] = list;
    }
    for (const auto& item : source.body) {
        if (const auto* own = std::get_if<Label>(&item)) {
            llvm::BasicBlock* block = label(own->name);
            if (!defined_.insert(own->name).second) refuse("the label '" + own->name + "' is there twice");
            block->moveAfter(&target_->back());
            builder.CreateBr(block);
            builder.SetInsertPoint(block);
        } else if (const auto* instruction = std::get_if<Instruction>(&item)) {
            translate(*instruction);
        }
    }
    emit_return();
    for (const auto& [name, block] : labels_)
        if (!defined_.contains(name))
            throw PtxError("there is no label '" + name + "'", label_lines_.at(name));
}

void FunctionTranslation::add_variables() {
    for (const Variable& own : source.variables) {
        if (lies_in_module(own.space)) continue;
        auto* place = builder.CreateAlloca(module.storage(own), nullptr, own.name);
        if (own.alignment) place->setAlignment(llvm::Align(own.alignment));
        variables_[own.name] = place;
        if (own.space == Space::registers) registers_.insert(own.name);
    }
    for (std::size_t i = 0; i < source.parameters.size(); ++i) {
        llvm::AllocaInst* place = variable(source.parameters[i].name);
        llvm::Argument* given = target_->getArg(static_cast<unsigned>(i));
        if (place && given->hasByValAttr())
            builder.CreateMemCpy(place, place->getAlign(), given, given->getParamAlign(),
                                 module.module.getDataLayout().getTypeAllocSize(place->getAllocatedType()));
        else if (place)
            builder.CreateStore(given, place);
    }
}

llvm::AllocaInst* FunctionTranslation::variable(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second;
}

llvm::AllocaInst* FunctionTranslation::carry() {
    if (!carry_) {
        llvm::IRBuilder<> entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
        carry_ = entry.CreateAlloca(builder.getInt1Ty(), nullptr, "carry");
        entry.CreateStore(builder.getFalse(), carry_);
    }
    return carry_;
}

llvm::BasicBlock* FunctionTranslation::label(const std::string& name) {
    llvm::BasicBlock*& block = labels_[name];
    if (!block) {
        block = llvm::BasicBlock::Create(module.context, name, target_);
        label_lines_[name] = current_ ? current_->place.line : source.place.line;
    }
    return block;
}

const Prototype* FunctionTranslation::prototype(const std::string& name) const {
    const auto found = prototypes_.find(name);
    return found == prototypes_.end() ? nullptr : found->second;
}

const Targets& FunctionTranslation::targets(const std::string& name) const {
    const auto found = targets_.find(name);
    if (found == targets_.end()) refuse("there is no list of targets '" + name + "'");
    return *found->second;
}

void FunctionTranslation::end_block() {
    builder.SetInsertPoint(llvm::BasicBlock::Create(module.context, "after", target_));
}

void FunctionTranslation::emit_return() {
    if (source.results.empty()) {
        builder.CreateRetVoid();
        return;
    }
    llvm::Type* type = module.storage(source.results[0]);
    llvm::AllocaInst* place = variable(source.results[0].name);
    builder.CreateRet(place ? builder.CreateLoad(type, place)
                            : static_cast<llvm::Value*>(llvm::PoisonValue::get(type)));
}

void FunctionTranslation::set_place(const Place& place) {
    llvm::DISubprogram* function = target_->getSubprogram();
    llvm::DIFile* file = module.file(place.file);
    llvm::DIScope* scope = function;
    if (file != function->getFile()) scope = module.debug.createLexicalBlockFile(function, file);
    const unsigned line = place.file ? place.file_line : static_cast<unsigned>(place.line);
    builder.SetCurrentDebugLocation(llvm::DILocation::get(module.context, line, place.file_column, scope));
}

/// @%p: the instruction in a block of its own.
void FunctionTranslation::translate(const Instruction& instruction) {
    current_ = &instruction;
    set_place(instruction.place);
    const Row* row = find_row(instruction.opcode[0]);
    InstructionContext at{*this, instruction, builder};
    if (!row) refuse("the instruction '" + at.shown() + "' is not supported");
    llvm::BasicBlock* behind = nullptr;
    if (!instruction.guard.empty()) {
        Operand guard;
        guard.text = instruction.guard;
        guard.negated = instruction.guard_negated;
        auto* guarded = llvm::BasicBlock::Create(module.context, "guarded", target_);
        behind = llvm::BasicBlock::Create(module.context, "behind", target_);
        builder.CreateCondBr(read(guard, predicate), guarded, behind);
        builder.SetInsertPoint(guarded);
    }
    row->translate(at);
    if (behind) {
        builder.CreateBr(behind);
        builder.SetInsertPoint(behind);
    }
}

llvm::Value* FunctionTranslation::bits_of(llvm::Value* value) {
    return builder.CreateBitCast(
        value, builder.getIntNTy(value->getType()->getPrimitiveSizeInBits().getFixedValue()));
}

llvm::Value* FunctionTranslation::special_register(const std::string& written) {
    const std::string name = usual_register(written);
    for (const SpecialRegister& known : special_registers)
        if (known.name == name) return builder.CreateIntrinsic(known.id, {}, {});
    if (name == "%dynamic_smem_size")
        return builder.CreateCall(
            module.module.getOrInsertFunction("__cudasim_dynamic_shared_bytes", builder.getInt32Ty()));
    if (name == "%total_smem_size")
        return builder.CreateCall(
            module.module.getOrInsertFunction("__cudasim_total_shared_bytes", builder.getInt32Ty()));
    if (name == "WARP_SZ") return builder.getInt32(32);
    if (const auto constant = constant_register(name))
        return builder.getIntN(name.starts_with("%pm") && name.ends_with("_64") ? 64 : 32, *constant);
    if (name == "%gridid")
        return builder.CreateZExt(builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_gridid, {}, {}),
                                  builder.getInt64Ty());
    if (name == "%globaltimer_lo" || name == "%globaltimer_hi" || name == "%clock_hi") {
        llvm::Value* time = special_register(name == "%clock_hi" ? "%clock64" : "%globaltimer");
        if (name.ends_with("_hi")) time = builder.CreateLShr(time, 32);
        return builder.CreateTrunc(time, builder.getInt32Ty());
    }
    if (name != "%envreg1" && name != "%envreg2") return nullptr;
    llvm::Value* workspace = builder.CreatePtrToInt(module.grid_workspace(), builder.getInt64Ty());
    return builder.CreateTrunc(name == "%envreg1" ? builder.CreateLShr(workspace, 32) : workspace,
                               builder.getInt32Ty());
}

llvm::Value* FunctionTranslation::memory_named(const std::string& name) const {
    if (llvm::AllocaInst* own = variable(name)) return registers_.contains(name) ? nullptr : own;
    if (llvm::Value* place = module.variable(name)) return place;
    return module.variable(source.name + "$" + name);
}

llvm::Value* FunctionTranslation::value_named(const Operand& operand) {
    if (llvm::Value* special = special_register(operand.text)) return special;
    if (registers_.contains(operand.text)) {
        llvm::AllocaInst* own = variable(operand.text);
        return builder.CreateLoad(own->getAllocatedType(), own);
    }
    llvm::Value* place = memory_named(operand.text);
    const Function* function = place ? nullptr : module.find_function(operand.text);
    if (function && !function->is_entry) place = module.declare(*function);
    if (!place) refuse("'" + operand.text + "' is not declared");
    llvm::Value* address = builder.CreatePtrToInt(place, builder.getInt64Ty());
    return builder.CreateAdd(address, builder.getInt64(static_cast<std::uint64_t>(operand.offset)));
}

llvm::APInt converted_bits(const Operand& real, const llvm::fltSemantics& format) {
    llvm::APFloat number(real.width == 32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble(),
                         llvm::APInt(real.width, real.value));
    bool loses = false;
    number.convert(format, llvm::APFloat::rmNearestTiesToEven, &loses);
    return number.bitcastToAPInt();
}

llvm::Value* FunctionTranslation::read(const Operand& operand, Type type) {
    if (type.kind == Type::brain || type.kind == Type::brain_pair) return read_brain(operand, type);
    llvm::Type* wanted = module.type(type);
    if (operand.kind == Operand::integer || operand.kind == Operand::real) {
        llvm::APInt bits(64, operand.value);
        if (operand.kind == Operand::real && operand.width != type.width) {
            llvm::Type* scalar = wanted->getScalarType();
            bits = converted_bits(operand, scalar->isFloatingPointTy() ? scalar->getFltSemantics()
                                                                       : llvm::APFloat::IEEEdouble());
        }
        llvm::Constant* integer = llvm::ConstantInt::get(module.context, bits.zextOrTrunc(type.width));
        return type.kind == Type::predicate ? builder.CreateIsNotNull(integer)
                                            : builder.CreateBitCast(integer, wanted);
    }
    if (operand.kind != Operand::name) refuse("an operand is neither a register nor a number");
    llvm::Value* bits = bits_of(value_named(operand));
    if (type.kind == Type::predicate && !bits->getType()->isIntegerTy(1))
        refuse("'" + operand.text + "' is not a predicate");
    bits = builder.CreateZExtOrTrunc(bits, builder.getIntNTy(type.width));
    if (operand.negated) bits = builder.CreateNot(bits);
    return builder.CreateBitCast(bits, wanted);
}

/// The registers hold bits; decimal numbers and 0f.. are rounded.
llvm::Value* FunctionTranslation::read_brain(const Operand& operand, Type type) {
    if (operand.kind == Operand::real)
        return llvm::ConstantFP::get(
            module.type(type),
            llvm::APFloat(llvm::APFloat::BFloat(), converted_bits(operand, llvm::APFloat::BFloat()))
                .convertToFloat());
    llvm::Value* bits = read(operand, {Type::bits, type.width});
    llvm::Type* half = builder.getInt16Ty();
    llvm::Type* whole = builder.getInt32Ty();
    if (type.kind == Type::brain_pair) {
        half = llvm::FixedVectorType::get(half, 2);
        whole = llvm::FixedVectorType::get(whole, 2);
    }
    bits = builder.CreateZExt(builder.CreateBitCast(bits, half), whole);
    return builder.CreateBitCast(builder.CreateShl(bits, 16), module.type(type));
}

void FunctionTranslation::write(const Operand& operand, llvm::Value* value, bool is_signed) {
    if (operand.kind == Operand::discarded) return;
    llvm::AllocaInst* place = operand.kind == Operand::name ? variable(operand.text) : nullptr;
    if (!place) refuse("a result goes to '" + operand.text + "', which is not a register");
    llvm::Type* type = place->getAllocatedType();
    const unsigned width = type->getPrimitiveSizeInBits().getFixedValue();
    if (width == 0) refuse("'" + operand.text + "' is not a register");
    llvm::Value* bits = bits_of(value);
    bits = is_signed ? builder.CreateSExtOrTrunc(bits, builder.getIntNTy(width))
                     : builder.CreateZExtOrTrunc(bits, builder.getIntNTy(width));
    builder.CreateStore(builder.CreateBitCast(bits, type), place);
}

/// Shared addresses may be 32 bits wide, or were once: what counts is the distance to a variable whose
/// address is known, or to the beginning of the block's shared memory.
llvm::Value* FunctionTranslation::near_shared(llvm::Value* address) {
    llvm::GlobalVariable* known = module.some_shared_variable();
    if (!known && address->getType()->isIntegerTy(64)) return address;
    llvm::Value* base = nullptr;
    if (known) {
        base = builder.CreatePtrToInt(known, builder.getInt64Ty());
    } else {
        auto* type = llvm::FunctionType::get(builder.getInt64Ty(), false);
        base = builder.CreateCall(module.module.getOrInsertFunction("__cudasim_shared_base", type));
    }
    llvm::Value* low = builder.CreateZExtOrTrunc(address, builder.getInt32Ty());
    llvm::Value* distance = builder.CreateSub(low, builder.CreateTrunc(base, builder.getInt32Ty()));
    return builder.CreateAdd(base, builder.CreateSExt(distance, builder.getInt64Ty()));
}

llvm::Value* FunctionTranslation::pointer_of(llvm::Value* address, Space space) {
    const unsigned number = space == Space::global     ? 1
                            : space == Space::shared   ? 3
                            : space == Space::constant ? 4
                                                       : 0;
    if (space == Space::shared) address = near_shared(address);
    return builder.CreateIntToPtr(address, llvm::PointerType::get(module.context, number));
}

llvm::Value* FunctionTranslation::pointer(const Operand& address, Space space) {
    if (address.kind != Operand::address) refuse("an address in [brackets] is missing");
    const Operand& base = address.elements[0];
    llvm::Value* offset = builder.getInt64(static_cast<std::uint64_t>(address.offset));
    if (base.kind == Operand::name) {
        if (llvm::Value* place = memory_named(base.text))
            return builder.CreateGEP(builder.getInt8Ty(), place, offset);
        const llvm::AllocaInst* own = variable(base.text);
        if (own && own->getAllocatedType()->isIntegerTy(32)) {
            llvm::Value* low = builder.CreateAdd(
                read(base, u32), builder.getInt32(static_cast<std::uint32_t>(address.offset)));
            return pointer_of(low, space);
        }
    }
    return pointer_of(builder.CreateAdd(read(base, u64), offset), space);
}

bool InstructionContext::has(std::string_view modifier) const {
    for (std::size_t i = 1; i < instruction.opcode.size(); ++i)
        if (instruction.opcode[i] == modifier) return true;
    return false;
}

llvm::SyncScope::ID sync_scope(const InstructionContext& at, image::Scope otherwise) {
    const image::Scope scope = at.has("cta")       ? image::Scope::block
                               : at.has("cluster") ? image::Scope::cluster
                               : at.has("gpu")     ? image::Scope::device
                               : at.has("sys")     ? image::Scope::system
                                                   : otherwise;
    return image::sync_scope(at.function.module.context, scope);
}

Type InstructionContext::type(unsigned skip) const {
    for (std::size_t i = instruction.opcode.size(); i-- > 1;) {
        const auto type = type_named(instruction.opcode[i]);
        if (type && skip-- == 0) return *type;
    }
    function.refuse("'" + shown() + "' lacks a type");
}

const Operand& InstructionContext::operand(std::size_t i) const {
    if (i >= instruction.operands.size()) function.refuse("'" + shown() + "' lacks an operand");
    return instruction.operands[i];
}

namespace {

/// What moves or changes bits keeps those of a NaN; a result of arithmetic in f16 is the canonical one.
llvm::Value* with_canonical_nan(llvm::IRBuilder<>& b, const std::string& opcode, llvm::Value* value) {
    constexpr std::string_view arithmetic[] = {"add", "sub", "mul", "fma", "min", "max", "ex2", "tanh"};
    if (!value->getType()->getScalarType()->isHalfTy() ||
        std::find(std::begin(arithmetic), std::end(arithmetic), opcode) == std::end(arithmetic))
        return value;
    llvm::Constant* nan = llvm::ConstantFP::get(
        value->getType(), llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, 0x7FFF)));
    return b.CreateSelect(b.CreateFCmpUNO(value, value), nan, value);
}

}  // namespace

void InstructionContext::write(llvm::Value* value, bool is_signed) const {
    value = with_canonical_nan(b, instruction.opcode[0], flushed(value));
    for (const std::string& part : instruction.opcode) {
        const auto result = type_named(part);
        if (!result) continue;
        const bool is_brain = result->kind == Type::brain || result->kind == Type::brain_pair;
        if (is_brain && value->getType()->getScalarType()->isFloatTy()) value = brain_of(b, value);
        break;
    }
    function.write(operand(0), value, is_signed);
}

llvm::Value* InstructionContext::flushed(llvm::Value* value) const {
    llvm::Type* type = value->getType();
    llvm::Type* number = type->getScalarType();
    if (!has("ftz") || !(number->isFloatTy() || number->isHalfTy())) return value;
    llvm::Value* zero =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::getZero(type), value);
    return b.CreateSelect(b.createIsFPClass(value, llvm::fcSubnormal), zero, value);
}

std::string InstructionContext::shown() const {
    std::string text;
    for (const std::string& part : instruction.opcode) text += (text.empty() ? "" : ".") + part;
    return text;
}

void InstructionContext::refuse() const {
    function.refuse("'" + shown() + "' is not supported");
}

llvm::CallInst* InstructionContext::call(const char* name, llvm::Type* result,
                                         llvm::ArrayRef<llvm::Value*> arguments) const {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    return b.CreateCall(
        function.module.module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
        arguments);
}

}  // namespace cudasim::ptx
