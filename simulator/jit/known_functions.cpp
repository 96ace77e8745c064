// The last look before LLVM's own passes: everything the module still calls must be a hook, a host function
// or an LLVM intrinsic that we know the CPU has. LLVM would abort the process over anything else.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/host_symbols.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

bool runs_on_the_cpu(Intrinsic::ID id) {
    switch (id) {
        case Intrinsic::memcpy: case Intrinsic::memcpy_inline: case Intrinsic::memset: case Intrinsic::memset_inline:
        case Intrinsic::memmove:
        case Intrinsic::fabs: case Intrinsic::sqrt: case Intrinsic::floor: case Intrinsic::ceil: case Intrinsic::trunc:
        case Intrinsic::rint: case Intrinsic::nearbyint: case Intrinsic::round: case Intrinsic::roundeven:
        case Intrinsic::fma: case Intrinsic::copysign: case Intrinsic::canonicalize:
        case Intrinsic::minnum: case Intrinsic::maxnum: case Intrinsic::minimum: case Intrinsic::maximum:
        case Intrinsic::sin: case Intrinsic::cos: case Intrinsic::tan: case Intrinsic::exp: case Intrinsic::exp2:
        case Intrinsic::exp10: case Intrinsic::log: case Intrinsic::log2: case Intrinsic::log10: case Intrinsic::pow:
        case Intrinsic::ldexp: case Intrinsic::is_fpclass:
        case Intrinsic::abs: case Intrinsic::smin: case Intrinsic::smax: case Intrinsic::umin: case Intrinsic::umax:
        case Intrinsic::ctpop: case Intrinsic::ctlz: case Intrinsic::cttz: case Intrinsic::bitreverse:
        case Intrinsic::bswap: case Intrinsic::fshl: case Intrinsic::fshr:
        case Intrinsic::sadd_with_overflow: case Intrinsic::uadd_with_overflow: case Intrinsic::ssub_with_overflow:
        case Intrinsic::usub_with_overflow: case Intrinsic::smul_with_overflow: case Intrinsic::umul_with_overflow:
        case Intrinsic::sadd_sat: case Intrinsic::uadd_sat: case Intrinsic::ssub_sat: case Intrinsic::usub_sat:
        case Intrinsic::fptosi_sat: case Intrinsic::fptoui_sat:
        case Intrinsic::readcyclecounter: case Intrinsic::frameaddress: case Intrinsic::is_constant:
            return true;
        default: return false;
    }
}

bool is_host_symbol(StringRef name) {
    return any_of(host_symbols(), [&](const auto& symbol) { return name == StringRef(symbol.first); });
}

void check(const CallInst& call) {
    const auto* callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration()) return;
    const StringRef name = callee->getName();
    if (callee->isIntrinsic()) {
        if (runs_on_the_cpu(callee->getIntrinsicID())) return;
        refuse(call, "the intrinsic '" + name.str() + "' is not supported by the simulator");
    }
    if (hook_called_by(call) || name.starts_with(keep_prefix) || is_host_symbol(name)) return;
    const bool libdevice = name.starts_with("__nv_");
    refuse(call, (libdevice ? "the libdevice function '" : "the function '") + name.str() +
                     (libdevice ? "' is not supported by the simulator"
                                : "' is called but not defined in this image; define it as a __device__ function"));
}

}  // namespace

void refuse_unknown_functions(const Compilation& compilation) {
    for (const Function& function : *compilation.module) {
        for (const Instruction& instruction : instructions(function)) {
            if (const auto* call = dyn_cast<CallInst>(&instruction)) check(*call);
        }
    }
}

}  // namespace cudasim::jit
