// Hand-written NVVM IR as images, run on the engine without any front end.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/image/kernel_image.h"
#include "tests/simulator/execution/engine_fixture.h"
#include "tests/simulator/kept_image.h"

namespace cudasim::execution {

/// Target, declarations, and every function named in `kernels` (separated by blanks) made a kernel.
inline image::KernelImage ir_image(std::string_view body, std::string_view kernels = "k") {
    std::string text = "target datalayout = \"" + std::string(image::data_layout) + "\"\ntarget triple = \"" +
                       std::string(image::target_triple) + "\"\n" + R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier0()
declare i32 @llvm.nvvm.barrier0.popc(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.nanosleep(i32)
declare void @llvm.nvvm.membar.gl()
declare void @llvm.trap()
declare i64 @__cudasim_check_index(i64, i64, i32)
declare void @__cudasim_check_float_division(i1)
declare void @__cudasim_raise(i32)
)" + std::string(body) +
                       "\n!nvvm.annotations = !{";
    std::string nodes;
    int count = 0;
    for (std::size_t at = 0; at < kernels.size();) {
        const std::size_t end = std::min(kernels.find(' ', at), kernels.size());
        text += (count ? ", !9000" : "!9000") + std::to_string(count);
        nodes += "!9000" + std::to_string(count++) + " = !{ptr @" +
                 std::string(kernels.substr(at, end - at)) + ", !\"kernel\", i32 1}\n";
        at = end + 1;
    }
    return test_images::kept(image::KernelImage::from_ir_text(text + "}\n" + nodes));
}

/// The line on which `needle` stands in the text an image was made from does not matter to the engine; tests
/// that look at places use images with debug info (tests/images) or give each block a distinct finding kind.
class IrKernelTest : public EngineTest {
  protected:
    template <typename... Arguments>
    LaunchResult run_ir(const image::KernelImage& image, Dim3 grid, Dim3 block, Arguments... arguments) {
        return run_ir_shared(image, grid, block, 0, arguments...);
    }
    /// Every argument is eight bytes.
    template <typename... Arguments>
    LaunchResult run_ir_shared(const image::KernelImage& image, Dim3 grid, Dim3 block, std::uint64_t shared,
                               Arguments... arguments) {
        const std::uint64_t parameters[sizeof...(arguments) + 1] = {static_cast<std::uint64_t>(arguments)...,
                                                                    0};
        image_ = device().load(image);
        return device().launch(*image_, "k", {grid, block, shared}, std::as_bytes(std::span(parameters)),
                               options());
    }
    std::shared_ptr<LoadedImage> image_;
};

/// A device array of T that a test fills and reads.
template <typename T>
class DeviceArray {
  public:
    explicit DeviceArray(std::size_t count, T value = {}) : host_(count, value) {
        pointer_ = device().allocate(count * sizeof(T), {.label = "array"});
        device().copy_to_device(pointer_, host_.data(), count * sizeof(T));
    }
    ~DeviceArray() { device().free(pointer_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    [[nodiscard]] DevicePointer pointer() const { return pointer_; }
    [[nodiscard]] const std::vector<T>& read() {
        device().copy_from_device(host_.data(), pointer_, host_.size() * sizeof(T));
        return host_;
    }

  private:
    std::vector<T> host_;
    DevicePointer pointer_;
};

}  // namespace cudasim::execution
