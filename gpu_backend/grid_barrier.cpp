// See grid_barrier.h. Thread 0 of each block counts its block; the last one opens the next generation, for
// which the others wait. Counting starts again from 0 each time, so grids of any size can follow each other.
#include "gpu_backend/grid_barrier.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include <stdexcept>

namespace cudasim::gpu_backend {
namespace {

constexpr const char* body = R"(
@cudasim_grid_arrived = addrspace(1) global i32 0, align 4
@cudasim_grid_generation = addrspace(1) global i32 0, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.membar.gl()

define i64 @cudaCGGetIntrinsicHandle(i32 %scope) convergent {
  ret i64 1
}

define i32 @cudaCGSynchronize(i64 %handle, i32 %flags) convergent {
entry:
  call void @llvm.nvvm.barrier0()
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %xy = or i32 %x, %y
  %thread = or i32 %xy, %z
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %arrive, label %done
arrive:
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  %bxy = mul i32 %bx, %by
  %blocks = mul i32 %bxy, %bz
  %mine = load atomic i32, ptr addrspace(1) @cudasim_grid_generation syncscope("device") monotonic, align 4
  call void @llvm.nvvm.membar.gl()
  %before = atomicrmw add ptr addrspace(1) @cudasim_grid_arrived, i32 1 syncscope("device") monotonic
  %count = add i32 %before, 1
  %last = icmp eq i32 %count, %blocks
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr addrspace(1) @cudasim_grid_arrived syncscope("device") monotonic, align 4
  call void @llvm.nvvm.membar.gl()
  %opened = atomicrmw add ptr addrspace(1) @cudasim_grid_generation, i32 1 syncscope("device") monotonic
  br label %passed
wait:
  %now = load atomic i32, ptr addrspace(1) @cudasim_grid_generation syncscope("device") monotonic, align 4
  %same = icmp eq i32 %now, %mine
  br i1 %same, label %wait, label %passed
passed:
  call void @llvm.nvvm.membar.gl()
  br label %done
done:
  call void @llvm.nvvm.barrier0()
  ret i32 0
}
)";

}  // namespace

void define_grid_barrier(llvm::Module& module) {
    if (!module.getFunction("cudaCGGetIntrinsicHandle") && !module.getFunction("cudaCGSynchronize")) return;
    llvm::SMDiagnostic error;
    auto barrier = llvm::parseAssemblyString(body, error, module.getContext());
    if (!barrier) throw std::logic_error("gpu_backend: the grid barrier's IR: " + error.getMessage().str());
    barrier->setTargetTriple(module.getTargetTriple());
    barrier->setDataLayout(module.getDataLayout());
    if (llvm::Linker::linkModules(module, std::move(barrier), llvm::Linker::LinkOnlyNeeded))
        throw std::logic_error("gpu_backend: the grid barrier does not link with the kernel");
}

}  // namespace cudasim::gpu_backend
