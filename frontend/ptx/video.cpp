// Video instructions (PTX ISA, "Video Instructions"): arithmetic on parts of words, of one part each (vadd),
// on two halves (vadd2) or on four bytes (vadd4), with a second operation or parts that are kept.
#include <llvm/IR/Intrinsics.h>

#include <optional>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

/// An operand's name and the parts that its suffix selects: %r1.b3210, %r1.h1.
struct Selected {
    Operand operand;
    unsigned width = 32;          ///< of a part
    std::vector<unsigned> parts;  ///< from the lowest on; empty: no suffix
};

Selected selected(const InstructionContext& at, std::size_t i) {
    Selected result{at.operand(i), 32, {}};
    std::string& text = result.operand.text;
    const std::size_t dot = text.rfind('.');
    if (result.operand.kind != Operand::name || dot == std::string::npos || dot + 1 == text.size() ||
        (text[dot + 1] != 'b' && text[dot + 1] != 'h'))
        return result;
    result.width = text[dot + 1] == 'b' ? 8 : 16;
    for (std::size_t digit = text.size(); --digit > dot + 1;) {
        if (text[digit] < '0' || text[digit] > '7') at.refuse();
        result.parts.push_back(static_cast<unsigned>(text[digit] - '0'));
    }
    text.resize(dot);
    return result;
}

/// What an instruction says: vadd4.s32.s32.u32.sat.add
struct Video {
    std::string operation;  ///< "add"
    unsigned lanes = 1;
    Type result, left, right;
    bool saturates = false, accumulates = false;
};

Video parsed(const InstructionContext& at) {
    Video video;
    video.operation = at.instruction.opcode[0].substr(1);
    if (const char last = video.operation.back(); last == '2' || last == '4') {
        video.lanes = static_cast<unsigned>(last - '0');
        video.operation.pop_back();
    }
    if (video.operation == "set") {  // has no type for its result, which is unsigned
        video.left = at.type(1), video.right = at.type();
        video.result = u32;
    } else {
        video.result = at.type(2), video.left = at.type(1), video.right = at.type();
    }
    video.saturates = at.has("sat");
    video.accumulates = video.lanes > 1 && at.has("add");
    return video;
}

std::optional<llvm::CmpInst::Predicate> comparison_of(const InstructionContext& at) {
    using llvm::CmpInst;
    constexpr std::pair<std::string_view, CmpInst::Predicate> comparisons[] = {
        {"eq", CmpInst::ICMP_EQ},  {"ne", CmpInst::ICMP_NE},  {"lt", CmpInst::ICMP_SLT},
        {"le", CmpInst::ICMP_SLE}, {"gt", CmpInst::ICMP_SGT}, {"ge", CmpInst::ICMP_SGE}};
    for (const auto& [name, how] : comparisons)
        if (at.has(name)) return how;
    return {};
}

/// One part with another, in 64 bits, which hold every value of 32 bits with or without a sign.
Value* operated(InstructionContext& at, const Video& video, Value* left, Value* right) {
    auto& b = at.b;
    const std::string& name = video.operation;
    if (name == "add") return b.CreateAdd(left, right);
    if (name == "sub") return b.CreateSub(left, right);
    if (name == "min") return b.CreateBinaryIntrinsic(Intrinsic::smin, left, right);
    if (name == "max") return b.CreateBinaryIntrinsic(Intrinsic::smax, left, right);
    if (name == "absdiff")
        return b.CreateBinaryIntrinsic(Intrinsic::abs, b.CreateSub(left, right), b.getFalse());
    if (name == "avrg") {  // halves are rounded away from zero
        Value* sum = b.CreateAdd(left, right);
        Value* up = b.CreateZExt(b.CreateICmpSGE(sum, b.getInt64(0)), sum->getType());
        return b.CreateAShr(b.CreateAdd(sum, up), 1);
    }
    if (name == "set") {
        const auto how = comparison_of(at);
        if (!how) at.refuse();
        return b.CreateZExt(b.CreateICmp(*how, left, right), b.getInt64Ty());
    }
    if (name == "shl" || name == "shr") {
        if (!at.has("wrap") && !at.has("clamp")) at.refuse();
        Value* amount = at.has("wrap") ? b.CreateAnd(right, 31)
                                       : b.CreateBinaryIntrinsic(Intrinsic::umin, right, b.getInt64(32));
        return name == "shl" ? b.CreateShl(left, amount) : b.CreateAShr(left, amount);
    }
    at.refuse();
}

/// To the numbers of a width, with or without a sign.
Value* saturated(llvm::IRBuilder<>& b, Value* value, bool with_sign, unsigned width) {
    const auto limit = [&](const llvm::APInt& number) {
        return llvm::ConstantInt::get(value->getType(), number);
    };
    const llvm::APInt low = with_sign ? llvm::APInt::getSignedMinValue(width).sext(64) : llvm::APInt(64, 0);
    const llvm::APInt high =
        with_sign ? llvm::APInt::getSignedMaxValue(width).sext(64) : llvm::APInt::getMaxValue(width).zext(64);
    value = b.CreateBinaryIntrinsic(Intrinsic::smax, value, limit(low));
    return b.CreateBinaryIntrinsic(Intrinsic::smin, value, limit(high));
}

/// Bits [first, first + width) of a value, in 64 bits.
Value* part_of(llvm::IRBuilder<>& b, Value* value, unsigned first, unsigned width, bool with_sign) {
    Value* part = b.CreateTrunc(b.CreateLShr(value, first), b.getIntNTy(width));
    return b.CreateIntCast(part, b.getInt64Ty(), with_sign);
}

/// vadd2 and vadd4: a lane takes any of the parts of b and a, numbered from the lowest of a on. Lanes that
/// the suffix of d does not name are those of c; with .add all that are named are added to c.
void translate_lanes(InstructionContext& at, const Video& video) {
    auto& b = at.b;
    const unsigned width = 32 / video.lanes;
    const Selected target = selected(at, 0), left = selected(at, 1), right = selected(at, 2);
    Value* words =
        b.CreateOr(b.CreateZExt(at.function.read(left.operand, u32), b.getInt64Ty()),
                   b.CreateShl(b.CreateZExt(at.function.read(right.operand, u32), b.getInt64Ty()), 32));
    std::uint32_t written = target.parts.empty() ? ~0U : 0;
    for (const unsigned part : target.parts) written |= 1U << part;
    for (const Selected* each : {&left, &right})
        if (!each->parts.empty() && each->parts.size() != video.lanes) at.refuse();
    Value* rest = at.instruction.operands.size() > 3 ? at.read(3, u32) : b.getInt32(0);
    Value* result = rest;
    for (unsigned lane = 0; lane < video.lanes; ++lane) {
        if (((written >> lane) & 1) == 0) continue;
        const auto taken = [&](const Selected& from, unsigned otherwise, Type type) {
            const unsigned part = from.parts.empty() ? otherwise : from.parts[lane];
            if (part >= 2 * video.lanes) at.refuse();
            return part_of(b, words, part * width, width, type.kind == Type::signed_);
        };
        Value* value =
            operated(at, video, taken(left, lane, video.left), taken(right, lane + video.lanes, video.right));
        if (video.saturates) value = saturated(b, value, video.result.kind == Type::signed_, width);
        value = b.CreateTrunc(value, b.getInt32Ty());
        if (video.accumulates) {
            result = b.CreateAdd(result, value);
            continue;
        }
        const std::uint32_t ones = (1U << width) - 1;
        value = b.CreateShl(b.CreateAnd(value, ones), lane * width);
        result = b.CreateOr(b.CreateAnd(result, ~(ones << (lane * width))), value);
    }
    at.function.write(target.operand, result);
}

/// vadd: parts of a and b give a word, or a part of d whose other parts are those of c, or one that is
/// combined with c.
void translate_one(InstructionContext& at, const Video& video) {
    auto& b = at.b;
    const Selected target = selected(at, 0);
    const auto taken = [&](std::size_t i, Type type) {
        const Selected from = selected(at, i);
        if (from.parts.size() > 1) at.refuse();
        const unsigned first = from.parts.empty() ? 0 : from.parts[0] * from.width;
        if (first >= 32) at.refuse();
        return part_of(b, at.function.read(from.operand, u32), first, from.width, type.kind == Type::signed_);
    };
    Value* value = operated(at, video, taken(1, video.left), taken(2, video.right));
    const bool with_sign = video.result.kind == Type::signed_;
    if (video.saturates) value = saturated(b, value, with_sign, target.width);
    value = b.CreateTrunc(value, b.getInt32Ty());
    if (at.instruction.operands.size() == 3) return at.function.write(target.operand, value);
    Value* rest = at.read(3, u32);
    if (target.parts.size() == 1) {
        const unsigned first = target.parts[0] * target.width;
        if (first >= 32) at.refuse();
        const std::uint32_t ones = (1U << target.width) - 1;
        value = b.CreateShl(b.CreateAnd(value, ones), first);
        value = b.CreateOr(b.CreateAnd(rest, ~(ones << first)), value);
    } else {
        const std::string& second = at.instruction.opcode.back();
        if (second == "add")
            value = b.CreateAdd(value, rest);
        else if (second == "min")
            value = b.CreateBinaryIntrinsic(with_sign ? Intrinsic::smin : Intrinsic::umin, value, rest);
        else if (second == "max")
            value = b.CreateBinaryIntrinsic(with_sign ? Intrinsic::smax : Intrinsic::umax, value, rest);
        else
            at.refuse();
    }
    at.function.write(target.operand, value);
}

void translate_video(InstructionContext& at) {
    const Video video = parsed(at);
    if (video.lanes > 1) return translate_lanes(at, video);
    translate_one(at, video);
}

/// vmad: a * b + c in 64 bits, shifted, with .po one more.
void translate_vmad(InstructionContext& at) {
    auto& b = at.b;
    const Type result = at.type(2), left = at.type(1), right = at.type();
    const auto taken = [&](std::size_t i, Type type) {
        const Selected from = selected(at, i);
        if (from.parts.size() > 1 || from.operand.negated) at.refuse();
        const unsigned first = from.parts.empty() ? 0 : from.parts[0] * from.width;
        if (first >= 32) at.refuse();
        return part_of(b, at.function.read(from.operand, u32), first, from.width, type.kind == Type::signed_);
    };
    const bool with_sign = left.kind == Type::signed_ || right.kind == Type::signed_;
    Value* value = b.CreateMul(taken(1, left), taken(2, right));
    value = b.CreateAdd(value, b.CreateIntCast(at.read(3, u32), b.getInt64Ty(), with_sign));
    if (at.has("po")) value = b.CreateAdd(value, b.getInt64(1));
    const unsigned shift = at.has("shr7") ? 7 : at.has("shr15") ? 15 : 0;
    value = with_sign ? b.CreateAShr(value, shift) : b.CreateLShr(value, shift);
    if (at.has("sat")) value = saturated(b, value, result.kind == Type::signed_, 32);
    at.write(b.CreateTrunc(value, b.getInt32Ty()));
}

constexpr Row rows[] = {
    {"vadd", translate_video},      {"vsub", translate_video},   {"vabsdiff", translate_video},
    {"vmin", translate_video},      {"vmax", translate_video},   {"vshl", translate_video},
    {"vshr", translate_video},      {"vset", translate_video},   {"vadd2", translate_video},
    {"vsub2", translate_video},     {"vavrg2", translate_video}, {"vabsdiff2", translate_video},
    {"vmin2", translate_video},     {"vmax2", translate_video},  {"vset2", translate_video},
    {"vadd4", translate_video},     {"vsub4", translate_video},  {"vavrg4", translate_video},
    {"vabsdiff4", translate_video}, {"vmin4", translate_video},  {"vmax4", translate_video},
    {"vset4", translate_video},     {"vmad", translate_vmad},
};

}  // namespace

std::span<const Row> video_rows() {
    return rows;
}

}  // namespace cudasim::ptx
