target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%pair = type { i8, double }
@table = addrspace(1) global [3 x i32] [i32 1, i32 2, i32 3]
@tile = internal addrspace(3) global [32 x double] undef, align 16
define void @scale(ptr addrspace(1) %data, i8 %flag, double %factor, i16 %n) {
  %c = icmp eq i8 %flag, 0
  br i1 %c, label %done, label %work
work:
  %v = load double, ptr addrspace(1) %data
  %w = fmul double %v, %factor
  store double %w, ptr addrspace(1) %data
  call void @llvm.nvvm.barrier0()
  br label %done
done:
  ret void
}
define void @by_value(i32 %first, ptr byval(%pair) align 8 %second, i8 %third) {
  ret void
}
declare void @llvm.nvvm.barrier0()
!nvvm.annotations = !{!0, !1}
!cudasim.exceptions = !{!2}
!0 = !{ptr @scale, !"kern“el", i32 1}
!1 = !{ptr @by_value, !"maxntidx", i32 128, !"kernel", i32 1}
!2 = !{!"ValueError", !"message"}
