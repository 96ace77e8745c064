// The last look before LLVM's own passes: everything the module still calls must be a hook, a host function
// or an LLVM intrinsic that we know the CPU has. LLVM would abort the process over anything else.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "simulator/jit/asynchronous_copies.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/host_symbols.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr Intrinsic::ID run_on_the_cpu[] = {Intrinsic::memcpy,
                                            Intrinsic::memcpy_inline,
                                            Intrinsic::memset,
                                            Intrinsic::memset_inline,
                                            Intrinsic::memmove,
                                            Intrinsic::fabs,
                                            Intrinsic::sqrt,
                                            Intrinsic::floor,
                                            Intrinsic::ceil,
                                            Intrinsic::trunc,
                                            Intrinsic::rint,
                                            Intrinsic::nearbyint,
                                            Intrinsic::round,
                                            Intrinsic::roundeven,
                                            Intrinsic::fma,
                                            Intrinsic::copysign,
                                            Intrinsic::canonicalize,
                                            Intrinsic::minnum,
                                            Intrinsic::maxnum,
                                            Intrinsic::minimum,
                                            Intrinsic::maximum,
                                            Intrinsic::sin,
                                            Intrinsic::cos,
                                            Intrinsic::tan,
                                            Intrinsic::exp,
                                            Intrinsic::exp2,
                                            Intrinsic::exp10,
                                            Intrinsic::log,
                                            Intrinsic::log2,
                                            Intrinsic::log10,
                                            Intrinsic::pow,
                                            Intrinsic::ldexp,
                                            Intrinsic::is_fpclass,
                                            Intrinsic::abs,
                                            Intrinsic::smin,
                                            Intrinsic::smax,
                                            Intrinsic::umin,
                                            Intrinsic::umax,
                                            Intrinsic::ctpop,
                                            Intrinsic::ctlz,
                                            Intrinsic::cttz,
                                            Intrinsic::bitreverse,
                                            Intrinsic::bswap,
                                            Intrinsic::fshl,
                                            Intrinsic::fshr,
                                            Intrinsic::sadd_with_overflow,
                                            Intrinsic::uadd_with_overflow,
                                            Intrinsic::ssub_with_overflow,
                                            Intrinsic::usub_with_overflow,
                                            Intrinsic::smul_with_overflow,
                                            Intrinsic::umul_with_overflow,
                                            Intrinsic::sadd_sat,
                                            Intrinsic::uadd_sat,
                                            Intrinsic::ssub_sat,
                                            Intrinsic::usub_sat,
                                            Intrinsic::fptosi_sat,
                                            Intrinsic::fptoui_sat,
                                            Intrinsic::readcyclecounter,
                                            Intrinsic::frameaddress,
                                            Intrinsic::is_constant};

bool is_host_symbol(StringRef name) {
    return any_of(host_symbols(), [&](const auto& symbol) { return name == StringRef(symbol.first); });
}

void check(const CallInst& call, const CompileOptions& options) {
    const auto* callee = call.getCalledFunction();
    if (!callee || !callee->isDeclaration()) return;
    const StringRef name = callee->getName();
    if (callee->isIntrinsic()) {
        if (is_contained(run_on_the_cpu, callee->getIntrinsicID())) return;
        refuse(call, "the intrinsic '" + name.str() + "' is not supported by the simulator");
    }
    if (is_known_hook(*callee, options) || keeps_loads(*callee) || marks_copies(*callee) ||
        is_host_symbol(name))
        return;
    const bool libdevice = name.starts_with("__nv_");
    refuse(call,
           (libdevice ? "the libdevice function '" : "the function '") + name.str() +
               (libdevice ? "' is not supported by the simulator"
                          : "' is called but not defined in this image; define it as a __device__ function"));
}

}  // namespace

void refuse_unknown_functions(const Compilation& compilation) {
    for (const Function& function : *compilation.module) {
        for (const Instruction& instruction : instructions(function)) {
            if (const auto* call = dyn_cast<CallInst>(&instruction)) check(*call, compilation.options);
        }
    }
}

}  // namespace cudasim::jit
