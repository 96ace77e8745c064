// See thread_groups.h. A copy of the kernel's body is optimised alone, so that what is the same for all lanes
// and where addresses lead is seen; GroupShapes looks at it; GroupCode turns it into code for a group:
//
//   - what is the same in all lanes, and what has a stride, stays as it is: the first lane's value
//   - all other values become vectors, <threads_per_group x T>; accesses that are not consecutive, and calls
//     that have no vector form, are made lane by lane
//   - a branch on a vector goes where all lanes go, or gives up
//
// GroupLoop puts it into the function that entry.cpp calls.
#include "simulator/jit/thread_groups.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>

#include "simulator/jit/function_context.h"
#include "simulator/jit/group_shapes.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/standard_instrumentations.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Instructions of a body before it is optimised from which on it is not looked at.
constexpr std::size_t largest_input = 2000;

constexpr unsigned lanes = threads_per_group;

class GroupCode {
  public:
    GroupCode(Function& body, const GroupShapes& shapes)
        : body_(body), shapes_(shapes), builder_(body.getContext()) {}

    /// The body returns true, or false where the group has given up.
    void build() {
        const ReversePostOrderTraversal<Function*> order(&body_);
        std::vector<BasicBlock*> blocks;
        for (BasicBlock* block : order)
            if (!shapes_.is_cold(*block)) blocks.push_back(block);
        gives_up_ = BasicBlock::Create(body_.getContext(), "gives.up", &body_);
        ReturnInst::Create(body_.getContext(), ConstantInt::getFalse(body_.getContext()), gives_up_);
        for (BasicBlock* block : blocks) {
            for (Instruction& instruction : make_early_inc_range(*block)) replace(instruction);
        }
        fill_phis();
        test_extensions();
        for (Instruction* instruction : replaced_) {
            instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
            instruction->eraseFromParent();
        }
        EliminateUnreachableBlocks(body_);
    }

  private:
    void replace(Instruction& instruction) {
        builder_.SetInsertPoint(&instruction);
        builder_.SetCurrentDebugLocation(instruction.getDebugLoc());
        if (instruction.isTerminator()) return replace_end(instruction);
        if (auto* call = dyn_cast<CallInst>(&instruction)) {
            if (hook_called_by(*call) == Hook::yield) {
                call_hook(builder_, Hook::yield_group, {builder_.getInt32(lanes)});
                replaced_.push_back(call);
                return;
            }
            const auto intrinsic = call->getIntrinsicID();
            if (intrinsic == Intrinsic::assume || intrinsic == Intrinsic::experimental_noalias_scope_decl) {
                replaced_.push_back(call);
                return;
            }
        }
        if (auto* store = dyn_cast<StoreInst>(&instruction)) {
            replace_store(*store);
            replaced_.push_back(store);
            return;
        }
        if (!shapes_.is_vector(instruction)) {
            if (GroupShapes::is_extension(instruction) && shapes_.stride(instruction) != 0)
                extensions_.push_back(cast<CastInst>(&instruction));
            // Other lanes are made of the first one, also where that is one that nobody uses.
            if (shapes_.stride(instruction) != 0) instruction.dropPoisonGeneratingFlags();
            return;
        }
        Value* made = made_of(instruction);
        made->setName(instruction.getName());
        vectors_[&instruction] = made;
        replaced_.push_back(&instruction);
    }

    Value* made_of(Instruction& instruction) {
        if (auto* load = dyn_cast<LoadInst>(&instruction)) return loaded(*load);
        if (auto* call = dyn_cast<CallInst>(&instruction)) return called(*call);
        if (auto* phi = dyn_cast<PHINode>(&instruction)) {
            phis_.push_back(phi);
            return builder_.CreatePHI(vector_of(*phi->getType()), phi->getNumIncomingValues());
        }
        if (auto* address = dyn_cast<GetElementPtrInst>(&instruction)) return computed(*address);
        if (auto* select = dyn_cast<SelectInst>(&instruction)) {
            Value* condition = select->getCondition();
            if (shapes_.stride(*condition) != 0) condition = vector(*condition);
            Value* chosen = builder_.CreateSelect(condition, vector(*select->getTrueValue()),
                                                  vector(*select->getFalseValue()));
            return with_flags(chosen, instruction);
        }
        if (auto* conversion = dyn_cast<CastInst>(&instruction))
            return with_flags(builder_.CreateCast(conversion->getOpcode(), vector(*conversion->getOperand(0)),
                                                  vector_of(*conversion->getType())),
                              instruction);
        if (auto* comparison = dyn_cast<CmpInst>(&instruction))
            return with_flags(
                builder_.CreateCmp(comparison->getPredicate(), vector(*comparison->getOperand(0)),
                                   vector(*comparison->getOperand(1))),
                instruction);
        if (isa<FreezeInst>(instruction)) return builder_.CreateFreeze(vector(*instruction.getOperand(0)));
        if (isa<UnaryOperator>(instruction))
            return with_flags(builder_.CreateFNeg(vector(*instruction.getOperand(0))), instruction);
        const auto& operation = cast<BinaryOperator>(instruction);
        return with_flags(builder_.CreateBinOp(operation.getOpcode(), vector(*operation.getOperand(0)),
                                               vector(*operation.getOperand(1))),
                          instruction);
    }

    static Value* with_flags(Value* made, const Instruction& original) {
        if (auto* instruction = dyn_cast<Instruction>(made)) instruction->copyIRFlags(&original);
        return made;
    }

    static FixedVectorType* vector_of(Type& type) { return FixedVectorType::get(&type, lanes); }

    /// The values of all lanes. What has a stride is made where it is computed, once.
    Value* vector(Value& value) {
        if (auto* constant = dyn_cast<Constant>(&value))
            return ConstantVector::getSplat(ElementCount::getFixed(lanes), constant);
        Value*& known = vectors_[&value];
        if (known) return known;
        IRBuilder<> builder(body_.getContext());
        if (auto* instruction = dyn_cast<Instruction>(&value))
            builder.SetInsertPoint(*instruction->getInsertionPointAfterDef());
        else
            builder.SetInsertPoint(body_.getEntryBlock().getFirstInsertionPt());
        return known = spread(builder, value, *shapes_.stride(value));
    }

    static Value* spread(IRBuilder<>& builder, Value& first, std::int64_t stride) {
        if (stride == 0) return builder.CreateVectorSplat(lanes, &first);
        Type* type = first.getType();
        Type* number = type->isPointerTy() ? builder.getInt64Ty() : type;
        std::array<Constant*, lanes> distances{};
        for (unsigned lane = 0; lane < lanes; ++lane)
            distances[lane] =
                ConstantInt::get(number, static_cast<std::uint64_t>(stride) * lane, /*IsSigned=*/true);
        Constant* distance = ConstantVector::get(distances);
        if (type->isPointerTy()) return builder.CreateGEP(builder.getInt8Ty(), &first, distance);
        return builder.CreateAdd(builder.CreateVectorSplat(lanes, &first), distance);
    }

    /// The value of one lane, at the place where code is made.
    Value* lane_of(Value& value, unsigned lane) {
        const auto stride = shapes_.stride(value);
        if (!stride) return builder_.CreateExtractElement(vector(value), lane);
        if (*stride == 0 || lane == 0) return &value;
        const auto distance = static_cast<std::int64_t>(static_cast<std::uint64_t>(*stride) * lane);
        if (value.getType()->isPointerTy())
            return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), &value,
                                               static_cast<std::uint64_t>(distance));
        return builder_.CreateAdd(
            &value, ConstantInt::get(value.getType(), static_cast<std::uint64_t>(distance), true));
    }

    static void copy_aliases(const Instruction& from, Instruction& to) {
        to.copyMetadata(from, {LLVMContext::MD_tbaa, LLVMContext::MD_alias_scope, LLVMContext::MD_noalias,
                               LLVMContext::MD_invariant_load});
    }

    Value* loaded(LoadInst& load) {
        Value* address = load.getPointerOperand();
        if (shapes_.is_consecutive(load)) {
            auto* whole = builder_.CreateAlignedLoad(vector_of(*load.getType()), address, load.getAlign());
            copy_aliases(load, *whole);
            return whole;
        }
        Value* all = PoisonValue::get(vector_of(*load.getType()));
        for (unsigned lane = 0; lane < lanes; ++lane) {
            auto* one = builder_.CreateAlignedLoad(load.getType(), lane_of(*address, lane), load.getAlign());
            copy_aliases(load, *one);
            all = builder_.CreateInsertElement(all, one, lane);
        }
        return all;
    }

    void replace_store(StoreInst& store) {
        Value* address = store.getPointerOperand();
        Value* value = store.getValueOperand();
        if (shapes_.is_consecutive(store)) {
            if (shapes_.probes_stores())
                for (const unsigned lane : {0U, lanes - 1})
                    builder_.CreateAlignedLoad(value->getType(), lane_of(*address, lane), store.getAlign(),
                                               /*isVolatile=*/true);
            copy_aliases(store, *builder_.CreateAlignedStore(vector(*value), address, store.getAlign()));
            return;
        }
        for (unsigned lane = 0; lane < lanes; ++lane) {
            Value* part = lane_of(*value, lane);
            copy_aliases(store,
                         *builder_.CreateAlignedStore(part, lane_of(*address, lane), store.getAlign()));
        }
    }

    Value* computed(GetElementPtrInst& address) {
        const auto part = [&](Value* value) { return shapes_.stride(*value) == 0 ? value : vector(*value); };
        SmallVector<Value*, 4> indices;
        for (Value* index : address.indices()) indices.push_back(part(index));
        return builder_.CreateGEP(address.getSourceElementType(), part(address.getPointerOperand()), indices);
    }

    Value* called(CallInst& call) {
        if (Value* made = called_once(call)) return made;
        Value* all = PoisonValue::get(vector_of(*call.getType()));
        for (unsigned lane = 0; lane < lanes; ++lane) {
            SmallVector<Value*, 4> arguments;
            for (Value* argument : call.args()) arguments.push_back(lane_of(*argument, lane));
            CallInst* one = builder_.CreateCall(call.getFunctionType(), call.getCalledFunction(), arguments);
            one->setAttributes(call.getAttributes());
            if (isa<FPMathOperator>(call)) one->copyFastMathFlags(&call);
            all = builder_.CreateInsertElement(all, one, lane);
        }
        return all;
    }

    /// Intrinsics that have a vector form.
    Value* called_once(CallInst& call) {
        const auto intrinsic = call.getIntrinsicID();
        if (intrinsic == Intrinsic::not_intrinsic || !isTriviallyVectorizable(intrinsic)) return nullptr;
        SmallVector<Type*, 2> types;
        if (isVectorIntrinsicWithOverloadTypeAtArg(intrinsic, -1))
            types.push_back(vector_of(*call.getType()));
        SmallVector<Value*, 4> arguments;
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            Value* argument = call.getArgOperand(i);
            const bool single = isVectorIntrinsicWithScalarOpAtArg(intrinsic, i);
            if (single && shapes_.stride(*argument) != 0) return nullptr;
            arguments.push_back(single ? argument : vector(*argument));
            if (isVectorIntrinsicWithOverloadTypeAtArg(intrinsic, static_cast<int>(i)))
                types.push_back(arguments.back()->getType());
        }
        Function* callee = Intrinsic::getDeclaration(body_.getParent(), intrinsic, types);
        CallInst* made = builder_.CreateCall(callee, arguments);
        if (isa<FPMathOperator>(call)) made->copyFastMathFlags(&call);
        return made;
    }

    void replace_end(Instruction& end) {
        BasicBlock& block = *end.getParent();
        if (auto* over = dyn_cast<ReturnInst>(&end)) {
            builder_.CreateRet(builder_.getTrue());
            over->eraseFromParent();
            return;
        }
        auto* branch = dyn_cast<BranchInst>(&end);
        if (branch && branch->isConditional() && shapes_.stride(*branch->getCondition()) != 0) {
            branch_together(*branch);
            return;
        }
        for (unsigned i = 0; i < end.getNumSuccessors(); ++i) {
            BasicBlock* next = end.getSuccessor(i);
            if (!shapes_.is_cold(*next)) continue;
            next->removePredecessor(&block);
            end.setSuccessor(i, gives_up_);
        }
    }

    /// Where all lanes go; else the group gives up, as it does where one goes to a cold block.
    void branch_together(BranchInst& branch) {
        BasicBlock& block = *branch.getParent();
        Type* bits = builder_.getIntNTy(lanes);
        Value* ways = builder_.CreateBitCast(vector(*branch.getCondition()), bits);
        const auto target = [&](unsigned i) {
            BasicBlock* next = branch.getSuccessor(i);
            if (!shapes_.is_cold(*next)) return next;
            next->removePredecessor(&block);
            return gives_up_;
        };
        BasicBlock *yes = target(0), *no = target(1);
        auto* choice = SwitchInst::Create(ways, gives_up_, 2, branch.getIterator());
        choice->setDebugLoc(branch.getDebugLoc());
        if (yes != gives_up_) choice->addCase(cast<ConstantInt>(ConstantInt::getAllOnesValue(bits)), yes);
        if (no != gives_up_) choice->addCase(cast<ConstantInt>(ConstantInt::getNullValue(bits)), no);
        branch.eraseFromParent();
    }

    void fill_phis() {
        for (PHINode* phi : phis_) {
            auto* made = cast<PHINode>(vectors_[phi]);
            for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
                made->addIncoming(vector(*phi->getIncomingValue(i)), phi->getIncomingBlock(i));
        }
    }

    /// Lanes of an integer that wrap would not have the first one's stride as wider integers.
    void test_extensions() {
        for (CastInst* extension : extensions_) {
            Value* first = extension->getOperand(0);
            const unsigned width = first->getType()->getIntegerBitWidth();
            const std::int64_t distance = *shapes_.stride(*extension) * (lanes - 1);
            const bool is_signed = isa<SExtInst>(extension);
            const APInt least = is_signed ? APInt::getSignedMinValue(width) : APInt::getMinValue(width);
            const APInt most = is_signed ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
            const APInt apart(width, static_cast<std::uint64_t>(std::abs(distance)));
            IRBuilder<> builder(extension);
            Value* wraps = nullptr;
            if (distance > 0)
                wraps = builder.CreateICmp(is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT, first,
                                           builder.getInt(most - apart));
            else
                wraps = builder.CreateICmp(is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT, first,
                                           builder.getInt(least + apart));
            BasicBlock* block = extension->getParent();
            BasicBlock* rest = SplitBlock(block, extension->getIterator());
            block->getTerminator()->eraseFromParent();
            BranchInst::Create(gives_up_, rest, wraps, block);
        }
    }

    Function& body_;
    const GroupShapes& shapes_;
    IRBuilder<> builder_;
    BasicBlock* gives_up_ = nullptr;
    DenseMap<const Value*, Value*> vectors_;
    std::vector<PHINode*> phis_;
    std::vector<CastInst*> extensions_;
    std::vector<Instruction*> replaced_;
};

/// i32 cudasim_groups(context, tid.x, tid.y, tid.z, thread): a loop over groups around their code.
class GroupLoop {
  public:
    explicit GroupLoop(Compilation& compilation)
        : compilation_(compilation), builder_(*compilation.context) {}

    Function* build(Function& group) {
        declare();
        BasicBlock* start = block("entry");
        builder_.SetInsertPoint(start);
        builder_.CreateUnreachable();
        FunctionContext head(*loop_);
        Value* width = head.block_field(offsetof(BlockContext, ntid), builder_.getInt32Ty());
        Value* buffer = head.block_field(offsetof(BlockContext, parameters), builder_.getPtrTy());
        builder_.SetInsertPoint(start->getTerminator());
        std::vector<Value*> arguments;
        for (Argument& argument : loop_->args()) arguments.push_back(&argument);
        for (Value* value : parameter_values(compilation_, builder_, buffer)) arguments.push_back(value);
        start->getTerminator()->eraseFromParent();

        BasicBlock *next = block("next"), *room = block("room"), *run = block("run"), *over = block("over"),
                   *stop = block("stop");
        builder_.SetInsertPoint(start);
        builder_.CreateBr(next);
        builder_.SetInsertPoint(next);
        PHINode* x = builder_.CreatePHI(builder_.getInt32Ty(), 2);
        PHINode* thread = builder_.CreatePHI(builder_.getInt32Ty(), 2);
        x->addIncoming(arguments[body_tid_x], start);
        thread->addIncoming(arguments[body_thread], start);
        Value* wide = builder_.getInt32(lanes);
        builder_.CreateCondBr(builder_.CreateICmpUGE(builder_.CreateSub(width, x), wide), room, stop);
        builder_.SetInsertPoint(room);
        Value* end = builder_.CreateLoad(builder_.getInt32Ty(), field(offsetof(ThreadContext, end)));
        builder_.CreateCondBr(builder_.CreateICmpUGE(builder_.CreateSub(end, thread), wide), run, stop);
        builder_.SetInsertPoint(run);
        // Volatile: as in entry.cpp.
        builder_.CreateStore(thread, field(offsetof(ThreadContext, thread)), true);
        arguments[body_tid_x] = x;
        arguments[body_thread] = thread;
        CallInst* call = builder_.CreateCall(&group, arguments);
        builder_.CreateCondBr(call, over, stop);
        builder_.SetInsertPoint(over);
        x->addIncoming(builder_.CreateAdd(x, wide), over);
        thread->addIncoming(builder_.CreateAdd(thread, wide), over);
        builder_.CreateBr(next);
        builder_.SetInsertPoint(stop);
        PHINode* gave_up = builder_.CreatePHI(builder_.getInt32Ty(), 3);
        gave_up->addIncoming(builder_.getInt32(0), next);
        gave_up->addIncoming(builder_.getInt32(0), room);
        gave_up->addIncoming(builder_.getInt32(group_gave_up), run);
        builder_.CreateRet(
            builder_.CreateOr(builder_.CreateSub(thread, loop_->getArg(body_thread)), gave_up));
        InlineFunctionInfo info;
        if (!InlineFunction(*call, info).isSuccess())
            throw std::logic_error("simulator/jit: a group's code was not inlined");
        group.eraseFromParent();
        return loop_;
    }

  private:
    BasicBlock* block(const char* name) { return BasicBlock::Create(*compilation_.context, name, loop_); }
    Value* field(unsigned offset) {
        return builder_.CreateConstGEP1_32(builder_.getInt8Ty(), loop_->getArg(0), offset);
    }

    void declare() {
        Type* word = builder_.getInt32Ty();
        auto* type = FunctionType::get(word, {builder_.getPtrTy(), word, word, word, word}, false);
        loop_ = Function::Create(type, GlobalValue::ExternalLinkage, group_symbol, *compilation_.module);
        loop_->setDoesNotThrow();
        loop_->addFnAttr(Attribute::NullPointerIsValid);
        loop_->addFnAttr(Attribute::NoInline);
        loop_->addParamAttr(0, Attribute::NoAlias);
        loop_->addParamAttr(
            0, Attribute::get(*compilation_.context, Attribute::Dereferenceable, sizeof(ThreadContext)));
        loop_->addParamAttr(0, Attribute::getWithAlignment(*compilation_.context, Align(8)));
        loop_->getArg(0)->setName("context");
    }

    Compilation& compilation_;
    IRBuilder<> builder_;
    Function* loop_ = nullptr;
};

/// Seen at a glance, before anything is copied: does it call the engine, use memory that others see, or
/// arrays of its own?
bool may_be_grouped(const Function& body) {
    if (body.getInstructionCount() > largest_input) return false;
    return none_of(instructions(body), [](const Instruction& instruction) {
        if (instruction.isAtomic() || instruction.isVolatile() || GroupShapes::is_inexact(instruction))
            return true;
        if (const auto* local = dyn_cast<AllocaInst>(&instruction))
            return !local->getAllocatedType()->isSingleValueType();
        const auto* call = dyn_cast<CallInst>(&instruction);
        const Function* callee = call ? call->getCalledFunction() : nullptr;
        if (call && (!callee || !callee->isDeclaration())) return true;
        return call && any_hook_called_by(*call) && hook_called_by(*call) != Hook::yield &&
               !callee->doesNotReturn();
    });
}

/// What follows from tid.x, as far as it is not stored.
DenseSet<const Value*> values_of_lanes(const Function& body) {
    DenseSet<const Value*> found;
    std::vector<const Value*> work{body.getArg(body_tid_x), body.getArg(body_thread)};
    while (!work.empty()) {
        const Value* value = work.back();
        work.pop_back();
        for (const User* user : value->users())
            if (!isa<StoreInst>(user) && found.insert(user).second) work.push_back(user);
    }
    return found;
}

/// Loops whose length depends on tid.x stay such, whatever the optimiser does.
bool has_loops_of_different_lengths(Function& body) {
    const DominatorTree dominators(body);
    const LoopInfo loops(dominators);
    if (loops.empty()) return false;
    const auto of_lanes = values_of_lanes(body);
    return any_of(body, [&](const BasicBlock& block) {
        const Loop* loop = loops.getLoopFor(&block);
        const Instruction* end = block.getTerminator();
        return loop && end->getNumSuccessors() > 1 && of_lanes.contains(end->getOperand(0)) &&
               any_of(successors(&block), [&](const BasicBlock* next) {
                   return !loop->contains(next) && !isa<UnreachableInst>(next->getTerminator());
               });
    });
}

/// The optimiser writes some sums so. In a lane where nobody uses it, it may be none, and others are made of
/// it.
void write_sums(Function& function) {
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
        auto* either = dyn_cast<PossiblyDisjointInst>(&instruction);
        if (!either || !either->isDisjoint()) continue;
        auto* sum = BinaryOperator::CreateAdd(either->getOperand(0), either->getOperand(1), either->getName(),
                                              either->getIterator());
        either->replaceAllUsesWith(sum);
        either->eraseFromParent();
    }
}

/// A copy of the body that returns whether the group went through to its end.
Function* copy_of(Function& body) {
    SmallVector<Type*, 16> parameters;
    for (const Argument& argument : body.args()) parameters.push_back(argument.getType());
    auto* type = FunctionType::get(Type::getInt1Ty(body.getContext()), parameters, false);
    auto* copy = Function::Create(type, GlobalValue::InternalLinkage, "group", *body.getParent());
    ValueToValueMapTy values;
    for (unsigned i = 0; i < body.arg_size(); ++i) values[body.getArg(i)] = copy->getArg(i);
    SmallVector<ReturnInst*, 4> returns;
    CloneFunctionInto(copy, &body, values, CloneFunctionChangeType::LocalChangesOnly, returns);
    copy->setSubprogram(nullptr);
    for (ReturnInst* end : returns) {
        ReturnInst::Create(body.getContext(), ConstantInt::getTrue(body.getContext()), end->getIterator());
        end->eraseFromParent();
    }
    return copy;
}

/// Checks see each thread's accesses in their order, and debuggers its statements.
bool is_unchecked(const CompileOptions& options) {
    return options.optimisation != 0 && all_of(options.instrumentations, [](const Instrumentation* each) {
               return each == &safepoint_polls();
           });
}

}  // namespace

Function* make_thread_groups(Compilation& compilation, TargetMachine& machine, Effort effort) {
    if (effort != Effort::full || !is_unchecked(compilation.options) || compilation.recursive ||
        !may_be_grouped(*compilation.kernel) || has_loops_of_different_lengths(*compilation.kernel))
        return nullptr;
    mark_parameters_invariant(compilation);
    Function* group = copy_of(*compilation.kernel);
    optimise_one(compilation, machine, *group);
    write_sums(*group);
    GroupShapes shapes(*group);
    if (!shapes.can_group_threads()) {
        group->eraseFromParent();
        return nullptr;
    }
    GroupCode(*group, shapes).build();
    return GroupLoop(compilation).build(*group);
}

}  // namespace cudasim::jit
