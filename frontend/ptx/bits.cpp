// Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions", "Integer Arithmetic Instructions",
// prmt).
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

Value* combine(InstructionContext& at, Value* left, Value* right) {
    if (at.instruction.opcode[0] == "and") return at.b.CreateAnd(left, right);
    if (at.instruction.opcode[0] == "or") return at.b.CreateOr(left, right);
    return at.b.CreateXor(left, right);
}

void translate_logic(InstructionContext& at) {
    at.write(combine(at, at.read(1), at.read(2)));
}

void translate_not(InstructionContext& at) {
    at.write(at.b.CreateNot(at.read(1)));
}

/// Gives 1 for 0, else 0.
void translate_cnot(InstructionContext& at) {
    Value* value = at.read(1);
    at.write(at.b.CreateZExt(at.b.CreateIsNull(value), value->getType()));
}

/// Amounts above the width shift everything out.
void translate_shl(InstructionContext& at) {
    auto& b = at.b;
    const Type type = at.type();
    Value* amount = at.read(2, u32);
    Value* fits = b.CreateICmpULT(amount, b.getInt32(type.width));
    Value* value = at.read(1);
    Value* used = b.CreateSelect(fits, amount, b.getInt32(0));
    Value* moved = b.CreateShl(value, b.CreateZExtOrTrunc(used, value->getType()));
    at.write(b.CreateSelect(fits, moved, llvm::Constant::getNullValue(value->getType())));
}

void translate_shr(InstructionContext& at) {
    auto& b = at.b;
    const Type type = at.type();
    Value* value = at.read(1);
    Value* amount = b.CreateBinaryIntrinsic(Intrinsic::umin, at.read(2, u32), b.getInt32(type.width));
    Value* all = b.CreateICmpEQ(amount, b.getInt32(type.width));
    Value* used =
        b.CreateZExtOrTrunc(b.CreateSelect(all, b.getInt32(type.width - 1), amount), value->getType());
    if (type.kind == Type::signed_) return at.write(b.CreateAShr(value, used));
    at.write(b.CreateSelect(all, llvm::Constant::getNullValue(value->getType()), b.CreateLShr(value, used)));
}

/// Funnel shift of the pair b:a; .clamp stops at 32, .wrap counts modulo 32.
void translate_shf(InstructionContext& at) {
    auto& b = at.b;
    Value* low = b.CreateZExt(at.read(1, u32), b.getInt64Ty());
    Value* high = b.CreateZExt(at.read(2, u32), b.getInt64Ty());
    Value* pair = b.CreateOr(b.CreateShl(high, 32), low);
    Value* amount = at.read(3, u32);
    amount = at.has("wrap") ? b.CreateAnd(amount, 31)
                            : b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(32));
    Value* wide = b.CreateZExt(amount, b.getInt64Ty());
    Value* moved = at.has("l") ? b.CreateLShr(b.CreateShl(pair, wide), 32) : b.CreateLShr(pair, wide);
    at.write(b.CreateTrunc(moved, b.getInt32Ty()));
}

/// Any function of three bits: bit 4a + 2b + c of the table.
void translate_lop3(InstructionContext& at) {
    auto& b = at.b;
    const Operand& table = at.operand(4);
    if (table.kind != Operand::integer) at.refuse();
    Value* result = b.getInt32(0);
    for (unsigned row = 0; row < 8; ++row) {
        if (!((table.value >> row) & 1)) continue;
        Value* all = b.getInt32(~0U);
        for (unsigned input = 0; input < 3; ++input) {
            Value* bits = at.read(1 + input, u32);
            all = b.CreateAnd(all, (row >> (2 - input)) & 1 ? bits : b.CreateNot(bits));
        }
        result = b.CreateOr(result, all);
    }
    const bool is_and = at.has("and");
    if (!is_and && !at.has("or")) return at.write(result);
    // lop3.or.b32 d|p, a, b, c, table, q: p also says whether any bit is set, combined with q.
    const Operand& target = at.operand(0);
    if (target.kind != Operand::list) at.refuse();
    Value* any = b.CreateIsNotNull(result);
    Value* other = at.read(5, predicate);
    at.function.write(target.elements[0], result);
    at.function.write(target.elements[1], is_and ? b.CreateAnd(any, other) : b.CreateOr(any, other));
}

/// The position of the set bit that is `offset` of them away from `start`, upwards or, below 0, downwards;
/// all ones where there is none.
void translate_fns(InstructionContext& at) {
    auto& b = at.b;
    Value* mask = at.read(1, u32);
    Value* start = at.read(2, u32);
    Value* offset = at.read(3, u32);
    Value* downwards = b.CreateICmpSLT(offset, b.getInt32(0));
    mask = b.CreateSelect(downwards, b.CreateUnaryIntrinsic(Intrinsic::bitreverse, mask), mask);
    start = b.CreateSelect(downwards, b.CreateSub(b.getInt32(31), start), start);
    start = b.CreateAnd(start, 31);
    Value* number = b.CreateBinaryIntrinsic(Intrinsic::abs, offset, b.getFalse());
    Value* left = b.CreateShl(b.CreateLShr(mask, start), start);
    Value* here = b.CreateAnd(mask, b.CreateShl(b.getInt32(1), start));
    for (std::uint32_t passed = 1; passed < 32; ++passed) {
        Value* without_lowest = b.CreateAnd(left, b.CreateSub(left, b.getInt32(1)));
        left = b.CreateSelect(b.CreateICmpUGT(number, b.getInt32(passed)), without_lowest, left);
    }
    left = b.CreateSelect(b.CreateIsNull(offset), here, left);
    Value* exists = b.CreateAnd(b.CreateIsNotNull(left), b.CreateICmpULE(number, b.getInt32(32)));
    Value* place = b.CreateBinaryIntrinsic(Intrinsic::cttz, left, b.getFalse());
    place = b.CreateSelect(downwards, b.CreateSub(b.getInt32(31), place), place);
    at.write(b.CreateSelect(exists, place, b.getInt32(~0U)));
}

/// bmsk: b ones from bit a on. szext: the low b bits of a, with their sign or zeros above. What goes beyond
/// 32 counts modulo 32 with .wrap, as 32 with .clamp.
void translate_bmsk(InstructionContext& at) {
    auto& b = at.b;
    const auto amount = [&](std::size_t i) {
        Value* value = at.read(i, u32);
        value = at.has("wrap") ? b.CreateAnd(value, 31)
                               : b.CreateBinaryIntrinsic(Intrinsic::umin, value, b.getInt32(32));
        return b.CreateZExt(value, b.getInt64Ty());
    };
    Value* ones = b.CreateSub(b.CreateShl(b.getInt64(1), amount(2)), b.getInt64(1));
    at.write(b.CreateTrunc(b.CreateShl(ones, amount(1)), b.getInt32Ty()));
}

void translate_szext(InstructionContext& at) {
    auto& b = at.b;
    Value* width = at.read(2, u32);
    width = at.has("wrap") ? b.CreateAnd(width, 31)
                           : b.CreateBinaryIntrinsic(Intrinsic::umin, width, b.getInt32(32));
    Value* unused = b.CreateSub(b.getInt64(64), b.CreateZExt(width, b.getInt64Ty()));
    // 64 is no amount to shift by: a step of one less and another of one.
    unused = b.CreateSub(unused, b.getInt64(1));
    Value* top = b.CreateShl(b.CreateShl(b.CreateZExt(at.read(1), b.getInt64Ty()), unused), 1);
    const bool with_sign = at.type().kind == Type::signed_;
    top = with_sign ? b.CreateAShr(b.CreateAShr(top, unused), 1) : b.CreateLShr(b.CreateLShr(top, unused), 1);
    at.write(b.CreateTrunc(top, b.getInt32Ty()));
}

/// The bit field [start, start + length) of a; signed: filled with its topmost bit, or a's where it reaches
/// beyond.
void translate_bfe(InstructionContext& at) {
    auto& b = at.b;
    const Type type = at.type();
    Value* value = at.read(1);
    llvm::Type* wide = b.getIntNTy(2 * type.width);
    const bool with_sign = type.kind == Type::signed_;
    Value* start = b.CreateZExtOrTrunc(b.CreateAnd(at.read(2, u32), 255), wide);
    Value* length = b.CreateZExtOrTrunc(b.CreateAnd(at.read(3, u32), 255), wide);
    Value* width = llvm::ConstantInt::get(wide, type.width);
    start = b.CreateBinaryIntrinsic(Intrinsic::umin, start, width);
    length = b.CreateBinaryIntrinsic(Intrinsic::umin, length, width);
    Value* from_start = b.CreateIntCast(value, wide, with_sign);
    from_start = with_sign ? b.CreateAShr(from_start, start) : b.CreateLShr(from_start, start);
    Value* unused =
        b.CreateSub(llvm::ConstantInt::get(wide, 2 * type.width - 1), length);  // one less: length 0 is legal
    Value* top = b.CreateShl(b.CreateShl(from_start, unused), 1);
    Value* field =
        with_sign ? b.CreateAShr(b.CreateAShr(top, unused), 1) : b.CreateLShr(b.CreateLShr(top, unused), 1);
    at.write(b.CreateTrunc(field, value->getType()));
}

/// a's low bits into b from bit `start` on.
void translate_bfi(InstructionContext& at) {
    auto& b = at.b;
    const Type type = at.type();
    llvm::Type* narrow = b.getIntNTy(type.width);
    llvm::Type* wide = b.getIntNTy(2 * type.width);
    Value* width = llvm::ConstantInt::get(wide, type.width);
    const auto limited = [&](std::size_t i) {
        return b.CreateBinaryIntrinsic(Intrinsic::umin,
                                       b.CreateZExtOrTrunc(b.CreateAnd(at.read(i, u32), 255), wide), width);
    };
    Value* one = llvm::ConstantInt::get(wide, 1);
    Value* ones = b.CreateSub(b.CreateShl(one, limited(4)), one);
    Value* start = limited(3);
    Value* mask = b.CreateTrunc(b.CreateShl(ones, start), narrow);
    Value* moved = b.CreateTrunc(b.CreateShl(b.CreateZExt(at.read(1), wide), start), narrow);
    at.write(b.CreateOr(b.CreateAnd(moved, mask), b.CreateAnd(at.read(2), b.CreateNot(mask))));
}

/// The position of the topmost bit that differs from the sign; all ones when there is none.
void translate_bfind(InstructionContext& at) {
    auto& b = at.b;
    const Type type = at.type();
    Value* value = at.read(1);
    if (type.kind == Type::signed_) value = b.CreateXor(value, b.CreateAShr(value, type.width - 1));
    Value* zeros = b.CreateBinaryIntrinsic(Intrinsic::ctlz, value, b.getFalse());
    zeros = b.CreateZExtOrTrunc(zeros, b.getInt32Ty());
    Value* place = at.has("shiftamt") ? zeros : b.CreateSub(b.getInt32(type.width - 1), zeros);
    at.write(b.CreateSelect(b.CreateIsNull(value), b.getInt32(~0U), place));
}

void translate_brev(InstructionContext& at) {
    at.write(at.b.CreateUnaryIntrinsic(Intrinsic::bitreverse, at.read(1)));
}

void translate_count(InstructionContext& at) {
    auto& b = at.b;
    Value* value = at.read(1);
    Value* count = at.instruction.opcode[0] == "popc"
                       ? b.CreateUnaryIntrinsic(Intrinsic::ctpop, value)
                       : b.CreateBinaryIntrinsic(Intrinsic::ctlz, value, b.getFalse());
    at.write(b.CreateZExtOrTrunc(count, b.getInt32Ty()));
}

/// Four bytes out of the eight of b:a, each picked by a digit of c; the digit's top bit spreads the byte's
/// sign.
///
/// The modes take two bits of c instead, which stand for digits: .f4e and .b4e four bytes on from there,
/// upwards and downwards; .rc8 the same byte, .rc16 the same half; .ecl and .ecr what lies between an edge
/// and byte c, and byte c from there on.
Value* digits_of_mode(InstructionContext& at, Value* c) {
    struct Mode {
        std::string_view name;
        std::uint16_t digits[4];
    };
    constexpr Mode modes[] = {
        {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
        {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
        {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}};
    auto& b = at.b;
    for (const Mode& mode : modes) {
        if (!at.has(mode.name)) continue;
        Value* which = b.CreateAnd(c, 3);
        Value* digits = b.getInt32(mode.digits[0]);
        for (std::uint32_t i = 1; i < 4; ++i)
            digits = b.CreateSelect(b.CreateICmpEQ(which, b.getInt32(i)), b.getInt32(mode.digits[i]), digits);
        return digits;
    }
    return c;
}

void translate_prmt(InstructionContext& at) {
    auto& b = at.b;
    llvm::Type* wide = b.getInt64Ty();
    Value* bytes =
        b.CreateOr(b.CreateShl(b.CreateZExt(at.read(2, u32), wide), 32), b.CreateZExt(at.read(1, u32), wide));
    Value* picks = b.CreateZExt(digits_of_mode(at, at.read(3, u32)), wide);
    Value* result = b.getInt32(0);
    for (unsigned byte = 0; byte < 4; ++byte) {
        Value* digit = b.CreateLShr(picks, 4 * byte);
        Value* found =
            b.CreateTrunc(b.CreateLShr(bytes, b.CreateShl(b.CreateAnd(digit, 7), 3)), b.getInt8Ty());
        Value* spread = b.CreateAShr(found, 7);
        found = b.CreateSelect(b.CreateIsNotNull(b.CreateAnd(digit, 8)), spread, found);
        result = b.CreateOr(result, b.CreateShl(b.CreateZExt(found, b.getInt32Ty()), 8 * byte));
    }
    at.write(result);
}

constexpr Row rows[] = {
    {"and", translate_logic},   {"or", translate_logic},   {"xor", translate_logic},
    {"not", translate_not},     {"cnot", translate_cnot},  {"shl", translate_shl},
    {"shr", translate_shr},     {"shf", translate_shf},    {"lop3", translate_lop3},
    {"bfe", translate_bfe},     {"bfi", translate_bfi},    {"bfind", translate_bfind},
    {"brev", translate_brev},   {"popc", translate_count}, {"clz", translate_count},
    {"prmt", translate_prmt},   {"fns", translate_fns},    {"bmsk", translate_bmsk},
    {"szext", translate_szext},
};

}  // namespace

std::span<const Row> bit_rows() {
    return rows;
}

}  // namespace cudasim::ptx
