// See coroutine.h. Local arrays move to the thread's frame. Which values a thread needs after a barrier is
// plain liveness on SSA. What takes few instructions to compute from the thread's index and from what is the
// same for all threads, which was hoisted out of the loop before, is computed again behind the barrier. Each
// other value has a slot of its own in the thread's frame and is saved where that happens least often: where
// it is computed, or at the barriers it lives across.
#include "simulator/jit/coroutine.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Local arrays included. Beyond this a frame is no cheaper than a stack.
constexpr std::uint64_t largest_frame = 16384;
constexpr std::uint64_t frame_alignment = 16;

/// A barrier or warp operation: `before` ends in the call's place, `resume` leads to what follows it.
struct Barrier {
    CallInst* call;
    BasicBlock* before = nullptr;
    BasicBlock* after = nullptr;
    BasicBlock* resume = nullptr;
    ResumePoint point;
    LoadInst* result = nullptr;  ///< stands for the call's
    std::uint64_t frequency = 1;
};

/// A value that lives across barriers.
struct Saved {
    Instruction* value;
    std::vector<std::size_t> barriers;  ///< indices
    std::uint64_t offset = 0;
    bool where_computed = false;                ///< saved there, not at each barrier
    bool recomputed = false;                    ///< not saved, but computed again behind each barrier
    std::map<std::size_t, Value*> behind = {};  ///< what it is there, by barrier
};

/// Instructions that are computed again instead of a value's being loaded: a store and a load cost about as
/// much, and memory besides.
constexpr unsigned longest_computation = 4;

/// May be computed once more, at no more than an instruction's cost.
bool is_cheap(const Instruction& value) {
    if (const auto* operation = dyn_cast<BinaryOperator>(&value))
        return !operation->isIntDivRem() && operation->getType()->isIntegerTy();
    return isa<GetElementPtrInst, CastInst, ICmpInst, SelectInst>(value) && !value.getType()->isVectorTy();
}

/// Warp operations included: a thread can be left at any of them.
std::vector<CallInst*> barrier_calls(Function& function) {
    std::vector<CallInst*> calls;
    for (Instruction& instruction : instructions(function)) {
        const auto hook = hook_called_by(instruction);
        if (hook == Hook::barrier || hook == Hook::warp) calls.push_back(cast<CallInst>(&instruction));
    }
    return calls;
}

/// A phi uses its operand at the end of the block it comes from.
const BasicBlock* where_used(const Use& use) {
    const auto* user = cast<Instruction>(use.getUser());
    const auto* phi = dyn_cast<PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
}

std::vector<AllocaInst*> local_arrays(Function& function) {
    std::vector<AllocaInst*> arrays;
    for (Instruction& instruction : instructions(function)) {
        if (auto* array = dyn_cast<AllocaInst>(&instruction)) arrays.push_back(array);
    }
    return arrays;
}

/// Whether an array can live in a frame. One whose address escapes cannot: its place on the stack is marked
/// in shadow memory (local_variables.h).
bool fits_in_frame(const AllocaInst& array) {
    return array.isStaticAlloca() && array.getAllocationSize(array.getDataLayout()) &&
           array.getAlign().value() <= frame_alignment;
}

class Splitter {
  public:
    Splitter(Compilation& compilation, const ThreadLoop& loop)
        : compilation_(compilation),
          entry_(*compilation.kernel),
          loop_(loop),
          builder_(*compilation.context) {}

    void run() {
        estimate_frequencies();
        cut();
        find_saved_values();
        if (!lay_out_frame()) {  // the calls stay: fibers carry this kernel
            for (const Barrier& barrier : barriers_) {
                if (!barrier.result) continue;
                barrier.result->replaceAllUsesWith(barrier.call);
                barrier.result->eraseFromParent();
            }
            return;
        }
        dispatch();
        // All of them before uses are rewritten: operands are still those of the uncut code.
        for (Saved& saved : saved_)
            for (const std::size_t barrier : saved.barriers) (void)behind(saved, barrier);
        for (const Saved& saved : saved_) save(saved);
        for (const Barrier& barrier : barriers_) compilation_.resume_points.push_back(barrier.point);
        compilation_.coroutine_frame_bytes = frame_bytes_;
    }

  private:
    /// Ten iterations for each loop around; the thread loop is around everything.
    void estimate_frequencies() {
        DominatorTree dominators(entry_);
        LoopInfo loops(dominators);
        for (BasicBlock& block : entry_) {
            std::uint64_t frequency = 1;
            for (unsigned depth = std::min(loops.getLoopDepth(&block), 6U); depth > 0; --depth)
                frequency *= 10;
            frequency_[&block] = frequency;
            expect_to_stay(block, loops);
        }
    }

    /// A loop around a barrier is none any more once it is cut there: code generation would take its exit to
    /// be as likely as its next iteration.
    static void expect_to_stay(BasicBlock& block, const LoopInfo& loops) {
        auto* end = dyn_cast<BranchInst>(block.getTerminator());
        if (!end || !end->isConditional() || end->hasMetadata(LLVMContext::MD_prof)) return;
        const Loop* loop = loops.getLoopFor(&block);
        if (!loop || loop->getLoopDepth() < 2) return;
        const bool first_stays = loop->contains(end->getSuccessor(0));
        if (first_stays == loop->contains(end->getSuccessor(1))) return;
        end->setMetadata(
            LLVMContext::MD_prof,
            MDBuilder(block.getContext()).createBranchWeights(first_stays ? 31 : 1, first_stays ? 1 : 31));
    }

    void cut() {
        find_operations();
        for (CallInst* call : barrier_calls(entry_)) {
            Barrier barrier;
            barrier.call = call;
            barrier.before = call->getParent();
            barrier.frequency = frequency_[barrier.before];
            barrier.after = barrier.before->splitBasicBlock(std::next(call->getIterator()), "after.barrier");
            frequency_[barrier.after] = barrier.frequency;
            barrier.point = resume_point(*call);
            if (!call->use_empty()) {
                barrier.result = barrier.point.in_warp ? lane_result_behind(barrier) : result_behind(barrier);
                call->replaceAllUsesWith(barrier.result);
            }
            barriers_.push_back(barrier);
        }
    }

    static std::uint64_t constant(const CallInst& call, unsigned argument) {
        return cast<ConstantInt>(call.getArgOperand(argument))->getZExtValue();
    }

    static ResumePoint resume_point(const CallInst& call) {
        ResumePoint point;
        point.site = static_cast<std::uint32_t>(constant(call, call.arg_size() - 1));
        point.in_warp = hook_called_by(call) == Hook::warp;
        if (point.in_warp)
            point.warp_kind = static_cast<WarpKind>(constant(call, 1));
        else
            point.kind = static_cast<BarrierKind>(constant(call, 1));
        return point;
    }

    /// The thread's LaneOperation, where any lane meets others.
    void find_operations() {
        const auto calls = barrier_calls(entry_);
        lanes_meet_ = any_of(calls, [](const CallInst* call) { return hook_called_by(*call) == Hook::warp; });
        if (!lanes_meet_) return;
        Value* operations = fields_.block_field(offsetof(BlockContext, lane_operations), builder_.getPtrTy());
        builder_.SetInsertPoint(loop_.head->getTerminator());
        Value* distance = builder_.CreateMul(builder_.CreateZExt(loop_.thread, builder_.getInt64Ty()),
                                             builder_.getInt64(sizeof(LaneOperation)));
        operation_ = builder_.CreateGEP(builder_.getInt8Ty(), operations, distance, "operation");
    }

    LoadInst* lane_result_behind(const Barrier& barrier) {
        builder_.SetInsertPoint(barrier.after, barrier.after->getFirstInsertionPt());
        return builder_.CreateLoad(builder_.getInt64Ty(), operation_);
    }

    /// What the scheduler left there before any thread goes on; the same for all of them.
    LoadInst* result_behind(const Barrier& barrier) {
        Value* block = fields_.block();
        builder_.SetInsertPoint(barrier.after, barrier.after->getFirstInsertionPt());
        return builder_.CreateLoad(
            builder_.getInt32Ty(),
            builder_.CreateConstGEP1_32(builder_.getInt8Ty(), block, offsetof(BlockContext, barrier_result)));
    }

    // ------------------------------------------------------------------------------------------ liveness

    void find_saved_values() {
        SmallVector<BasicBlock*, 32> open{loop_.head->getSingleSuccessor()};
        while (!open.empty()) {
            BasicBlock* block = open.pop_back_val();
            if (block == loop_.next || !body_.insert(block).second) continue;
            open.append(succ_begin(block), succ_end(block));
        }
        for (BasicBlock& block : entry_) {
            if (!body_.contains(&block)) continue;
            for (Instruction& value : block) {
                if (value.getType()->isVoidTy() || !value.isUsedOutsideOfBlock(&block)) continue;
                if (auto barriers = lives_across(value); !barriers.empty()) {
                    index_of_[&value] = saved_.size();
                    saved_.push_back({&value, std::move(barriers)});
                }
            }
        }
        for (Saved& saved : saved_) {
            unsigned left = longest_computation;
            saved.recomputed = can_be_recomputed(*saved.value, saved.barriers, left);
        }
    }

    /// Whether a value can be computed behind these barriers with so many instructions.
    bool can_be_recomputed(const Instruction& value, const std::vector<std::size_t>& barriers,
                           unsigned& left) const {
        if (!is_cheap(value) || left == 0) return false;
        --left;
        return all_of(value.operands(), [&](const Value* operand) {
            const auto* instruction = dyn_cast<Instruction>(operand);
            if (!instruction || !body_.contains(instruction->getParent())) return true;
            if (const auto known = index_of_.find(instruction); known != index_of_.end()) {
                const auto& there = saved_[known->second].barriers;
                if (std::includes(there.begin(), there.end(), barriers.begin(), barriers.end())) return true;
            }
            return can_be_recomputed(*instruction, barriers, left);
        });
    }

    /// The barriers behind which the value is used before it is computed again.
    std::vector<std::size_t> lives_across(const Instruction& value) const {
        SmallPtrSet<const BasicBlock*, 32> live_in;
        SmallVector<const BasicBlock*, 32> open;
        for (const Use& use : value.uses()) {
            const BasicBlock* block = where_used(use);
            if (block != value.getParent() && live_in.insert(block).second) open.push_back(block);
        }
        while (!open.empty()) {
            for (const BasicBlock* before : predecessors(open.pop_back_val())) {
                if (before != value.getParent() && live_in.insert(before).second) open.push_back(before);
            }
        }
        std::vector<std::size_t> result;
        for (std::size_t i = 0; i < barriers_.size(); ++i) {
            if (live_in.contains(barriers_[i].after)) result.push_back(i);
        }
        return result;
    }

    // --------------------------------------------------------------------------------------------- frame

    /// False when the frame would be too large.
    bool lay_out_frame() {
        const DataLayout& data_layout = entry_.getDataLayout();
        for (AllocaInst* array : local_arrays(entry_)) {
            array_offsets_.push_back({array, frame_bytes_});
            frame_bytes_ += alignTo(array->getAllocationSize(data_layout)->getFixedValue(), frame_alignment);
        }
        std::vector<Saved*> kept;
        for (Saved& saved : saved_)
            if (!saved.recomputed) kept.push_back(&saved);
        // The largest ones first, so that there are no gaps.
        stable_sort(kept,
                    [&](const Saved* a, const Saved* b) { return slot_alignment(*a) > slot_alignment(*b); });
        for (Saved* saved : kept) {
            saved->offset = alignTo(frame_bytes_, slot_alignment(*saved));
            frame_bytes_ = saved->offset + data_layout.getTypeStoreSize(saved->value->getType());
            std::uint64_t at_barriers = 0;
            for (const std::size_t barrier : saved->barriers) at_barriers += barriers_[barrier].frequency;
            saved->where_computed = frequency_[saved->value->getParent()] < at_barriers;
        }
        const Align alignment = !array_offsets_.empty() ? Align(frame_alignment)
                                : !kept.empty()         ? slot_alignment(*kept.front())
                                                        : Align();
        frame_bytes_ = alignTo(frame_bytes_, alignment);
        return frame_bytes_ <= largest_frame;
    }

    Value* slot(const Saved& saved) {
        return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), frame_, saved.offset);
    }
    Align slot_alignment(const Saved& saved) const {
        return std::min(entry_.getDataLayout().getABITypeAlign(saved.value->getType()),
                        Align(frame_alignment));
    }

    // ------------------------------------------------------------------------------------------ control flow

    void dispatch() {
        Type* pointer = builder_.getPtrTy();
        Value* states = fields_.block_field(offsetof(BlockContext, thread_states), pointer);
        Value* frames = fields_.block_field(offsetof(BlockContext, thread_frames), pointer);
        Value* votes = fields_.block_field(offsetof(BlockContext, thread_votes), pointer);

        Instruction* end = loop_.head->getTerminator();
        BasicBlock* body = end->getSuccessor(0);
        builder_.SetInsertPoint(end);
        Value* thread = builder_.CreateZExt(loop_.thread, builder_.getInt64Ty());
        frame_ = builder_.CreateGEP(builder_.getInt8Ty(), frames,
                                    builder_.CreateMul(thread, builder_.getInt64(frame_bytes_)), "frame");
        for (const auto& [array, offset] : array_offsets_) {
            Value* place = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), frame_, offset);
            array->replaceAllUsesWith(place);
            array->eraseFromParent();
            move_into_loop(*place, *end);
        }
        Value* state = builder_.CreateGEP(builder_.getInt32Ty(), states, thread, "state");
        Value* vote = builder_.CreateGEP(builder_.getInt8Ty(), votes, thread);

        BasicBlock* onward = loop_.next->splitBasicBlock(loop_.next->getFirstNonPHIIt(), "onward");
        builder_.SetInsertPoint(loop_.next->getTerminator());
        builder_.CreateStore(builder_.getInt32(thread_over), state);

        builder_.SetInsertPoint(end);
        auto* choice = builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), state), onward,
                                             static_cast<unsigned>(barriers_.size()) + 1);
        choice->addCase(builder_.getInt32(thread_fresh), body);
        end->eraseFromParent();
        for (std::size_t i = 0; i < barriers_.size(); ++i) {
            const auto number = static_cast<std::uint32_t>(i + 1);
            leave(barriers_[i], number, state, vote, onward);
            choice->addCase(builder_.getInt32(number), barriers_[i].resume);
        }
    }

    /// What was computed from a local array's address in front of the loop follows it into the loop's head.
    void move_into_loop(Value& address, Instruction& end) {
        for (User* user : address.users()) {
            auto* instruction = cast<Instruction>(user);
            if (body_.contains(instruction->getParent())) continue;
            instruction->moveBefore(&end);
            move_into_loop(*instruction, end);
        }
    }

    /// Before the barrier, stores the vote and the state and goes on with the next thread; after it, loads
    /// the barrier's result.
    void leave(Barrier& barrier, std::uint32_t number, Value* state, Value* vote, BasicBlock* onward) {
        barrier.resume = BasicBlock::Create(*compilation_.context, "resume", &entry_, barrier.after);
        builder_.SetInsertPoint(barrier.before->getTerminator());
        if (barrier.point.in_warp) give(barrier);
        if (barrier.point.kind != BarrierKind::plain) {
            Value* holds = builder_.CreateICmpNE(barrier.call->getArgOperand(2), builder_.getInt32(0));
            builder_.CreateStore(builder_.CreateZExt(holds, builder_.getInt8Ty()), vote);
        }
        builder_.CreateStore(builder_.getInt32(lanes_meet_ ? number | thread_waits : number), state);
        end_with(barrier, onward);
        barrier.call->eraseFromParent();
        builder_.SetInsertPoint(barrier.resume);
        builder_.CreateBr(barrier.after);
    }

    void give(const Barrier& barrier) {
        const auto field = [&](std::size_t offset) {
            return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), operation_, offset);
        };
        builder_.CreateStore(barrier.call->getArgOperand(3), field(offsetof(LaneOperation, value)));
        builder_.CreateStore(barrier.call->getArgOperand(2), field(offsetof(LaneOperation, mask)));
        builder_.CreateStore(barrier.call->getArgOperand(4), field(offsetof(LaneOperation, operand)));
    }

    /// Leaves for `onward`, unless the lane's own mask does not name it, which has no meaning.
    void end_with(const Barrier& barrier, BasicBlock* onward) {
        Instruction* end = barrier.before->getTerminator();
        Value* mask = barrier.point.in_warp ? barrier.call->getArgOperand(2) : nullptr;
        const auto* known = dyn_cast_or_null<ConstantInt>(mask);
        if (!mask || (known && known->isMinusOne())) {
            builder_.CreateBr(onward);
        } else {
            Value* lane = builder_.CreateAnd(loop_.thread, builder_.getInt32(warp_size - 1));
            Value* own = builder_.CreateAnd(builder_.CreateLShr(mask, lane), builder_.getInt32(1));
            auto* stranger = BasicBlock::Create(*compilation_.context, "stranger", &entry_);
            builder_.CreateCondBr(builder_.CreateICmpNE(own, builder_.getInt32(0)), onward, stranger);
            builder_.SetInsertPoint(stranger);
            CallInst* fault = call_hook(
                builder_, Hook::fault,
                {builder_.getInt32(static_cast<std::uint32_t>(findings::FindingKind::missing_lane))});
            fault->setArgOperand(fault->arg_size() - 1, builder_.getInt32(barrier.point.site));
            builder_.CreateUnreachable();
        }
        end->eraseFromParent();
    }

    // ---------------------------------------------------------------------------------------------- values

    /// A value behind a barrier: out of the frame, or computed again from what is there.
    Value* behind(Saved& saved, std::size_t barrier) {
        Value*& known = saved.behind[barrier];
        if (known) return known;
        if (saved.recomputed) return known = compute(*saved.value, barrier);
        builder_.SetInsertPoint(barriers_[barrier].resume->getTerminator());
        return known = builder_.CreateAlignedLoad(saved.value->getType(), slot(saved), slot_alignment(saved));
    }

    Value* compute(Instruction& value, std::size_t barrier) {
        SmallVector<Value*, 4> operands;
        for (Value* operand : value.operands()) {
            auto* instruction = dyn_cast<Instruction>(operand);
            if (instruction && body_.contains(instruction->getParent())) {
                const auto known = index_of_.find(instruction);
                const bool is_there =
                    known != index_of_.end() && is_contained(saved_[known->second].barriers, barrier);
                operand = is_there ? behind(saved_[known->second], barrier) : compute(*instruction, barrier);
            }
            operands.push_back(operand);
        }
        Instruction* again = value.clone();
        for (unsigned i = 0; i < operands.size(); ++i) again->setOperand(i, operands[i]);
        again->insertBefore(barriers_[barrier].resume->getTerminator());
        return again;
    }

    void save(const Saved& saved) {
        Instruction* value = saved.value;
        SmallVector<Use*, 16> uses;
        for (Use& use : value->uses()) {
            if (where_used(use) != value->getParent()) uses.push_back(&use);
        }
        SSAUpdater updater;
        updater.Initialize(value->getType(), value->getName());
        updater.AddAvailableValue(value->getParent(), value);
        for (const std::size_t index : saved.barriers) {
            const Barrier& barrier = barriers_[index];
            updater.AddAvailableValue(barrier.resume, saved.behind.at(index));
            if (saved.where_computed || saved.recomputed) continue;
            builder_.SetInsertPoint(barrier.before->getTerminator());
            auto* store = builder_.CreateAlignedStore(value, slot(saved), slot_alignment(saved));
            if (barrier.before != value->getParent()) uses.push_back(&store->getOperandUse(0));
        }
        if (saved.where_computed) {
            const auto after = isa<PHINode>(value) ? value->getParent()->getFirstInsertionPt()
                                                   : std::next(value->getIterator());
            builder_.SetInsertPoint(value->getParent(), after);
            builder_.CreateAlignedStore(value, slot(saved), slot_alignment(saved));
        }
        for (Use* use : uses) updater.RewriteUse(*use);
    }

    Compilation& compilation_;
    Function& entry_;
    ThreadLoop loop_;
    IRBuilder<> builder_;
    FunctionContext fields_{entry_};
    Value *frame_ = nullptr, *operation_ = nullptr;
    bool lanes_meet_ = false;
    std::uint64_t frame_bytes_ = 0;
    std::map<const BasicBlock*, std::uint64_t> frequency_;
    SmallPtrSet<BasicBlock*, 32> body_;  ///< the kernel's own blocks
    std::vector<std::pair<AllocaInst*, std::uint64_t>> array_offsets_;
    std::vector<Barrier> barriers_;
    std::vector<Saved> saved_;
    DenseMap<const Instruction*, std::size_t> index_of_;  ///< in saved_
};

}  // namespace

bool calls_barrier(const Module& module) {
    return any_of(module, [](const Function& function) {
        return any_of(instructions(function), [](const Instruction& instruction) {
            const auto hook = hook_called_by(instruction);
            return hook == Hook::barrier || hook == Hook::named_barrier || hook == Hook::warp;
        });
    });
}

namespace {

/// Whether a thread can be left at a warp operation. activemask is excluded: which lanes are at its call is
/// known only when nothing else of the block can run.
bool can_be_left(const CallInst& operation, const Compilation& compilation) {
    const auto* kind = dyn_cast<ConstantInt>(operation.getArgOperand(1));
    return compilation.options.lane_coroutines && kind &&
           static_cast<WarpKind>(kind->getZExtValue()) != WarpKind::active;
}

}  // namespace

bool can_be_coroutine(const Compilation& compilation) {
    for (const Function& function : *compilation.module) {
        for (const Instruction& instruction : instructions(function)) {
            const auto hook = hook_called_by(instruction);
            if (hook == Hook::local_begin || hook == Hook::named_barrier) return false;
            if (hook == Hook::warp && !can_be_left(cast<CallInst>(instruction), compilation)) return false;
            if ((hook == Hook::barrier || hook == Hook::warp) && &function != compilation.kernel)
                return false;
            const auto* array = dyn_cast<AllocaInst>(&instruction);
            if (array && &function == compilation.kernel && !fits_in_frame(*array)) return false;
        }
    }
    return !compilation.recursive && !barrier_calls(*compilation.kernel).empty();
}

void split_at_barriers(Compilation& compilation, const ThreadLoop& loop) {
    Splitter(compilation, loop).run();
}

}  // namespace cudasim::jit
