// mbarrier: barriers that lie in shared memory (PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier"). What their 64 bits mean is left open there. Here:
//
//   bits 0-19   how many arrivals the phase still waits for
//   bits 20-39  how many arrivals a phase waits for
//   bits 40-63  number of the phase
//
// A state, which mbarrier.arrive gives and mbarrier.test_wait takes, is the 64 bits as they were before.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::AtomicOrdering;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

constexpr std::uint64_t count_mask = (1 << 20) - 1;
constexpr unsigned expected_shift = 20, phase_shift = 40;

Value* place_of(InstructionContext& at, std::size_t i) {
    bool in_shared = false;
    for (const std::string& part : at.instruction.opcode) in_shared = in_shared || part.starts_with("shared");
    return at.function.pointer(at.operand(i), in_shared ? Space::shared : Space::generic);
}

llvm::SyncScope::ID scope_of(const InstructionContext& at) {
    return sync_scope(at, image::Scope::block);
}

void initialise(InstructionContext& at) {
    auto& b = at.b;
    Value* count = b.CreateZExt(at.read(1, u32), b.getInt64Ty());
    count = b.CreateAnd(count, count_mask);
    b.CreateAlignedStore(b.CreateOr(count, b.CreateShl(count, expected_shift)), place_of(at, 0),
                         llvm::Align(8));
}

/// Takes `count` off what the phase waits for; the last arrival begins the next one. @return the state before
Value* arrive(InstructionContext& at, Value* place, Value* count, bool drops) {
    auto& b = at.b;
    llvm::Function* function = b.GetInsertBlock()->getParent();
    llvm::LLVMContext& context = at.function.module.context;
    auto* first = b.CreateAlignedLoad(b.getInt64Ty(), place, llvm::Align(8));
    first->setAtomic(AtomicOrdering::Monotonic, scope_of(at));
    llvm::BasicBlock* before = b.GetInsertBlock();
    auto* attempt = llvm::BasicBlock::Create(context, "arrive", function);
    auto* done = llvm::BasicBlock::Create(context, "arrived", function);
    b.CreateBr(attempt);
    b.SetInsertPoint(attempt);
    llvm::PHINode* known = b.CreatePHI(b.getInt64Ty(), 2);
    Value* current = known;
    if (drops) current = b.CreateSub(current, b.CreateShl(count, expected_shift));
    Value* left = b.CreateSub(b.CreateAnd(known, count_mask), count);
    Value* expected = b.CreateAnd(b.CreateLShr(current, expected_shift), count_mask);
    Value* phase = b.CreateAdd(b.CreateLShr(current, phase_shift), b.getInt64(1));
    Value* next = b.CreateOr(b.CreateShl(phase, phase_shift),
                             b.CreateOr(b.CreateShl(expected, expected_shift), expected));
    Value* fewer = b.CreateSub(current, count);
    Value* changed = b.CreateSelect(b.CreateIsNull(left), next, fewer);
    Value* pair =
        b.CreateAtomicCmpXchg(place, known, changed, llvm::MaybeAlign(8), AtomicOrdering::AcquireRelease,
                              AtomicOrdering::Monotonic, scope_of(at));
    known->addIncoming(first, before);
    known->addIncoming(b.CreateExtractValue(pair, 0), attempt);
    b.CreateCondBr(b.CreateExtractValue(pair, 1), done, attempt);
    b.SetInsertPoint(done);
    return known;
}

/// mbarrier.arrive state, [place]{, count}; the state may be missing or `_`.
void translate_arrival(InstructionContext& at) {
    auto& b = at.b;
    if (at.has("expect_tx")) at.refuse();
    const bool has_state = at.operand(0).kind != Operand::address;
    const std::size_t first = has_state ? 1 : 0;
    Value* count = b.getInt64(1);
    if (at.instruction.operands.size() > first + 1)
        count = b.CreateZExt(at.read(first + 1, u32), b.getInt64Ty());
    Value* state = arrive(at, place_of(at, first), count, at.instruction.opcode[1] == "arrive_drop");
    if (has_state) at.function.write(at.operand(0), state);
}

/// mbarrier.test_wait, try_wait done, [place], state; with .parity the number of the phase modulo 2. One that
/// has to wait lets other threads run.
void translate_wait(InstructionContext& at) {
    auto& b = at.b;
    auto* load = b.CreateAlignedLoad(b.getInt64Ty(), place_of(at, 1), llvm::Align(8));
    load->setAtomic(at.has("relaxed") ? AtomicOrdering::Monotonic : AtomicOrdering::Acquire, scope_of(at));
    Value* phase = b.CreateLShr(load, phase_shift);
    Value* done = nullptr;
    if (at.has("parity"))
        done = b.CreateICmpNE(b.CreateAnd(phase, 1), b.CreateZExt(at.read(2, u32), b.getInt64Ty()));
    else
        done = b.CreateICmpNE(phase, b.CreateLShr(at.read(2, u64), phase_shift));
    at.function.write(at.operand(0), done);
    llvm::LLVMContext& context = at.function.module.context;
    llvm::Function* function = b.GetInsertBlock()->getParent();
    auto* waits = llvm::BasicBlock::Create(context, "waits", function);
    auto* goes_on = llvm::BasicBlock::Create(context, "goes_on", function);
    b.CreateCondBr(done, goes_on, waits);
    b.SetInsertPoint(waits);
    b.CreateIntrinsic(Intrinsic::nvvm_nanosleep, {}, {b.getInt32(20)});
    b.CreateBr(goes_on);
    b.SetInsertPoint(goes_on);
}

void translate_mbarrier(InstructionContext& at) {
    auto& b = at.b;
    if (at.instruction.opcode.size() < 2) at.refuse();
    const std::string& operation = at.instruction.opcode[1];
    if (operation == "init") return initialise(at);
    if (operation == "inval") return;
    if (operation == "arrive" || operation == "arrive_drop") return translate_arrival(at);
    if (operation == "test_wait" || operation == "try_wait") return translate_wait(at);
    if (operation == "pending_count")
        return at.write(b.CreateTrunc(b.CreateAnd(at.read(1, u64), count_mask), b.getInt32Ty()));
    at.refuse();
}

}  // namespace

/// cp.async.mbarrier.arrive{.noinc} [place]: an arrival when the copies that the thread has begun are done.
/// Without .noinc the phase waits for one arrival more, so that nothing changes in sum.
void translate_arrival_of_copies(InstructionContext& at) {
    (void)at.call("llvm.nvvm.cp.async.wait.all", at.b.getVoidTy(), {});
    if (at.has("noinc")) (void)arrive(at, place_of(at, 0), at.b.getInt64(1), false);
}

namespace {
constexpr Row rows[] = {{"mbarrier", translate_mbarrier}};
}  // namespace

std::span<const Row> barrier_object_rows() {
    return rows;
}

}  // namespace cudasim::ptx
