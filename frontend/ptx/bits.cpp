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
    if (table.kind != Operand::integer || at.has("BoolOp")) at.refuse();
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
    at.write(result);
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
void translate_prmt(InstructionContext& at) {
    auto& b = at.b;
    if (at.instruction.opcode.size() > 2) at.refuse();
    llvm::Type* wide = b.getInt64Ty();
    Value* bytes =
        b.CreateOr(b.CreateShl(b.CreateZExt(at.read(2, u32), wide), 32), b.CreateZExt(at.read(1, u32), wide));
    Value* picks = b.CreateZExt(at.read(3, u32), wide);
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
    {"and", translate_logic}, {"or", translate_logic},   {"xor", translate_logic}, {"not", translate_not},
    {"cnot", translate_cnot}, {"shl", translate_shl},    {"shr", translate_shr},   {"shf", translate_shf},
    {"lop3", translate_lop3}, {"bfe", translate_bfe},    {"bfi", translate_bfi},   {"bfind", translate_bfind},
    {"brev", translate_brev}, {"popc", translate_count}, {"clz", translate_count}, {"prmt", translate_prmt},
};

}  // namespace

std::span<const Row> bit_rows() {
    return rows;
}

}  // namespace cudasim::ptx
