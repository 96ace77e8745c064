// Builds the block runner (E1): the kernel's body inside a loop over threads [context.thread, context.end).
//
//   entry ─► first (tid of context.thread) ─► thread ─► body ... ─► next ─► thread (while thread <
//   context.end)
//                                                                     └──► exit
//
// The loop keeps tid in registers and writes it to the context before each thread, tid.y and tid.z only when
// they change; the optimiser moves all but `thread` to the calls that need them. The body's local variables
// move to the entry, so all threads of a runner share their slots.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>

#include <array>

#include "simulator/jit/function_context.h"
#include "simulator/jit/local_variables.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/parameter_buffer.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class EntryBuilder {
  public:
    explicit EntryBuilder(Compilation& compilation)
        : compilation_(compilation), body_(*compilation.kernel), builder_(*compilation.context) {}

    Function* entry() { return entry_; }

    ThreadLoop build() {
        declare();
        load_constants();
        first_coordinates();
        open_loop();
        share_block();
        move_body();
        close_loop();
        return {loop_, next_, current_[3]};
    }

  private:
    BasicBlock* block(const char* name) { return BasicBlock::Create(*compilation_.context, name, entry_); }
    Value* context_field(unsigned offset) {
        return builder_.CreateConstGEP1_32(builder_.getInt8Ty(), entry_->getArg(0), offset);
    }
    Value* load(unsigned offset) { return builder_.CreateLoad(builder_.getInt32Ty(), context_field(offset)); }
    void store(Value* value, unsigned offset) { builder_.CreateStore(value, context_field(offset)); }

    void declare() {
        auto* pointer = PointerType::get(*compilation_.context, 0);
        auto* type = FunctionType::get(builder_.getVoidTy(), {pointer}, false);
        entry_ = Function::Create(type, GlobalValue::ExternalLinkage, "cudasim_entry", *compilation_.module);
        entry_->setDoesNotThrow();
        entry_->addFnAttr(Attribute::NullPointerIsValid);
        entry_->addParamAttr(0, Attribute::NoAlias);
        entry_->addParamAttr(
            0, Attribute::get(*compilation_.context, Attribute::Dereferenceable, sizeof(ThreadContext)));
        entry_->addParamAttr(0, Attribute::getWithAlignment(*compilation_.context, Align(8)));
        entry_->getArg(0)->setName("context");
        entry_->setSubprogram(body_.getSubprogram());
        body_.setSubprogram(nullptr);
        start_ = block("entry");
    }

    /// Block extents and the kernel's parameters, before the loop.
    void load_constants() {
        builder_.SetInsertPoint(start_);
        builder_.CreateUnreachable();
        FunctionContext head(*entry_);
        block_ = head.block();
        for (unsigned axis = 0; axis < 3; ++axis) {
            extent_[axis] = head.block_field(offsetof(BlockContext, ntid) + 4 * axis, builder_.getInt32Ty());
        }
        Value* buffer = nullptr;
        const auto& parameters = compilation_.description->parameters;
        if (!parameters.empty()) {
            buffer = head.block_field(offsetof(BlockContext, parameters),
                                      PointerType::get(*compilation_.context, 0));
        }
        builder_.SetInsertPoint(start_->getTerminator());
        for (unsigned i = 0; i < parameters.size(); ++i) {
            Argument* argument = body_.getArg(i + body_parameters);
            Value* address = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), buffer, parameters[i].offset);
            if (compilation_.by_value[i]) {
                mark_invariant(*argument);
                argument->replaceAllUsesWith(address);
            } else {
                argument->replaceAllUsesWith(load_parameter(*argument, address, parameters[i]));
            }
        }
        start_->getTerminator()->eraseFromParent();
    }

    /// The buffer of a parameter passed by value is only read, at constant distances after SROA.
    void mark_invariant(Value& address) {
        for (User* user : address.users()) {
            if (isa<GetElementPtrInst>(user)) mark_invariant(*user);
            if (auto* load = dyn_cast<LoadInst>(user)) {
                load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
            }
        }
    }

    Value* load_parameter(Argument& argument, Value* address, const image::Parameter& parameter) {
        const Align alignment(std::min<std::uint64_t>(parameter.alignment, parameter_buffer_alignment));
        auto* value = builder_.CreateAlignedLoad(argument.getType(), address, alignment);
        value->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(*compilation_.context, {}));
        value->takeName(&argument);
        return value;
    }

    void first_coordinates() {
        builder_.SetInsertPoint(start_);
        auto* divide = block("first.divide");
        auto* first = block("first");
        exit_ = block("exit");
        Value* thread = load(offsetof(ThreadContext, thread));
        auto* any = block("any");
        builder_.CreateCondBr(builder_.CreateICmpULT(thread, load(offsetof(ThreadContext, end))), any, exit_);
        builder_.SetInsertPoint(any);
        builder_.CreateCondBr(builder_.CreateICmpEQ(thread, builder_.getInt32(0)), first, divide);
        builder_.SetInsertPoint(divide);
        Value* x = builder_.CreateURem(thread, extent_[0]);
        Value* row = builder_.CreateUDiv(thread, extent_[0]);
        Value* y = builder_.CreateURem(row, extent_[1]);
        Value* z = builder_.CreateUDiv(row, extent_[1]);
        builder_.CreateBr(first);
        builder_.SetInsertPoint(first);
        auto choose = [&](Value* divided) {
            auto* phi = builder_.CreatePHI(builder_.getInt32Ty(), 2);
            phi->addIncoming(builder_.getInt32(0), any);
            phi->addIncoming(divided, divide);
            return phi;
        };
        initial_ = {choose(x), choose(y), choose(z), thread};
        store(initial_[1], offsetof(ThreadContext, tid) + 4);
        store(initial_[2], offsetof(ThreadContext, tid) + 8);
        first_ = first;
    }

    void open_loop() {
        loop_ = block("thread");
        builder_.CreateBr(loop_);
        builder_.SetInsertPoint(loop_);
        for (unsigned i = 0; i < 4; ++i) {
            current_[i] = builder_.CreatePHI(builder_.getInt32Ty(), 2);
            current_[i]->addIncoming(initial_[i], first_);
            body_.getArg(i + 1)->replaceAllUsesWith(current_[i]);
        }
        store(current_[0], offsetof(ThreadContext, tid));
        // Volatile: a fault that only the CPU notices must find the right thread here.
        builder_.CreateStore(current_[3], context_field(offsetof(ThreadContext, thread)), true);
        if (compilation_.options.instrumentations.contains(statement_stops()))
            take_stop_flags(builder_, entry_->getArg(0), current_[3]);
        body_.getArg(0)->replaceAllUsesWith(entry_->getArg(0));
    }

    /// The body's block is the one loaded in front of the loop, of which is known that all its fields may be
    /// read: then they are hoisted, too. A load hoisted from the body would no longer say so, because nothing
    /// shows that the body is run for every thread.
    void share_block() {
        for (Instruction& instruction : make_early_inc_range(instructions(body_))) {
            auto* load = dyn_cast<LoadInst>(&instruction);
            if (!load || !load->hasMetadata(LLVMContext::MD_invariant_load) ||
                load->getType() != block_->getType())
                continue;
            APInt offset(64, 0);
            const Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
                entry_->getDataLayout(), offset, /*AllowNonInbounds=*/true);
            if (base != entry_->getArg(0) || offset != offsetof(ThreadContext, block)) continue;
            load->replaceAllUsesWith(block_);
            load->eraseFromParent();
        }
    }

    void move_body() {
        next_ = block("next");
        BasicBlock* body_head = &body_.getEntryBlock();
        std::vector<AllocaInst*> locals;
        for (Instruction& instruction : *body_head) {
            auto* local = dyn_cast<AllocaInst>(&instruction);
            if (local && local->isStaticAlloca()) locals.push_back(local);
        }
        for (auto* local : locals) {
            local->moveBefore(*start_, start_->begin());
            if (const auto offset = offset_of_record(*local)) begin_record(*local, *offset);
        }
        entry_->splice(next_->getIterator(), &body_);
        builder_.CreateBr(body_head);
        for (Instruction& instruction : make_early_inc_range(instructions(*entry_))) {
            auto* end = dyn_cast<ReturnInst>(&instruction);
            if (!end) continue;
            auto* jump = BranchInst::Create(next_, end->getIterator());
            jump->setDebugLoc(end->getDebugLoc());
            end->eraseFromParent();
        }
        body_.eraseFromParent();
    }

    /// The first thread of the loop stores the kernel's parameters in its record.
    void begin_record(AllocaInst& memory, std::uint64_t offset) {
        IRBuilder<> builder(start_->getTerminator());
        Value* place = builder.CreateConstGEP1_64(builder.getInt8Ty(), &memory,
                                                  offset + offsetof(FrameRecord, keeps_parameters));
        mark_internal(*builder.CreateStore(builder.getInt32(0), place));
    }

    void close_loop() {
        auto* carry = block("carry");
        auto* again = block("again");
        builder_.SetInsertPoint(next_);
        Value* thread = builder_.CreateAdd(current_[3], builder_.getInt32(1));
        Value* x = builder_.CreateAdd(current_[0], builder_.getInt32(1));
        auto* step = block("step");
        builder_.CreateCondBr(builder_.CreateICmpULT(thread, load(offsetof(ThreadContext, end))), step, exit_,
                              MDBuilder(*compilation_.context).createLikelyBranchWeights());
        builder_.SetInsertPoint(step);
        builder_.CreateCondBr(builder_.CreateICmpEQ(x, extent_[0]), carry, again,
                              MDBuilder(*compilation_.context).createBranchWeights(1, 31));
        builder_.SetInsertPoint(carry);
        Value* y = builder_.CreateAdd(current_[1], builder_.getInt32(1));
        Value* wraps = builder_.CreateICmpEQ(y, extent_[1]);
        Value* carried_y = builder_.CreateSelect(wraps, builder_.getInt32(0), y);
        Value* carried_z = builder_.CreateAdd(current_[2], builder_.CreateZExt(wraps, builder_.getInt32Ty()));
        store(carried_y, offsetof(ThreadContext, tid) + 4);
        store(carried_z, offsetof(ThreadContext, tid) + 8);
        builder_.CreateBr(again);
        builder_.SetInsertPoint(again);
        auto join = [&](Value* stays, Value* carried) {
            auto* phi = builder_.CreatePHI(builder_.getInt32Ty(), 2);
            phi->addIncoming(stays, step);
            phi->addIncoming(carried, carry);
            return phi;
        };
        current_[0]->addIncoming(join(x, builder_.getInt32(0)), again);
        current_[1]->addIncoming(join(current_[1], carried_y), again);
        current_[2]->addIncoming(join(current_[2], carried_z), again);
        current_[3]->addIncoming(thread, again);
        builder_.CreateBr(loop_);
        builder_.SetInsertPoint(exit_);
        builder_.CreateRetVoid();
    }

    Compilation& compilation_;
    Function& body_;
    IRBuilder<> builder_;
    Function* entry_ = nullptr;
    BasicBlock *start_ = nullptr, *first_ = nullptr, *loop_ = nullptr, *next_ = nullptr, *exit_ = nullptr;
    Value* block_ = nullptr;
    std::array<Value*, 3> extent_{};
    std::array<Value*, 4> initial_{};
    std::array<PHINode*, 4> current_{};
};

}  // namespace

ThreadLoop build_entry(Compilation& compilation) {
    EntryBuilder builder(compilation);
    const ThreadLoop loop = builder.build();
    compilation.kernel = builder.entry();
    return loop;
}

}  // namespace cudasim::jit
