// Loads, stores, addresses and atomic operations (PTX ISA, "Data Movement and Conversion Instructions",
// "Parallel Synchronization and Communication Instructions": atom, red).
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::Value;

/// The state space among the modifiers, which may say a part of it (.shared::cta).
Space space_of(const InstructionContext& at) {
    for (std::size_t i = 1; i < at.instruction.opcode.size(); ++i) {
        const std::string& name = at.instruction.opcode[i];
        if (name == "global") return Space::global;
        if (name.starts_with("shared")) return Space::shared;
        if (name == "const") return Space::constant;
        if (name == "local") return Space::local;
        if (name.starts_with("param")) return Space::parameter;
    }
    return Space::generic;
}

/// Of atom and red; a default for those that say none.
AtomicOrdering ordering_of(const InstructionContext& at, AtomicOrdering otherwise) {
    if (at.has("acq_rel")) return AtomicOrdering::AcquireRelease;
    if (at.has("acquire")) return AtomicOrdering::Acquire;
    if (at.has("release")) return AtomicOrdering::Release;
    return at.has("relaxed") ? AtomicOrdering::Monotonic : otherwise;
}

/// Of ld (`strong` is acquire) and st (`strong` is release). .mmio is relaxed as far as memory is concerned.
AtomicOrdering access_ordering(const InstructionContext& at, AtomicOrdering strong) {
    const AtomicOrdering ordering = ordering_of(at, AtomicOrdering::NotAtomic);
    const bool is_allowed =
        ordering == AtomicOrdering::NotAtomic || ordering == AtomicOrdering::Monotonic || ordering == strong;
    if (!is_allowed || at.has("async")) at.refuse();
    return ordering;
}

/// The registers that take part: {a, b, c, d}, or one.
std::vector<Operand> parts_of(const Operand& operand) {
    return operand.kind == Operand::vector ? operand.elements : std::vector<Operand>{operand};
}

/// A vector's address has to be a multiple of the whole vector's size; its parts are accessed one after
/// another.
llvm::Align alignment_of(Type type, std::size_t count, std::size_t index) {
    const std::uint64_t bytes = std::max(1U, type.width / 8);
    return index == 0 ? llvm::Align(bytes * count) : llvm::Align(bytes);
}

void translate_ld(InstructionContext& at) {
    auto& b = at.b;
    const AtomicOrdering ordering = access_ordering(at, AtomicOrdering::Acquire);
    const Type type = at.type();
    Value* place = at.function.pointer(at.operand(1), space_of(at));
    const std::vector<Operand> parts = parts_of(at.operand(0));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Value* address = i == 0 ? place : b.CreateConstGEP1_64(at.function.module.type(type), place, i);
        auto* load = b.CreateAlignedLoad(at.function.module.type(type), address,
                                         alignment_of(type, parts.size(), i), at.has("volatile"));
        if (ordering != AtomicOrdering::NotAtomic)
            load->setAtomic(ordering, sync_scope(at, image::Scope::device));
        at.function.write(parts[i], load, type.kind == Type::signed_);
    }
}

void translate_st(InstructionContext& at) {
    auto& b = at.b;
    const AtomicOrdering ordering = access_ordering(at, AtomicOrdering::Release);
    const Type type = at.type();
    Value* place = at.function.pointer(at.operand(0), space_of(at));
    const std::vector<Operand> parts = parts_of(at.operand(1));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Value* address = i == 0 ? place : b.CreateConstGEP1_64(at.function.module.type(type), place, i);
        auto* store = b.CreateAlignedStore(at.function.read(parts[i], type), address,
                                           alignment_of(type, parts.size(), i), at.has("volatile"));
        if (ordering != AtomicOrdering::NotAtomic)
            store->setAtomic(ordering, sync_scope(at, image::Scope::device));
    }
}

/// Converts between an address in a space and a generic one.
void translate_cvta(InstructionContext& at) {
    auto& b = at.b;
    const Space space = space_of(at);
    if (space == Space::local || space == Space::parameter) return at.write(at.read(1));
    const bool to_space = at.has("to");
    Value* address = at.read(1, u64);
    llvm::Type* generic = llvm::PointerType::get(at.function.module.context, 0);
    Value* pointer = at.function.pointer_of(address, to_space ? Space::generic : space);
    llvm::Type* target = generic;
    if (to_space) target = at.function.pointer_of(address, space)->getType();
    at.write(b.CreatePtrToInt(b.CreateAddrSpaceCast(pointer, target), b.getInt64Ty()));
}

/// Whether a generic address lies in the space.
void translate_isspacep(InstructionContext& at) {
    const Space space = space_of(at);
    // Parameters of kernels and constants are seen through other windows than generic addresses.
    if (space == Space::parameter || space == Space::constant) {
        (void)at.read(1, u64);
        return at.write(at.b.getFalse());
    }
    const char* name = at.has("shared::cluster") ? "llvm.nvvm.isspacep.shared.cluster"
                       : space == Space::shared  ? "llvm.nvvm.isspacep.shared"
                       : space == Space::global  ? "llvm.nvvm.isspacep.global"
                       : space == Space::local   ? "llvm.nvvm.isspacep.local"
                                                 : nullptr;
    if (!name) at.refuse();
    Value* pointer = at.function.pointer_of(at.read(1, u64), Space::generic);
    at.write(at.call(name, at.b.getInt1Ty(), {pointer}));
}

/// The fourth operand of cp.async: how many bytes, or a predicate under which none are read.
Value* bytes_read(InstructionContext& at, const Operand& operand, std::uint64_t bytes) {
    const llvm::AllocaInst* place =
        operand.kind == Operand::name ? at.function.variable(operand.text) : nullptr;
    if (!place || !place->getAllocatedType()->isIntegerTy(1)) return at.function.read(operand, u32);
    return at.b.CreateSelect(at.function.read(operand, predicate), at.b.getInt32(0),
                             at.b.getInt32(static_cast<std::uint32_t>(bytes)));
}

/// cp.async.ca.shared.global [to], [from], bytes {, bytes that are read; zeros are written for the rest};
/// commit_group, wait_group n and wait_all.
void translate_cp(InstructionContext& at) {
    const auto& operands = at.instruction.operands;
    if (!at.has("async") || at.has("bulk")) at.refuse();
    if (at.has("mbarrier")) return translate_arrival_of_copies(at);
    auto& b = at.b;
    llvm::Type* nothing = b.getVoidTy();
    if (at.has("commit_group")) return (void)at.call("llvm.nvvm.cp.async.commit.group", nothing, {});
    if (at.has("wait_all")) return (void)at.call("llvm.nvvm.cp.async.wait.all", nothing, {});
    if (at.has("wait_group")) {
        if (operands.size() != 1 || operands[0].kind != Operand::integer) at.refuse();
        Value* groups = b.getInt32(static_cast<std::uint32_t>(operands[0].value));
        return (void)at.call("llvm.nvvm.cp.async.wait.group", nothing, {groups});
    }
    const std::size_t count = operands.size() - (at.has("L2::cache_hint") ? 1 : 0);  // the last is the hint
    if (count < 3 || count > 4 || operands[2].kind != Operand::integer) at.refuse();
    const std::uint64_t bytes = operands[2].value;
    const bool past_l1 = at.has("cg");
    if (bytes != 16 && (past_l1 || (bytes != 4 && bytes != 8))) at.refuse();
    std::string name = std::string("llvm.nvvm.cp.async.") + (past_l1 ? "cg" : "ca") + ".shared.global." +
                       std::to_string(bytes);
    std::vector<Value*> arguments{at.function.pointer(operands[0], Space::shared),
                                  at.function.pointer(operands[1], Space::global)};
    if (count == 4) {
        name += ".s";
        arguments.push_back(bytes_read(at, operands[3], bytes));
    }
    (void)at.call(name.c_str(), nothing, arguments);
}

void translate_nothing(InstructionContext&) {}

AtomicRMWInst::BinOp operation_of(const InstructionContext& at) {
    const Type type = at.type();
    const bool real = type.kind == Type::real || type.kind == Type::half_pair || is_brain(type),
               with_sign = type.kind == Type::signed_;
    if (at.has("add")) return real ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
    if (at.has("exch")) return AtomicRMWInst::Xchg;
    if (at.has("and")) return AtomicRMWInst::And;
    if (at.has("or")) return AtomicRMWInst::Or;
    if (at.has("xor")) return AtomicRMWInst::Xor;
    if (at.has("inc")) return AtomicRMWInst::UIncWrap;
    if (at.has("dec")) return AtomicRMWInst::UDecWrap;
    if (at.has("min") && !real) return with_sign ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
    if (at.has("max") && !real) return with_sign ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
    at.refuse();
}

/// What an atomic operation computes with: LLVM's own type for bf16.
Value* atomic_operand(InstructionContext& at, const Operand& operand, Type type) {
    if (!is_brain(type)) return at.flushed(at.function.read(operand, type));
    llvm::Type* number = llvm::Type::getBFloatTy(at.function.module.context);
    if (type.kind == Type::brain_pair) number = llvm::FixedVectorType::get(number, 2);
    return at.b.CreateBitCast(at.function.read(operand, {Type::bits, type.width}), number);
}

/// @param first operand number of the address: atom has a result before it, red has none
/// @param part of {a, b, c, d}, each of which is an operation of its own; 0 for a single register
Value* atomic(InstructionContext& at, Value* place, std::size_t first, std::size_t part) {
    auto& b = at.b;
    const Type type = at.type();
    const bool is_real = type.kind == Type::real || is_brain(type);
    if ((type.width < 32 && !is_real && !at.has("cas")) || type.width > 64) at.refuse();
    const auto operand = [&](std::size_t i) {
        const std::vector<Operand> parts = parts_of(at.operand(i));
        if (part >= parts.size()) at.refuse();
        return atomic_operand(at, parts[part], type);
    };
    Value* value = operand(first + 1);
    const llvm::MaybeAlign alignment(type.width / 8);
    // PTX ISA, "atom": relaxed and the device's where it says nothing.
    const AtomicOrdering ordering = ordering_of(at, AtomicOrdering::Monotonic);
    const llvm::SyncScope::ID scope = sync_scope(at, image::Scope::device);
    if (at.has("async")) at.refuse();
    if (!at.has("cas")) return b.CreateAtomicRMW(operation_of(at), place, value, alignment, ordering, scope);
    const AtomicOrdering failure = llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering);
    Value* pair =
        b.CreateAtomicCmpXchg(place, value, operand(first + 2), alignment, ordering, failure, scope);
    return b.CreateExtractValue(pair, 0);
}

/// An operation for each register of {a, b, c, d}, in the order of addresses.
void translate_atomics(InstructionContext& at, std::size_t first) {
    auto& b = at.b;
    const Type type = at.type();
    const std::size_t count = parts_of(at.operand(first + 1)).size();
    const std::vector<Operand> results = first == 0 ? std::vector<Operand>() : parts_of(at.operand(0));
    if (first != 0 && results.size() != count && results[0].kind != Operand::discarded) at.refuse();
    Value* place = at.function.pointer(at.operand(first), space_of(at));
    for (std::size_t i = 0; i < count; ++i) {
        Value* address = i == 0 ? place : b.CreateConstGEP1_64(b.getInt8Ty(), place, i * type.width / 8);
        Value* before = atomic(at, address, first, i);
        if (i < results.size()) at.function.write(results[i], before);
    }
}

void translate_atom(InstructionContext& at) {
    translate_atomics(at, 1);
}

void translate_red(InstructionContext& at) {
    translate_atomics(at, 0);
}

/// An address in shared memory, of 32 or 64 bits as the instruction's type says: in its state space, or a
/// generic one. As a generic pointer.
Value* shared_address(InstructionContext& at) {
    Value* address = at.function.read(at.operand(1), {Type::bits, at.type().width});
    Value* pointer = at.function.pointer_of(address, space_of(at));
    return at.b.CreateAddrSpaceCast(pointer, llvm::PointerType::get(at.function.module.context, 0));
}

/// mapa{.shared::cluster} d, a, b: where the block of rank b in the cluster has what lies at a.
void translate_mapa(InstructionContext& at) {
    Value* address = shared_address(at);
    Value* mapped = at.call("llvm.nvvm.mapa", address->getType(), {address, at.read(2, u32)});
    at.write(at.b.CreatePtrToInt(mapped, at.b.getInt64Ty()));
}

void translate_rank_in_cluster(InstructionContext& at) {
    at.write(at.call("llvm.nvvm.getctarank", at.b.getInt32Ty(), {shared_address(at)}));
}

/// The policies that say how long something stays in a cache; there are no caches.
void translate_policy(InstructionContext& at) {
    at.function.write(at.operand(0), at.b.getInt64(0));
}

constexpr Row rows[] = {
    {"ld", translate_ld},
    {"ldu", translate_ld},
    {"st", translate_st},
    {"cvta", translate_cvta},
    {"isspacep", translate_isspacep},
    {"cp", translate_cp},
    {"prefetch", translate_nothing},
    {"prefetchu", translate_nothing},
    {"discard", translate_nothing},
    {"applypriority", translate_nothing},
    {"createpolicy", translate_policy},
    {"griddepcontrol", translate_nothing},
    {"setmaxnreg", translate_nothing},
    {"pmevent", translate_nothing},
    {"mapa", translate_mapa},
    {"getctarank", translate_rank_in_cluster},
    {"atom", translate_atom},
    {"red", translate_red},
};

}  // namespace

std::span<const Row> memory_rows() {
    return rows;
}

}  // namespace cudasim::ptx
