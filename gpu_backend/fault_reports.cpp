// See fault_reports.h. Each failing check is a branch to a block of its own that calls one function of the
// module and ends:
//
//   kernel ──likely──► go on
//     └─► call __cudasim_report_fault(site, arguments...); unreachable
#include "gpu_backend/fault_reports.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gpu_backend/ptx.h"
#include "simulator/findings/messages.h"
#include "simulator/image/declared_checks.h"
#include "simulator/image/defined_arithmetic.h"
#include "simulator/image/source_names.h"

namespace cudasim::gpu_backend {
namespace {

using findings::FindingKind;
using llvm::Value;

enum class Check {
#define CHECK(identifier, symbol, type, gpu) identifier,
#include "simulator/image/checks.def"
#undef CHECK
};

struct Row {
    Check check;
    std::string_view identifier, symbol, type;
};

constexpr std::array rows{
#define CHECK(identifier, symbol, type, gpu) Row{Check::identifier, #identifier, symbol, type},
#include "simulator/image/checks.def"
#undef CHECK
};

constexpr const char* reporter_name = "__cudasim_report_fault";

/// The number of the thread as fault_slots.h counts them.
Value* thread_number(llvm::IRBuilder<>& builder) {
    namespace Intrinsic = llvm::Intrinsic;
    const auto read = [&](Intrinsic::ID id) {
        return builder.CreateZExt(builder.CreateIntrinsic(id, {}, {}), builder.getInt64Ty());
    };
    const auto linear = [&](std::array<Intrinsic::ID, 3> index, Value* width, Value* height) {
        Value* row = builder.CreateAdd(builder.CreateMul(read(index[2]), height), read(index[1]));
        return builder.CreateAdd(builder.CreateMul(row, width), read(index[0]));
    };
    Value* block =
        linear({Intrinsic::nvvm_read_ptx_sreg_ctaid_x, Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
               read(Intrinsic::nvvm_read_ptx_sreg_nctaid_x), read(Intrinsic::nvvm_read_ptx_sreg_nctaid_y));
    Value* width = read(Intrinsic::nvvm_read_ptx_sreg_ntid_x);
    Value* height = read(Intrinsic::nvvm_read_ptx_sreg_ntid_y);
    Value* thread = linear({Intrinsic::nvvm_read_ptx_sreg_tid_x, Intrinsic::nvvm_read_ptx_sreg_tid_y,
                            Intrinsic::nvvm_read_ptx_sreg_tid_z},
                           width, height);
    Value* size =
        builder.CreateMul(builder.CreateMul(width, height), read(Intrinsic::nvvm_read_ptx_sreg_ntid_z));
    // A block has 1024 threads at most: the product cannot overflow.
    const auto at_most = [&](Value* value, std::uint64_t most) {
        return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, builder.getInt64(most));
    };
    block = at_most(block, fault_thread_mask >> 10);
    return at_most(builder.CreateAdd(builder.CreateMul(block, size), thread), fault_thread_mask - 1);
}

/// The place and where it was inlined, innermost first; the head of the function without debug information.
/// The simulator makes places by the same rule (simulator/jit/source_places.h).
findings::CallChain place_of(const llvm::Instruction& at) {
    findings::CallChain chain;
    for (const llvm::DILocation* place = at.getDebugLoc().get(); place; place = place->getInlinedAt()) {
        const llvm::DISubprogram* function = place->getScope()->getSubprogram();
        chain.push_back({image::path_of(place->getFile()), image::name_of(function), place->getLine(),
                         place->getColumn()});
    }
    chain = findings::without_own_code(std::move(chain));
    const llvm::DISubprogram* function = at.getFunction()->getSubprogram();
    if (chain.empty() && function)
        chain.push_back(
            {image::path_of(function->getFile()), image::name_of(function), function->getLine(), 0});
    return chain;
}

class Reporter {
  public:
    Reporter(llvm::Module& module, const PtxOptions& options) : module_(module), options_(options) {
        if (const auto* list = module.getNamedMetadata("cudasim.exceptions")) {
            for (const llvm::MDNode* entry : list->operands()) {
                const auto text = [&](unsigned index) {
                    const auto* string =
                        index < entry->getNumOperands()
                            ? llvm::dyn_cast_or_null<llvm::MDString>(entry->getOperand(index).get())
                            : nullptr;
                    return string ? string->getString().str() : std::string();
                };
                exceptions_.emplace_back(text(0), text(1));
            }
        }
        llvm::SmallVector<llvm::Type*> types(fault_arguments, llvm::Type::getInt64Ty(module.getContext()));
        types.insert(types.begin(), llvm::Type::getInt32Ty(module.getContext()));
        reporter_ = llvm::Function::Create(
            llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), types, false),
            llvm::GlobalValue::InternalLinkage, reporter_name, module);
        reporter_->setDoesNotReturn();
        reporter_->setDoesNotThrow();
        reporter_->setConvergent();
        reporter_->addFnAttr(llvm::Attribute::NoInline);
        reporter_->addFnAttr(llvm::Attribute::Cold);
    }

    std::vector<FaultSite> run() {
        report_divisions();
        for (const Row& row : rows) report_checks(row);
        if (sites_.empty())
            reporter_->eraseFromParent();
        else
            write_reporter();
        return std::move(sites_);
    }

  private:
    void report_divisions() {
        for (llvm::Function& function : module_) {
            std::vector<llvm::Instruction*> divisions;
            for (llvm::Instruction& instruction : llvm::instructions(function))
                if (image::is_division(instruction)) divisions.push_back(&instruction);
            for (llvm::Instruction* division : divisions)
                for (llvm::Instruction* part : image::scalarised(*division)) report_division(*part);
        }
    }

    void report_division(llvm::Instruction& division) {
        if (!image::is_division(division)) return;
        Value* divisor = division.getOperand(1);
        const auto* known = llvm::dyn_cast<llvm::ConstantInt>(divisor);
        if (known && !known->isZero()) return;
        llvm::IRBuilder<> builder(&division);
        Value* is_zero = builder.CreateICmpEQ(divisor, llvm::ConstantInt::get(divisor->getType(), 0));
        fail_if(is_zero, division, site(FindingKind::integer_division, "integer_division", division));
    }

    void report_checks(const Row& row) {
        llvm::Function* declared = module_.getFunction(llvm::StringRef(row.symbol.data(), row.symbol.size()));
        if (!declared) return;
        for (llvm::User* user : llvm::make_early_inc_range(declared->users())) {
            // expand_checks() refuses other uses.
            if (llvm::CallInst* call = image::declared_check_call(*user, row.symbol, row.type))
                report_check(row, *call);
        }
    }

    void report_check(const Row& row, llvm::CallInst& call) {
        switch (row.check) {
            case Check::check_index:
                return report_index(row, call);
            case Check::check_unsigned_index: {
                llvm::IRBuilder<> builder(&call);
                Value* index = call.getArgOperand(0);
                fail_at_index(builder.CreateICmpUGE(index, call.getArgOperand(1)), row, call);
                call.replaceAllUsesWith(index);
                break;
            }
            case Check::check_float_division:
                if (!options_.raise_float_division) return;
                fail_if(call.getArgOperand(0), call, site(FindingKind::float_division, row.identifier, call));
                break;
            case Check::check_assigned: {
                llvm::IRBuilder<> builder(&call);
                fail_if(builder.CreateNot(call.getArgOperand(0)), call, exception_site(row, call, 1));
                break;
            }
            case Check::raise: {
                llvm::IRBuilder<> builder(&call);
                report(builder, exception_site(row, call, 0), {});
                break;
            }
            case Check::breakpoint:
                return;
        }
        call.eraseFromParent();
    }

    void report_index(const Row& row, llvm::CallInst& call) {
        llvm::IRBuilder<> builder(&call);
        Value* index = call.getArgOperand(0);
        Value* size = call.getArgOperand(1);
        Value* is_negative = builder.CreateICmpSLT(index, builder.getInt64(0));
        Value* element = builder.CreateSelect(is_negative, builder.CreateAdd(index, size), index);
        fail_at_index(builder.CreateICmpUGE(element, size), row, call);
        if (options_.raise_negative_index && !call.hasMetadata(image::meant_mark))
            fail_if(is_negative, call, index_site(FindingKind::negative_index, row, call),
                    llvm::SmallVector<Value*>(call.args()));
        call.replaceAllUsesWith(element);
        call.eraseFromParent();
    }

    void fail_at_index(Value* failed, const Row& row, llvm::CallInst& call) {
        fail_if(failed, call, index_site(FindingKind::out_of_bounds_index, row, call),
                llvm::SmallVector<Value*>(call.args()));
    }

    /// A site whose message does not depend on arguments.
    FaultSite site(FindingKind kind, std::string_view check, const llvm::Instruction& at) const {
        FaultSite result;
        result.kind = kind;
        result.check = check;
        result.exception_type = findings::info(kind).python_exception;
        result.message = findings::message_of(kind);
        result.location = place_of(at);
        result.arguments.fill(0);
        return result;
    }

    FaultSite index_site(FindingKind kind, const Row& row, const llvm::CallInst& call) const {
        FaultSite result = site(kind, row.identifier, call);
        result.message.clear();
        for (unsigned i = 0; i < fault_arguments; ++i) {
            const auto* known = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(i));
            result.arguments[i] =
                known ? std::optional(static_cast<std::uint64_t>(known->getSExtValue())) : std::nullopt;
        }
        return result;
    }

    FaultSite exception_site(const Row& row, const llvm::CallInst& call, unsigned operand) const {
        FaultSite result = site(FindingKind::kernel_exception, row.identifier, call);
        const auto* number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(operand));
        if (!number || number->getZExtValue() >= exceptions_.size()) {
            throw PtxError(PtxError::Code::unsupported_code,
                           std::string(row.symbol) + " names no entry of !cudasim.exceptions");
        }
        std::tie(result.exception_type, result.message) = exceptions_[number->getZExtValue()];
        return result;
    }

    void fail_if(Value* failed, llvm::Instruction& at, FaultSite site,
                 llvm::ArrayRef<Value*> arguments = {}) {
        auto* unlikely = llvm::MDBuilder(module_.getContext()).createUnlikelyBranchWeights();
        llvm::IRBuilder<> builder(
            llvm::SplitBlockAndInsertIfThen(failed, at.getIterator(), /*Unreachable=*/true, unlikely));
        builder.SetCurrentDebugLocation(at.getDebugLoc());
        report(builder, std::move(site), arguments);
    }

    void report(llvm::IRBuilder<>& builder, FaultSite site, llvm::ArrayRef<Value*> arguments) {
        llvm::SmallVector<Value*> all{builder.getInt32(static_cast<std::uint32_t>(sites_.size()))};
        for (Value* argument : arguments)
            all.push_back(builder.CreateSExtOrTrunc(argument, builder.getInt64Ty()));
        all.resize(1 + fault_arguments, builder.getInt64(0));
        llvm::CallInst* call = builder.CreateCall(reporter_, all);
        call->setDoesNotReturn();
        call->addFnAttr(llvm::Attribute::NoMerge);
        sites_.push_back(std::move(site));
    }

    void write_reporter() {
        auto& context = module_.getContext();
        auto* word = llvm::Type::getInt64Ty(context);
        auto* slot = llvm::ArrayType::get(word, sizeof(FaultSlot) / sizeof(std::uint64_t));
        auto* slots = llvm::ArrayType::get(slot, sites_.size());
        auto* variable = new llvm::GlobalVariable(
            module_, slots, false, llvm::GlobalValue::ExternalLinkage, llvm::Constant::getNullValue(slots),
            fault_variable, nullptr, llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
        variable->setAlignment(llvm::Align(8));
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", reporter_));
        const auto place = [&](unsigned index) {
            return builder.CreateInBoundsGEP(
                slots, variable, {builder.getInt32(0), reporter_->getArg(0), builder.getInt32(index)});
        };
        const auto update = [&](llvm::AtomicRMWInst::BinOp operation, unsigned index, Value* value) {
            return builder.CreateAtomicRMW(operation, place(index), value, llvm::Align(8),
                                           llvm::AtomicOrdering::Monotonic,
                                           context.getOrInsertSyncScopeID("device"));
        };
        update(llvm::AtomicRMWInst::Add, 0, builder.getInt64(1));
        Value* mine = builder.CreateShl(
            builder.CreateSub(builder.getInt64(fault_thread_mask), thread_number(builder)), fault_piece_bits);
        const auto piece = [&](unsigned argument, unsigned number) {
            Value* value = reporter_->getArg(1 + argument);
            Value* bits = builder.CreateAnd(builder.CreateLShr(value, number * fault_piece_bits),
                                            builder.getInt64((1U << fault_piece_bits) - 1));
            return builder.CreateOr(mine, bits);
        };
        // Where a lower thread has been here, its words stay. A word is complete by itself, so that no order
        // between them is needed.
        Value* before = update(llvm::AtomicRMWInst::UMax, 1, piece(0, 0));
        auto* lowest = llvm::BasicBlock::Create(context, "lowest", reporter_);
        auto* end = llvm::BasicBlock::Create(context, "end", reporter_);
        builder.CreateCondBr(builder.CreateICmpUGT(before, mine), end, lowest);
        builder.SetInsertPoint(lowest);
        for (unsigned i = 1; i < fault_arguments * fault_pieces; ++i)
            update(llvm::AtomicRMWInst::UMax, 1 + i, piece(i / fault_pieces, i % fault_pieces));
        builder.CreateBr(end);
        builder.SetInsertPoint(end);
        builder.CreateIntrinsic(llvm::Intrinsic::nvvm_exit, {}, {});
        builder.CreateUnreachable();
    }

    llvm::Module& module_;
    const PtxOptions& options_;
    llvm::Function* reporter_ = nullptr;
    std::vector<std::pair<std::string, std::string>> exceptions_;  ///< class and message
    std::vector<FaultSite> sites_;
};

}  // namespace

std::vector<FaultSite> report_faults(llvm::Module& module, const PtxOptions& options) {
    return Reporter(module, options).run();
}

}  // namespace cudasim::gpu_backend
