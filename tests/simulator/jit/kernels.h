// Pieces of NVVM IR that the tests' kernels share.
#pragma once

#include <string>

namespace cudasim::jit::testing {

/// Target lines and the declarations that most kernels use.
inline std::string module_head() {
    return R"(target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.nvvm.barrier0.popc(i32)
declare void @llvm.nvvm.membar.gl()
declare i64 @__cudasim_check_index(i64, i64, i32)
declare i64 @__cudasim_check_unsigned_index(i64, i64, i32)
declare void @__cudasim_check_float_division(i1)
declare void @__cudasim_raise(i32)
)";
}

/// Marks functions as kernels.
inline std::string kernels(std::initializer_list<const char*> names) {
    std::string list, nodes;
    int number = 9000;
    for (const char* name : names) {
        const std::string node = "!" + std::to_string(number++);
        list += (list.empty() ? "" : ", ") + node;
        nodes += node + " = !{ptr @" + name + ", !\"kernel\", i32 1}\n";
    }
    return "!nvvm.annotations = !{" + list + "}\n" + nodes;
}

}  // namespace cudasim::jit::testing
