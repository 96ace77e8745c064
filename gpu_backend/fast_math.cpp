// One row per function: what it is made of. The processor has sine, cosine, 2^x and log2(x); the rest are
// those, scaled.

#include "gpu_backend/fast_math.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Operator.h>

#include <string_view>

namespace cudasim::gpu_backend {
namespace {

using llvm::Intrinsic::ID;

/// The calls that one expression of a function becomes.
class Approximation {
  public:
    explicit Approximation(llvm::CallInst& call) : builder_(&call), call_(call) {
        builder_.setFastMathFlags(call.getFastMathFlags());
    }
    [[nodiscard]] llvm::Value* argument(unsigned i) const { return call_.getArgOperand(i); }
    [[nodiscard]] llvm::Value* unary(ID id, llvm::Value* x) { return builder_.CreateIntrinsic(id, {}, {x}); }
    [[nodiscard]] llvm::Value* scaled(llvm::Value* x, double factor) {
        return builder_.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor));
    }
    [[nodiscard]] llvm::Value* sine() { return unary(llvm::Intrinsic::nvvm_sin_approx_ftz_f, argument(0)); }
    [[nodiscard]] llvm::Value* cosine() { return unary(llvm::Intrinsic::nvvm_cos_approx_ftz_f, argument(0)); }
    [[nodiscard]] llvm::Value* log2(llvm::Value* x) {
        return unary(llvm::Intrinsic::nvvm_lg2_approx_ftz_f, x);
    }
    [[nodiscard]] llvm::Value* exp2(llvm::Value* x) {
        return unary(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, x);
    }
    [[nodiscard]] llvm::Value* quotient(llvm::Value* x, llvm::Value* y) {
        return builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_div_approx_ftz_f, {}, {x, y});
    }
    [[nodiscard]] llvm::Value* product(llvm::Value* x, llvm::Value* y) { return builder_.CreateFMul(x, y); }
    [[nodiscard]] llvm::Value* square_root() {
        return unary(llvm::Intrinsic::nvvm_sqrt_approx_ftz_f, argument(0));
    }
    [[nodiscard]] llvm::Value* tanh() { return approximate_hyperbolic_tangent(builder_, argument(0)); }

  private:
    llvm::IRBuilder<> builder_;
    llvm::CallInst& call_;
};

constexpr double log2_of_e = 1.4426950408889634, log2_of_10 = 3.3219280948873623;
constexpr double ln_of_2 = 0.6931471805599453, log10_of_2 = 0.3010299956639812;

using A = Approximation;

constexpr struct {
    std::string_view name;
    llvm::Value* (*value)(A a);
} approximations[] = {
    {"__nv_sinf", [](A a) { return a.sine(); }},
    {"__nv_cosf", [](A a) { return a.cosine(); }},
    {"__nv_tanf",
     [](A a) {
         llvm::Value* sine = a.sine();
         return a.quotient(sine, a.cosine());
     }},
    {"__nv_tanhf", [](A a) { return a.tanh(); }},
    {"__nv_exp2f", [](A a) { return a.exp2(a.argument(0)); }},
    {"__nv_expf", [](A a) { return a.exp2(a.scaled(a.argument(0), log2_of_e)); }},
    {"__nv_exp10f", [](A a) { return a.exp2(a.scaled(a.argument(0), log2_of_10)); }},
    {"__nv_log2f", [](A a) { return a.log2(a.argument(0)); }},
    {"__nv_logf", [](A a) { return a.scaled(a.log2(a.argument(0)), ln_of_2); }},
    {"__nv_log10f", [](A a) { return a.scaled(a.log2(a.argument(0)), log10_of_2); }},
    {"__nv_powf", [](A a) { return a.exp2(a.product(a.argument(1), a.log2(a.argument(0)))); }},
    {"__nv_sqrtf", [](A a) { return a.square_root(); }},
    {"llvm.sqrt.f32", [](A a) { return a.square_root(); }},
};

}  // namespace

llvm::Value* approximate_hyperbolic_tangent(llvm::IRBuilder<>& builder, llvm::Value* x) {
    auto* type = llvm::FunctionType::get(builder.getFloatTy(), {builder.getFloatTy()}, false);
    return builder.CreateCall(llvm::InlineAsm::get(type, "tanh.approx.f32 $0, $1;", "=f,f", false), {x});
}

std::vector<llvm::CallInst*> fast_calls(llvm::Module& module) {
    std::vector<llvm::CallInst*> calls;
    for (const auto& row : approximations) {
        llvm::Function* function = module.getFunction(llvm::StringRef(row.name.data(), row.name.size()));
        if (function == nullptr || !function->isDeclaration()) continue;
        for (llvm::User* user : function->users()) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (call != nullptr && call->getCalledFunction() == function &&
                llvm::isa<llvm::FPMathOperator>(call) && call->hasApproxFunc())
                calls.push_back(call);
        }
    }
    return calls;
}

void expand_fast_math(llvm::Module& module) {
    for (llvm::CallInst* call : fast_calls(module)) {
        const std::string name = call->getCalledFunction()->getName().str();
        const auto* row =
            llvm::find_if(approximations, [&name](const auto& each) { return each.name == name; });
        call->replaceAllUsesWith(row->value(Approximation(*call)));
        call->eraseFromParent();
    }
}

}  // namespace cudasim::gpu_backend
