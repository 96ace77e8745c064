// One row per function: what it is made of. The processor has sine, cosine, 2^x and log2(x); the rest are
// those, scaled.

#include "gpu_backend/fast_math.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Operator.h>

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
    /// PTX ISA 7.0, sm_75: tanh.approx.f32; LLVM 19 has no intrinsic for it.
    [[nodiscard]] llvm::Value* tanh() {
        auto* type = llvm::FunctionType::get(builder_.getFloatTy(), {builder_.getFloatTy()}, false);
        return builder_.CreateCall(llvm::InlineAsm::get(type, "tanh.approx.f32 $0, $1;", "=f,f", false),
                                   {argument(0)});
    }

  private:
    llvm::IRBuilder<> builder_;
    llvm::CallInst& call_;
};

constexpr double log2_of_e = 1.4426950408889634, log2_of_10 = 3.3219280948873623;
constexpr double ln_of_2 = 0.6931471805599453, log10_of_2 = 0.3010299956639812;

/// Null for functions that are not approximated.
llvm::Value* approximation(llvm::StringRef name, Approximation a) {
    if (name == "__nv_sinf") return a.sine();
    if (name == "__nv_cosf") return a.cosine();
    if (name == "__nv_tanf") {
        llvm::Value* sine = a.sine();
        return a.quotient(sine, a.cosine());
    }
    if (name == "__nv_tanhf") return a.tanh();
    if (name == "__nv_exp2f") return a.exp2(a.argument(0));
    if (name == "__nv_expf") return a.exp2(a.scaled(a.argument(0), log2_of_e));
    if (name == "__nv_exp10f") return a.exp2(a.scaled(a.argument(0), log2_of_10));
    if (name == "__nv_log2f") return a.log2(a.argument(0));
    if (name == "__nv_logf") return a.scaled(a.log2(a.argument(0)), ln_of_2);
    if (name == "__nv_log10f") return a.scaled(a.log2(a.argument(0)), log10_of_2);
    if (name == "__nv_powf") return a.exp2(a.product(a.argument(1), a.log2(a.argument(0))));
    if (name == "__nv_sqrtf" || name == "llvm.sqrt.f32")
        return a.unary(llvm::Intrinsic::nvvm_sqrt_approx_ftz_f, a.argument(0));
    return nullptr;
}

}  // namespace

void expand_fast_math(llvm::Module& module) {
    for (llvm::Function& function : module) {
        const llvm::StringRef name = function.getName();
        if (!function.isDeclaration() || !(name.starts_with("__nv_") || name == "llvm.sqrt.f32")) continue;
        for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (!call || call->getCalledFunction() != &function) continue;
            if (!llvm::isa<llvm::FPMathOperator>(call) || !call->hasApproxFunc()) continue;
            if (llvm::Value* value = approximation(name, Approximation(*call))) {
                call->replaceAllUsesWith(value);
                call->eraseFromParent();
            }
        }
    }
}

}  // namespace cudasim::gpu_backend
