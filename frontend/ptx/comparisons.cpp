// Comparison and selection (PTX ISA, "Comparison and Selection Instructions", "Comparison Operators").
#include <optional>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::CmpInst;
using llvm::Value;

struct Comparison {
    std::string_view name;
    CmpInst::Predicate real, with_sign, without_sign;
};

/// lo, ls, hi, hs are the unsigned forms; those with u are true when an operand is NaN.
constexpr Comparison comparisons[] = {
    {"eq", CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ},
    {"ne", CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE},
    {"lt", CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT},
    {"le", CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE},
    {"gt", CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT},
    {"ge", CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE},
    {"lo", CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT},
    {"ls", CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE},
    {"hi", CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT},
    {"hs", CmpInst::BAD_FCMP_PREDICATE, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE},
    {"equ", CmpInst::FCMP_UEQ, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"neu", CmpInst::FCMP_UNE, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"ltu", CmpInst::FCMP_ULT, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"leu", CmpInst::FCMP_ULE, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"gtu", CmpInst::FCMP_UGT, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"geu", CmpInst::FCMP_UGE, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"num", CmpInst::FCMP_ORD, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
    {"nan", CmpInst::FCMP_UNO, CmpInst::BAD_ICMP_PREDICATE, CmpInst::BAD_ICMP_PREDICATE},
};

Value* compared(InstructionContext& at, Type type) {
    Value* left = at.read(1, type);
    Value* right = at.read(2, type);
    for (const Comparison& known : comparisons) {
        if (!at.has(known.name)) continue;
        if (type.kind == Type::predicate) at.refuse();
        const bool real = type.kind == Type::real || type.kind == Type::half_pair || is_brain(type);
        const CmpInst::Predicate how = real                         ? known.real
                                       : type.kind == Type::signed_ ? known.with_sign
                                                                    : known.without_sign;
        if (how == CmpInst::BAD_FCMP_PREDICATE || how == CmpInst::BAD_ICMP_PREDICATE) at.refuse();
        return at.b.CreateCmp(how, left, right);
    }
    at.refuse();
}

/// .and, .or, .xor with the predicate behind the operands.
Value* combined(InstructionContext& at, Value* truth) {
    const bool combines = at.has("and") || at.has("or") || at.has("xor");
    if (!combines) return truth;
    Value* other = at.read(3, predicate);
    if (at.has("and")) return at.b.CreateAnd(truth, other);
    return at.has("or") ? at.b.CreateOr(truth, other) : at.b.CreateXor(truth, other);
}

/// p, or p|q: q gets the opposite comparison.
void translate_setp(InstructionContext& at) {
    Value* truth = compared(at, at.type());
    const Operand& target = at.operand(0);
    if (truth->getType()->isVectorTy()) {  // of two halves: p is the lower one's
        if (target.kind != Operand::list) at.refuse();
        for (unsigned half = 0; half < 2; ++half)
            at.function.write(target.elements[half], combined(at, at.b.CreateExtractElement(truth, half)));
        return;
    }
    if (target.kind != Operand::list) return at.write(combined(at, truth));
    at.function.write(target.elements[0], combined(at, truth));
    at.function.write(target.elements[1], combined(at, at.b.CreateNot(truth)));
}

/// All ones, or 1.0, for true.
void translate_set(InstructionContext& at) {
    auto& b = at.b;
    Value* truth = compared(at, at.type());
    const Type result = at.type(1);
    if (truth->getType()->isVectorTy()) {  // 1.0 or all ones in each half
        if (at.instruction.operands.size() > 3) at.refuse();
        if (result.kind == Type::half_pair || result.kind == Type::brain_pair)
            return at.write(b.CreateUIToFP(truth, at.function.module.type(result)));
        return at.write(b.CreateBitCast(b.CreateSExt(truth, llvm::FixedVectorType::get(b.getInt16Ty(), 2)),
                                        b.getInt32Ty()));
    }
    truth = combined(at, truth);
    if (result.kind == Type::real || result.kind == Type::brain)
        return at.write(b.CreateUIToFP(truth, at.function.module.type(result)));
    at.write(b.CreateSExt(truth, at.function.module.type(result)));
}

void translate_selp(InstructionContext& at) {
    at.write(at.b.CreateSelect(at.read(3, predicate), at.read(1), at.read(2)));
}

/// a where c is 0 or more. Of .ftz only c takes notice.
void translate_slct(InstructionContext& at) {
    const Type result = at.type(1);
    Value* c = at.read(3);
    Value* zero = llvm::Constant::getNullValue(c->getType());
    Value* takes_first =
        at.type().kind == Type::real ? at.b.CreateFCmpOGE(c, zero) : at.b.CreateICmpSGE(c, zero);
    const auto whole = [&](std::size_t i) { return at.function.read(at.operand(i), result); };
    at.function.write(at.operand(0), at.b.CreateSelect(takes_first, whole(1), whole(2)));
}

constexpr Row rows[] = {
    {"setp", translate_setp},
    {"set", translate_set},
    {"selp", translate_selp},
    {"slct", translate_slct},
};

}  // namespace

std::span<const Row> comparison_rows() {
    return rows;
}

}  // namespace cudasim::ptx
