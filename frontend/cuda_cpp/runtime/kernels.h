// A kernel of the program on a device: all that does not change from launch to launch.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/driver/launch_plan.h"
#include "simulator/driver/module.h"

namespace cudasim::cudart {

/// Device code as the program holds it, where what is loaded differs from it: inline PTX stays inline PTX.
class EmbeddedCode {
  public:
    /// @param parts which the simulator links when it loads them
    explicit EmbeddedCode(std::vector<image::KernelImage> parts) : parts_(std::move(parts)) {}

    /// As one image, linked at the first call. @throws image::LinkError
    [[nodiscard]] const image::KernelImage& image() const;

  private:
    std::vector<image::KernelImage> parts_;
    mutable std::once_flag is_linked_;
    mutable std::optional<image::KernelImage> linked_;
};

class PreparedKernel {
  public:
    /// @param most_threads of a block, as the source declares it; 0: no less than the device allows
    /// @param cluster blocks of a cluster by axis, as the source declares them
    /// @param embedded null: it is what the function's module has
    PreparedKernel(driver::Function function, const execution::LaunchOptions& options,
                   std::uint64_t most_threads, std::optional<execution::Dim3> cluster,
                   std::uint64_t constant_bytes, std::shared_ptr<const EmbeddedCode> embedded);

    [[nodiscard]] const driver::Function& function() const { return function_; }
    [[nodiscard]] const std::shared_ptr<driver::Context>& context() const {
        return function_.module()->context();
    }
    [[nodiscard]] const execution::DeviceProfile& profile() const { return plan_.device->device.profile(); }
    /// With the process's options, and no configuration.
    [[nodiscard]] const driver::LaunchPlan& plan() const { return plan_; }
    [[nodiscard]] std::uint64_t most_threads() const { return most_threads_; }
    /// Blocks of a cluster, as the source declares them.
    [[nodiscard]] const std::optional<execution::Dim3>& declared_cluster() const { return declared_cluster_; }
    /// The same, or what cudaFuncAttributeRequiredClusterWidth, Height and Depth were set to.
    [[nodiscard]] std::optional<execution::Dim3> cluster() const;
    /// cudaFuncAttributeNonPortableClusterSizeAllowed.
    std::atomic<bool> allows_large_clusters{false};
    /// cudaFuncAttributeRequiredClusterWidth, Height and Depth; 0: not set.
    std::array<std::atomic<std::uint32_t>, 3> required_cluster{};
    /// cudaFuncAttributeClusterSchedulingPolicyPreference, which nothing depends on.
    std::atomic<int> cluster_scheduling{0};
    /// Blocks that a cluster of it may have.
    [[nodiscard]] std::uint32_t most_cluster_blocks() const;
    [[nodiscard]] std::uint64_t constant_bytes() const { return constant_bytes_; }
    /// Null where the plan has the same image.
    [[nodiscard]] const EmbeddedCode* embedded() const { return embedded_.get(); }

    /// Its static shared memory; compiles the kernel. @throws jit::CompileError, execution::CudaError
    [[nodiscard]] std::uint64_t static_shared_bytes() const;
    /// cudaFuncAttributeMaxDynamicSharedMemorySize: what was set, else what all devices allow.
    [[nodiscard]] std::uint64_t most_dynamic_shared_bytes() const;
    void allow_dynamic_shared_bytes(std::uint64_t bytes) {
        allowed_shared_ = static_cast<std::int64_t>(bytes);
    }
    /// cudaFuncAttributePreferredSharedMemoryCarveout, which nothing depends on.
    std::atomic<int> carveout{-1};

  private:
    const driver::Function function_;
    const driver::LaunchPlan plan_;
    const std::uint64_t most_threads_;
    const std::optional<execution::Dim3> declared_cluster_;
    const std::uint64_t constant_bytes_;
    const std::shared_ptr<const EmbeddedCode> embedded_;
    std::atomic<std::int64_t> allowed_shared_{-1};
    mutable std::atomic<std::int64_t> static_shared_{-1};
};
}  // namespace cudasim::cudart
