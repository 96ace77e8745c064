// Inline shadow lookups (C1; the test is in abi.h) before each access that is not known to be fine.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <map>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/local_variables.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/standard_instrumentations.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Longer accesses and copies (whole structs) are left to the engine.
constexpr std::uint64_t largest_inline = 64;

struct CheckedAccess : MemoryAccess {
    const CallInst* capture = nullptr;
};

/// Accesses that are looked at together, in front of the first one: of one basic block, at constant offsets
/// from one address, like the members of a float4. What a program's threads see of each other cannot tell,
/// because all that is moved is a check.
struct CheckedTogether {
    std::vector<CheckedAccess> members;  ///< in the order of the program
    Value* base = nullptr;
    std::vector<std::int64_t> offsets;  ///< of the members, from the base

    /// The lowest offset, and the offset behind the last byte.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> range() const {
        std::int64_t low = offsets.front(), end = low;
        for (std::size_t i = 0; i < members.size(); ++i) {
            low = std::min(low, offsets[i]);
            end = std::max(end, offsets[i] + static_cast<std::int64_t>(members[i].fixed_bytes));
        }
        return {low, end};
    }
};

class MemoryChecks {
  public:
    MemoryChecks(Compilation& compilation, Function& function, bool constants)
        : compilation_(compilation),
          function_(function),
          constants_(constants),
          data_layout_(function.getParent()->getDataLayout()),
          head_(function),
          locals_(function) {}

    /// True when it put in any check.
    bool run() {
        std::vector<CheckedTogether> needed;
        std::map<std::pair<const Value*, std::uint32_t>, std::size_t> open;  // by base and flags
        const BasicBlock* block = nullptr;
        for (Instruction& instruction : instructions(function_)) {
            if (block != instruction.getParent() || ends_groups(instruction)) open.clear();
            block = instruction.getParent();
            if (needs_no_memory_check(instruction)) continue;
            for (const MemoryAccess& access : memory_accesses_of(instruction, data_layout_)) {
                if (is_known_fine(access)) continue;
                CheckedAccess made{access, capture_before(instruction)};
                if (const auto bytes = constant_bytes(access))
                    made.fixed_bytes = *bytes, made.bytes = nullptr;
                APInt offset(64, 0);
                Value* base = made.address->stripAndAccumulateConstantOffsets(data_layout_, offset, true);
                if (!may_be_joined(made)) {
                    needed.push_back({{made}, base, {offset.getSExtValue()}});
                    continue;
                }
                const auto [known, inserted] = open.try_emplace({base, made.flags}, needed.size());
                if (!inserted && join(needed[known->second], made, offset.getSExtValue())) continue;
                known->second = needed.size();
                needed.push_back({{made}, base, {offset.getSExtValue()}});
            }
        }
        locals_.protect();
        for (const CheckedTogether& each : needed) {
            if (each.members.size() == 1)
                check(each.members.front());
            else
                check_together(each);
        }
        return !needed.empty();
    }

  private:
    /// Whether a check of what comes behind the instruction may not be made in front of it.
    static bool ends_groups(const Instruction& instruction) {
        if (is_capture(instruction) || isa<LoadInst, StoreInst>(instruction))
            return instruction.isAtomic() || instruction.isVolatile();
        return instruction.mayHaveSideEffects();
    }

    static bool may_be_joined(const CheckedAccess& access) {
        return !access.bytes && access.fixed_bytes != 0 && access.fixed_bytes <= largest_inline &&
               isa<LoadInst, StoreInst>(access.at) && !ends_groups(*access.at) &&
               !variable_behind(access.address);
    }

    /// False where one test of all does not say that each is aligned, or where it would be a long one.
    static bool join(CheckedTogether& group, const CheckedAccess& access, std::int64_t offset) {
        CheckedTogether joined = group;
        joined.members.push_back(access);
        joined.offsets.push_back(offset);
        const auto [low, end] = joined.range();
        if (end - low > static_cast<std::int64_t>(largest_inline)) return false;
        const std::uint64_t alignment = alignment_of(joined);
        for (std::size_t i = 0; i < joined.members.size(); ++i) {
            const std::uint64_t own = joined.members[i].alignment;
            if (own > alignment || static_cast<std::uint64_t>(joined.offsets[i] - low) % own != 0)
                return false;
        }
        group = std::move(joined);
        return true;
    }

    /// What the lowest member promises.
    static std::uint64_t alignment_of(const CheckedTogether& group) {
        const auto lowest = std::ranges::min_element(group.offsets) - group.offsets.begin();
        return group.members[static_cast<std::size_t>(lowest)].alignment;
    }

    void check_together(const CheckedTogether& group) {
        const auto [low, end] = group.range();
        const CheckedAccess& first = group.members.front();
        CheckedAccess all = first;
        all.fixed_bytes = static_cast<std::uint64_t>(end - low);
        all.alignment = alignment_of(group);
        IRBuilder<> builder(first.at);
        Value* base = builder.CreatePtrToInt(group.base, builder.getInt64Ty());
        Value* address = builder.CreateAdd(base, builder.getInt64(static_cast<std::uint64_t>(low)));
        IRBuilder<> cold(branch_if_failing(builder, all, address, false));
        for (std::size_t i = 0; i < group.members.size(); ++i) {
            CheckedAccess member = group.members[i];
            member.capture = first.capture;
            cold.SetCurrentDebugLocation(member.at->getDebugLoc());
            Value* own = cold.CreateAdd(base, cold.getInt64(static_cast<std::uint64_t>(group.offsets[i])));
            call_check(cold, own, cold.getInt64(member.fixed_bytes), member);
        }
    }

    bool is_known_fine(const MemoryAccess& access) const {
        const auto bytes = constant_bytes(access);
        if (!bytes) return false;
        if (*bytes == 0) return true;
        if (lies_inside_locals(*access.address, *bytes, access.alignment)) return true;
        const PlaceInObject place = place_in_object(access.address, data_layout_);
        if (!place.offset || *place.offset < 0) return false;
        const auto offset = static_cast<std::uint64_t>(*place.offset);
        if (offset % access.alignment != 0) return false;
        if (lies_in_parameter(*place.object, offset, *bytes)) return (access.flags & access_write) == 0;
        const auto variable = variable_at(place.object);
        if (!variable || access.alignment > 16) return false;
        const bool forbidden = variable->space == constant && (access.flags & access_write) != 0;
        return !forbidden && offset + *bytes <= variable->bytes;
    }

    /// The kernel's parameters that are passed by value lie in the launch's buffer, which is host memory.
    bool lies_in_parameter(const Value& object, std::uint64_t offset, std::uint64_t bytes) const {
        const auto* argument = dyn_cast<Argument>(&object);
        if (!argument || argument->getParent() != compilation_.kernel ||
            argument->getArgNo() < body_parameters)
            return false;
        const unsigned index = argument->getArgNo() - body_parameters;
        return compilation_.by_value[index] &&
               offset + bytes <= compilation_.description->parameters[index].size;
    }

    /// Does it derive from a variable in constant memory? Then read-only shadow is what is expected.
    static bool reads_constant(const CheckedAccess& access) {
        const auto variable = variable_behind(access.address);
        return variable && variable->space == constant && (access.flags & access_write) == 0;
    }

    void check(const CheckedAccess& access) {
        if (access.bytes || access.fixed_bytes > largest_inline) return check_range(access);
        if (access.fixed_bytes == 0) return;
        IRBuilder<> builder(access.at);
        Value* address = builder.CreatePtrToInt(access.address, builder.getInt64Ty());
        if (Value* outside = outside_of_variable(builder, access, address)) {
            IRBuilder<> cold(branch_cold(outside, access.at, true));
            cold.SetCurrentDebugLocation(access.at->getDebugLoc());
            call_check(cold, address, cold.getInt64(access.fixed_bytes), access);
            return;
        }
        IRBuilder<> cold(branch_if_failing(builder, access, address, reads_constant(access)));
        cold.SetCurrentDebugLocation(access.at->getDebugLoc());
        call_check(cold, address, cold.getInt64(access.fixed_bytes), access);
    }

    /// Where the engine is to look: in front of this instruction.
    Instruction* branch_if_failing(IRBuilder<>& builder, const CheckedAccess& access, Value* address,
                                   bool constants_too) {
        Instruction* failed =
            branch_cold(failing_test(builder, access, address, constants_too), access.at, true);
        if (constants_ && !constants_too && (access.flags & access_write) == 0) {
            // A pointer that nobody could follow may point to constants: virtual tables, string literals.
            IRBuilder<> cold(failed);
            failed = branch_cold(failing_test(cold, access, address, true), failed, true);
        }
        return failed;
    }

    /// For an access whose address derives from a variable of the image: whether it does not lie inside of
    /// that, which the optimiser knows more of than of shadow memory. What lies outside may be fine all the
    /// same: the engine looks. Null for other accesses.
    static Value* outside_of_variable(IRBuilder<>& builder, const CheckedAccess& access, Value* address) {
        Value* base = access.address;
        std::optional<ImageVariable> variable;
        while (auto* element = dyn_cast<GEPOperator>(base)) {
            if ((variable = variable_at(element))) break;
            base = element->getPointerOperand();
        }
        if (!variable || variable->bytes < access.fixed_bytes || access.alignment > 16) return nullptr;
        if (variable->space == constant && (access.flags & access_write) != 0) return nullptr;
        Value* offset = builder.CreateSub(address, builder.CreatePtrToInt(base, builder.getInt64Ty()));
        Value* outside =
            builder.CreateICmpUGT(offset, builder.getInt64(variable->bytes - access.fixed_bytes));
        if (access.alignment > 1) {
            Value* low = builder.CreateAnd(offset, builder.getInt64(access.alignment - 1));
            outside = builder.CreateOr(outside, builder.CreateICmpNE(low, builder.getInt64(0)));
        }
        return outside;
    }

    /// An access of any length: the engine looks at all of it.
    void check_range(const CheckedAccess& access) {
        IRBuilder<> builder(access.at);
        Value* address = builder.CreatePtrToInt(access.address, builder.getInt64Ty());
        Value* bytes = access.bytes ? builder.CreateZExtOrTrunc(access.bytes, builder.getInt64Ty())
                                    : builder.getInt64(access.fixed_bytes);
        IRBuilder<> some(branch_cold(builder.CreateICmpNE(bytes, builder.getInt64(0)), access.at, true));
        some.SetCurrentDebugLocation(access.at->getDebugLoc());
        call_check(some, address, bytes, access);
    }

    static void call_check(IRBuilder<>& builder, Value* address, Value* bytes, const CheckedAccess& access) {
        const std::uint32_t flags = access.flags | static_cast<std::uint32_t>(access.alignment << 8);
        CallInst* hook = call_hook(builder, Hook::access_check, {address, bytes, builder.getInt32(flags)});
        if (access.capture) copy_capture(*access.capture, *hook);
    }

    /// True when the access may be illegal: shadow of all granules that it touches, and alignment.
    Value* failing_test(IRBuilder<>& builder, const CheckedAccess& access, Value* address, bool read_only) {
        const std::uint64_t bytes = access.fixed_bytes;
        Value* bad = nullptr;
        auto or_bad = [&](Value* condition) { bad = bad ? builder.CreateOr(bad, condition) : condition; };
        const bool whole_granules = access.alignment >= 8 && bytes > 8 && isPowerOf2_64(bytes);
        if (whole_granules) {
            or_bad(granules_test(builder, address, bytes / 8, read_only));
        } else {
            for (std::uint64_t first = 0; first < bytes; first += 8) {
                Value* part = first == 0 ? address : builder.CreateAdd(address, builder.getInt64(first));
                or_bad(granule_test(builder, part, bytes - first, access.alignment, read_only));
            }
            // Unless it is aligned so that it cannot, it may end in one granule more.
            const std::uint64_t rest = bytes % 8 == 0 ? 8 : bytes % 8;
            if (access.alignment < PowerOf2Ceil(rest)) {
                Value* last = builder.CreateAdd(address, builder.getInt64(bytes - 1));
                or_bad(granule_test(builder, last, 1, 1, read_only));
            }
        }
        if (access.alignment > 1) {
            Value* low = builder.CreateAnd(address, builder.getInt64(access.alignment - 1));
            or_bad(builder.CreateICmpNE(low, builder.getInt64(0)));
        }
        return bad;
    }

    /// The shadow of one granule or of several.
    Value* shadow_of(IRBuilder<>& builder, Value* address, std::uint64_t granules) {
        Value* shadow = head_.block_field(offsetof(BlockContext, shadow_base), builder.getPtrTy());
        Value* slot =
            builder.CreateGEP(builder.getInt8Ty(), shadow, builder.CreateLShr(address, shadow_granule_log2));
        Type* type = builder.getIntNTy(static_cast<unsigned>(8 * granules));
        auto* load = builder.CreateAlignedLoad(type, slot, Align(1));
        mark_internal(*load);
        return load;
    }

    /// Whether not all of the granules from an aligned address on are open as a whole. Where reading is
    /// enough, some of which are read-only and others not are left to the engine.
    Value* granules_test(IRBuilder<>& builder, Value* address, std::uint64_t granules, bool read_only) {
        Value* shadow = shadow_of(builder, address, granules);
        const auto differs = [&](std::int8_t each) {
            const APInt all = APInt::getSplat(shadow->getType()->getIntegerBitWidth(),
                                              APInt(8, static_cast<std::uint8_t>(each)));
            return builder.CreateICmpNE(shadow, builder.getInt(all));
        };
        return read_only ? builder.CreateAnd(differs(8), differs(-8)) : differs(8);
    }

    /// (address & 7) + bytes > shadow[address >> 3], for those of the bytes that lie in that granule.
    Value* granule_test(IRBuilder<>& builder, Value* address, std::uint64_t bytes, std::uint64_t alignment,
                        bool read_only) {
        Value* open = builder.CreateSExt(shadow_of(builder, address, 1), builder.getInt32Ty());
        if (read_only) open = builder.CreateBinaryIntrinsic(Intrinsic::abs, open, builder.getFalse());
        Value* end = builder.getInt32(8);
        if (bytes < 8) {
            Value* first =
                builder.CreateAnd(builder.CreateTrunc(address, builder.getInt32Ty()), builder.getInt32(7));
            Value* beyond = builder.CreateAdd(first, builder.getInt32(static_cast<std::uint32_t>(bytes)));
            const bool lies_inside = alignment >= PowerOf2Ceil(bytes);
            end = lies_inside ? beyond : builder.CreateBinaryIntrinsic(Intrinsic::umin, beyond, end);
        }
        return builder.CreateICmpSGT(end, open);
    }

    Compilation& compilation_;
    Function& function_;
    bool constants_;  ///< the image has read-only variables
    const DataLayout& data_layout_;
    FunctionContext head_;
    LocalVariables locals_;
};

class MemoryCheckInstrumentation final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "memory_checks"; }
    [[nodiscard]] std::uint32_t version() const override { return 5; }
    [[nodiscard]] bool needs_redzones() const override { return true; }

    /// A dead load out of bounds is a finding all the same.
    void early(Compilation& compilation) const override {
        keep_loads(compilation, [](const LoadInst& load) { return !needs_no_memory_check(load); });
    }

    void late(Compilation& compilation) const override {
        const bool constants = any_of(compilation.layout.globals->variables,
                                      [](const jit::GlobalVariable& variable) { return variable.constant; });
        for (Function& function : *compilation.module) {
            if (!function.isDeclaration())
                compilation.uses_shadow |= MemoryChecks(compilation, function, constants).run();
        }
    }
};

const MemoryCheckInstrumentation instrumentation;

}  // namespace

const Instrumentation& memory_checks() {
    return instrumentation;
}

}  // namespace cudasim::jit
