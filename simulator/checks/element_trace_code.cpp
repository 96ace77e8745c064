// What element_traces() inserts. In the order in which it runs, behind an access:
//
//   a store             ─► is an element hit? ─► hook
//   a load              ─► into the ring of reads
//   an atomic operation ─► is an element hit? ─► hook; what it has found into the ring
//   a copy              ─► its source into the ring, by a hook; hook for its target
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

#include "simulator/checks/access_roles.h"
#include "simulator/checks/element_trace_hooks.h"
#include "simulator/checks/element_trace_state.h"
#include "simulator/checks/value_sources.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/site_numbering.h"

namespace cudasim::checks {
namespace {

using namespace llvm;
using jit::Compilation;
using jit::MemoryAccess;

bool writes(const MemoryAccess& access) {
    return (access.flags & jit::access_write) != 0;
}

/// An access that is a range of the program's own memory, and not a local variable or a parameter.
bool is_traced(const Compilation& compilation, const MemoryAccess& access) {
    if (jit::constant_bytes(access) == 0) return false;
    const Value* object = getUnderlyingObject(access.address, 0);
    if (isa<AllocaInst>(object)) return false;
    const auto* argument = dyn_cast<Argument>(object);
    if (!argument || argument->getParent() != compilation.kernel) return true;
    // Parameters that are passed by value lie in the launch's buffer.
    return argument->getArgNo() >= jit::body_parameters &&
           !compilation.by_value[argument->getArgNo() - jit::body_parameters];
}

/// An instruction with what it reads and writes.
struct Traced {
    Instruction* at = nullptr;
    std::optional<MemoryAccess> read, write;
};

std::vector<Traced> accesses_in(const Compilation& compilation, Function& function) {
    std::vector<Traced> found;
    for (Instruction& instruction : instructions(function)) {
        if (is_internal(instruction)) continue;
        Traced traced{&instruction};
        for (const MemoryAccess& access : jit::memory_accesses_of(instruction, function.getDataLayout())) {
            if (!is_traced(compilation, access)) continue;
            (writes(access) ? traced.write : traced.read) = access;
            if (isa<AtomicRMWInst, AtomicCmpXchgInst>(instruction)) traced.read = access;
        }
        if (traced.read || traced.write) found.push_back(traced);
    }
    return found;
}

class TraceCode {
  public:
    TraceCode(Compilation& compilation, Function& function, ValueSources& sources)
        : compilation_(compilation),
          module_(*function.getParent()),
          function_(function),
          head_(function),
          sources_(sources) {}

    /// Everything goes directly behind the access, so what is to run last is inserted first.
    void insert(const Traced& traced, const std::vector<std::uint32_t>& sources) {
        const bool is_copy = isa<MemTransferInst>(traced.at);
        if (traced.write && is_copy) test_write(*traced.write, sources);
        if (traced.read) note_read(traced);
        if (traced.write && !is_copy) test_write(*traced.write, sources);
    }

  private:
    Value* field(IRBuilder<>& builder, Value* base, std::uint64_t offset, Type* type) {
        LoadInst* load =
            builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset));
        jit::mark_internal(*load);
        return load;
    }

    void store(IRBuilder<>& builder, Value* value, Value* base, std::uint64_t offset) {
        jit::mark_internal(*builder.CreateAlignedStore(
            value, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset), Align(8)));
    }

    Value* state(IRBuilder<>& builder) {
        return field(builder, head_.block(), offsetof(jit::BlockContext, check_states[jit::race_state]),
                     builder.getPtrTy());
    }

    Value* address_of(IRBuilder<>& builder, const MemoryAccess& access) {
        return builder.CreatePtrToInt(access.address, builder.getInt64Ty());
    }

    Value* bytes_of(IRBuilder<>& builder, const MemoryAccess& access) {
        return access.bytes ? builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty())
                            : builder.getInt64(access.fixed_bytes);
    }

    Function* hook(const char* name, ArrayRef<Type*> parameters) {
        LLVMContext& context = module_.getContext();
        SmallVector<Type*, 8> types{PointerType::get(context, 0)};
        types.append(parameters.begin(), parameters.end());
        types.push_back(Type::getInt32Ty(context));
        return jit::declare_hook(module_, name, FunctionType::get(Type::getVoidTy(context), types, false));
    }

    /// What ReadEntry::what says of a read, but for the length of a copy.
    std::uint64_t description(const Traced& traced) {
        const MemoryAccess& read = *traced.read;
        const std::uint64_t site = jit::site_of(compilation_, *traced.at)->getZExtValue();
        return std::min(site, read_site_mask) |
               std::uint64_t{sources_.number_of(*traced.at)} << read_load_shift |
               (read.bytes ? 0 : std::min(read.fixed_bytes, most_read_bytes) << read_bytes_shift) |
               (read.order != jit::MemoryOrder::plain ? std::uint64_t{1} << read_atomic_shift : 0);
    }

    /// What a load or an atomic operation has found.
    static Value* found_value(IRBuilder<>& builder, Instruction& at) {
        return isa<AtomicCmpXchgInst>(at) ? builder.CreateExtractValue(&at, 0) : &at;
    }

    void note_read(const Traced& traced) {
        const MemoryAccess& read = *traced.read;
        IRBuilder<> builder(traced.at->getNextNode());
        builder.SetCurrentDebugLocation(traced.at->getDebugLoc());
        if (read.bytes || read.fixed_bytes > sizeof(ReadEntry::value)) {
            call_read(builder, traced);
            return;
        }
        Type* i32 = builder.getInt32Ty();
        Value* window = state(builder);
        Value* counts = field(builder, window, offsetof(TraceBlock, counts), builder.getPtrTy());
        Value* rings = field(builder, window, offsetof(TraceBlock, rings), builder.getPtrTy());
        Value* thread =
            builder.CreateZExt(field(builder, function_.getArg(0), offsetof(jit::ThreadContext, thread), i32),
                               builder.getInt64Ty());
        Value* counter = builder.CreateInBoundsGEP(i32, counts, thread);
        LoadInst* count = builder.CreateLoad(i32, counter);
        jit::mark_internal(*count);
        jit::mark_internal(*builder.CreateStore(builder.CreateAdd(count, builder.getInt32(1)), counter));
        Value* slot = builder.CreateAdd(
            builder.CreateMul(thread, builder.getInt64(most_traced_reads)),
            builder.CreateZExt(builder.CreateAnd(count, builder.getInt32(most_traced_reads - 1)),
                               builder.getInt64Ty()));
        Value* entry = builder.CreateInBoundsGEP(
            builder.getInt8Ty(), rings, builder.CreateMul(slot, builder.getInt64(sizeof(ReadEntry))));
        store(builder, address_of(builder, read), entry, offsetof(ReadEntry, address));
        store(builder, builder.getInt64(description(traced)), entry, offsetof(ReadEntry, what));
        store(builder, found_value(builder, *traced.at), entry, offsetof(ReadEntry, value));
    }

    /// Where a copy reads from may have changed by the copy itself: its target has the same bytes.
    void call_read(IRBuilder<>& builder, const Traced& traced) {
        const MemoryAccess& read = *traced.read;
        Type* i64 = builder.getInt64Ty();
        Value* now = read.address;
        if (const auto* copy = dyn_cast<MemTransferInst>(traced.at)) now = copy->getRawDest();
        // The hook adds the length.
        const std::uint64_t what = description(traced) & ~(most_read_bytes << read_bytes_shift);
        jit::call_hook(builder, *hook("cudasim_hook_traced_read", {i64, i64, i64, i64}),
                       {address_of(builder, read), bytes_of(builder, read), builder.getInt64(what),
                        builder.CreatePtrToInt(now, i64)});
    }

    /// The bits of what an atomic operation returns: low word, high word.
    std::pair<Value*, Value*> result_words(IRBuilder<>& builder, Instruction& at) {
        Type* i64 = builder.getInt64Ty();
        Value* const nothing = builder.getInt64(0);
        if (!isa<AtomicRMWInst, AtomicCmpXchgInst>(at)) return {nothing, nothing};
        Value* value = found_value(builder, at);
        if (value->getType()->isPointerTy()) return {builder.CreatePtrToInt(value, i64), nothing};
        const auto bits = static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits().getFixedValue());
        if (!value->getType()->isIntegerTy()) value = builder.CreateBitCast(value, builder.getIntNTy(bits));
        Value* low = builder.CreateZExtOrTrunc(value, i64);
        if (bits <= 64) return {low, nothing};
        return {low, builder.CreateZExtOrTrunc(builder.CreateLShr(value, 64), i64)};
    }

    void test_write(const MemoryAccess& write, const std::vector<std::uint32_t>& sources) {
        Instruction* at = write.at->getNextNode();
        IRBuilder<> builder(at);
        builder.SetCurrentDebugLocation(write.at->getDebugLoc());
        Value* address = address_of(builder, write);
        if (write.bytes || write.fixed_bytes > most_tested_bytes) {
            call_write(*at, write, address, sources);
            return;
        }
        Type* i64 = builder.getInt64Ty();
        Value* window = state(builder);
        Value* offset = builder.CreateSub(address, field(builder, window, offsetof(TraceBlock, low), i64));
        Value* may = builder.CreateICmpULT(offset, field(builder, window, offsetof(TraceBlock, span), i64));
        if (isa<AtomicCmpXchgInst>(write.at))
            may = builder.CreateAnd(may, builder.CreateExtractValue(write.at, 1));
        Instruction* near = jit::branch_cold(may, at, true);
        builder.SetInsertPoint(near);
        Value* buckets = field(builder, window, offsetof(TraceBlock, buckets), builder.getPtrTy());
        Value* bucket = builder.CreateLShr(offset, field(builder, window, offsetof(TraceBlock, shift), i64));
        LoadInst* marked = builder.CreateLoad(
            builder.getInt8Ty(), builder.CreateInBoundsGEP(builder.getInt8Ty(), buckets, bucket));
        jit::mark_internal(*marked);
        Value* hit = builder.CreateICmpNE(marked, builder.getInt8(0));
        call_write(*jit::branch_cold(hit, near, true), write, address, sources);
    }

    void call_write(Instruction& at, const MemoryAccess& write, Value* address,
                    const std::vector<std::uint32_t>& sources) {
        IRBuilder<> builder(&at);
        builder.SetCurrentDebugLocation(write.at->getDebugLoc());
        Type* i64 = builder.getInt64Ty();
        const auto [low, high] = result_words(builder, *write.at);
        const bool has_result = isa<AtomicRMWInst, AtomicCmpXchgInst>(write.at);
        const std::uint32_t kind =
            (write.order != jit::MemoryOrder::plain ? traced_atomic : 0U) | (has_result ? traced_result : 0U);
        jit::call_hook(
            builder,
            *hook("cudasim_hook_traced_write",
                  {i64, i64, builder.getInt32Ty(), builder.getPtrTy(), i64, i64}),
            {address, bytes_of(builder, write), builder.getInt32(kind), table(sources), low, high});
    }

    Constant* table(const std::vector<std::uint32_t>& sources) {
        Constant* content = ConstantDataArray::get(module_.getContext(), sources);
        auto* variable = new GlobalVariable(module_, content->getType(), true, GlobalValue::PrivateLinkage,
                                            content, "cudasim.sources");
        variable->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
        return variable;
    }

    Compilation& compilation_;
    Module& module_;
    Function& function_;
    jit::FunctionContext head_;
    ValueSources& sources_;
};

class ElementTraceInstrumentation final : public jit::Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "element_traces"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }
    [[nodiscard]] std::span<const jit::HookAddress> hooks() const override { return element_trace_hooks(); }

    void late(Compilation& compilation) const override {
        ValueSources sources(*compilation.module);
        struct OfFunction {
            Function* function;
            std::vector<Traced> accesses;
            std::vector<std::vector<std::uint32_t>> sources;  ///< by access
        };
        std::vector<OfFunction> all;
        for (Function& function : *compilation.module)
            if (!function.isDeclaration()) all.push_back({&function, accesses_in(compilation, function), {}});
        for (const OfFunction& each : all)
            for (const Traced& traced : each.accesses)
                if (traced.read) (void)sources.add(*traced.at);
        // Before any function is changed.
        for (OfFunction& each : all)
            for (const Traced& traced : each.accesses)
                each.sources.push_back(traced.write ? sources.of(*traced.write)
                                                    : std::vector<std::uint32_t>());
        for (const OfFunction& each : all) {
            TraceCode code(compilation, *each.function, sources);
            for (std::size_t i = 0; i < each.accesses.size(); ++i)
                code.insert(each.accesses[i], each.sources[i]);
        }
    }
};

}  // namespace

const jit::Instrumentation& element_traces() {
    static const ElementTraceInstrumentation instrumentation;
    return instrumentation;
}

}  // namespace cudasim::checks
