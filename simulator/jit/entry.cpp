// Builds the block runner (E1): the kernel's body inside a loop over threads [context.thread, context.end).
//
//   entry ─► first (tid of context.thread) ─► thread ─► body ... ─► next ─► thread (while thread <
//   context.end)
//                                                                     └──► exit
//
// The loop keeps tid in registers and writes it to the context before each thread, tid.y and tid.z only when
// they change; the optimiser moves all but `thread` to the calls that need them. The body's local variables
// move to the entry, so all threads of a runner share their slots. Where threads can run in groups
// (thread_groups.h), `thread` calls their function first, and goes on behind the threads that are over.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>

#include <array>

#include "simulator/jit/function_context.h"
#include "simulator/jit/local_variables.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/parameter_buffer.h"
#include "simulator/jit/statement_stops.h"
#include "simulator/jit/thread_groups.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class EntryBuilder {
  public:
    EntryBuilder(Compilation& compilation, Function* groups)
        : compilation_(compilation),
          body_(*compilation.kernel),
          groups_(groups),
          builder_(*compilation.context) {}

    Function* entry() { return entry_; }

    ThreadLoop build() {
        declare();
        load_constants();
        first_coordinates();
        open_loop();
        if (groups_) run_groups();
        begin_thread();
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
        if (!compilation_.description->parameters.empty()) {
            buffer = head.block_field(offsetof(BlockContext, parameters),
                                      PointerType::get(*compilation_.context, 0));
        }
        builder_.SetInsertPoint(start_->getTerminator());
        mark_parameters_invariant(compilation_);
        unsigned number = body_parameters;
        for (Value* value : parameter_values(compilation_, builder_, buffer)) {
            Argument* argument = body_.getArg(number++);
            if (isa<LoadInst>(value)) value->takeName(argument);
            argument->replaceAllUsesWith(value);
        }
        start_->getTerminator()->eraseFromParent();
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
    }

    /// Where groups are (thread_groups.h), the loop's head runs as many as it can. `alone` counts the threads
    /// that are to run one by one before groups are tried again: those at the end of a row, or, when a group
    /// gives up, `patience`, twice as many each time.
    void run_groups() {
        Type* word = builder_.getInt32Ty();
        auto *groups = block("groups"), *single = block("single");
        PHINode* alone = builder_.CreatePHI(word, 2, "alone");
        PHINode* patience = builder_.CreatePHI(word, 2, "patience");
        alone->addIncoming(builder_.getInt32(0), first_);
        patience->addIncoming(builder_.getInt32(threads_per_group), first_);
        builder_.CreateCondBr(builder_.CreateICmpEQ(alone, builder_.getInt32(0)), groups, single);
        builder_.SetInsertPoint(groups);
        Value* result = builder_.CreateCall(
            groups_, {entry_->getArg(0), current_[0], current_[1], current_[2], current_[3]});
        Value* over = builder_.CreateAnd(result, builder_.getInt32(group_gave_up - 1));
        Value* gave_up = builder_.CreateICmpNE(result, over);
        Value* rest_of_row = builder_.CreateSub(builder_.CreateSub(extent_[0], current_[0]), over);
        Value* new_alone = builder_.CreateSelect(gave_up, patience, rest_of_row);
        Value* twice = builder_.CreateBinaryIntrinsic(Intrinsic::uadd_sat, patience, patience);
        Value* new_patience = builder_.CreateSelect(gave_up, twice, patience);
        next_ = block("next");
        after_ = block("after");
        builder_.CreateCondBr(builder_.CreateICmpEQ(over, builder_.getInt32(0)), single, next_);
        builder_.SetInsertPoint(single);
        PHINode* alone_now = builder_.CreatePHI(word, 2);
        PHINode* patience_now = builder_.CreatePHI(word, 2);
        alone_now->addIncoming(alone, loop_);
        alone_now->addIncoming(new_alone, groups);
        patience_now->addIncoming(patience, loop_);
        patience_now->addIncoming(new_patience, groups);
        builder_.SetInsertPoint(after_);
        Value* one_less =
            builder_.CreateBinaryIntrinsic(Intrinsic::usub_sat, alone_now, builder_.getInt32(1));
        builder_.CreateBr(next_);
        builder_.SetInsertPoint(next_);
        const auto join = [&](Value* from_groups, Value* from_thread) {
            PHINode* phi = builder_.CreatePHI(word, 2);
            phi->addIncoming(from_groups, groups);
            phi->addIncoming(from_thread, after_);
            return phi;
        };
        step_ = join(over, builder_.getInt32(1));
        groups_state_ = {{alone, join(new_alone, one_less)}, {patience, join(new_patience, patience_now)}};
        builder_.SetInsertPoint(single);
    }

    void begin_thread() {
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
        if (!groups_) next_ = after_ = block("next");
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
        entry_->splice(after_->getIterator(), &body_);
        builder_.CreateBr(body_head);
        for (Instruction& instruction : make_early_inc_range(instructions(*entry_))) {
            auto* end = dyn_cast<ReturnInst>(&instruction);
            if (!end) continue;
            auto* jump = BranchInst::Create(after_, end->getIterator());
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
        Value* distance = step_ ? step_ : builder_.getInt32(1);
        Value* thread = builder_.CreateAdd(current_[3], distance);
        Value* x = builder_.CreateAdd(current_[0], distance);
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
        for (const auto& [phi, value] : groups_state_) phi->addIncoming(value, again);
        builder_.CreateBr(loop_);
        builder_.SetInsertPoint(exit_);
        builder_.CreateRetVoid();
    }

    Compilation& compilation_;
    Function& body_;
    Function* groups_;
    IRBuilder<> builder_;
    Function* entry_ = nullptr;
    BasicBlock *start_ = nullptr, *first_ = nullptr, *loop_ = nullptr, *next_ = nullptr, *exit_ = nullptr;
    BasicBlock* after_ = nullptr;  ///< behind the body
    Value* step_ = nullptr;        ///< threads that one turn of the loop has run; null: one
    std::vector<std::pair<PHINode*, Value*>> groups_state_;
    Value* block_ = nullptr;
    std::array<Value*, 3> extent_{};
    std::array<Value*, 4> initial_{};
    std::array<PHINode*, 4> current_{};
};

/// Loads from a parameter's buffer, at constant distances after SROA.
void mark_invariant(Value& address) {
    for (User* user : address.users()) {
        if (isa<GetElementPtrInst>(user)) mark_invariant(*user);
        if (auto* load = dyn_cast<LoadInst>(user))
            load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
    }
}

}  // namespace

void mark_parameters_invariant(Compilation& compilation) {
    for (unsigned i = 0; i < compilation.by_value.size(); ++i)
        if (compilation.by_value[i]) mark_invariant(*compilation.kernel->getArg(i + body_parameters));
}

std::vector<Value*> parameter_values(const Compilation& compilation, IRBuilderBase& builder, Value* buffer) {
    std::vector<Value*> values;
    const auto& parameters = compilation.description->parameters;
    for (unsigned i = 0; i < parameters.size(); ++i) {
        const image::Parameter& parameter = parameters[i];
        values.push_back(builder.CreateConstGEP1_64(builder.getInt8Ty(), buffer, parameter.offset));
        if (compilation.by_value[i]) continue;
        const Align alignment(std::min<std::uint64_t>(parameter.alignment, parameter_buffer_alignment));
        Type* type = compilation.kernel->getArg(i + body_parameters)->getType();
        LoadInst* value = builder.CreateAlignedLoad(type, values.back(), alignment);
        value->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(*compilation.context, {}));
        values.back() = value;
    }
    return values;
}

ThreadLoop build_entry(Compilation& compilation, Function* groups) {
    EntryBuilder builder(compilation, groups);
    const ThreadLoop loop = builder.build();
    compilation.kernel = builder.entry();
    return loop;
}

}  // namespace cudasim::jit
