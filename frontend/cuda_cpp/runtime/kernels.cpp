// See kernels.h.
#include "frontend/cuda_cpp/runtime/kernels.h"

#include <algorithm>
#include <utility>

#include "simulator/driver/error.h"
#include "simulator/execution/launch_limits.h"
#include "simulator/image/linking.h"
#include "simulator/image/source_names.h"
#include "simulator/jit/compiler.h"

namespace cudasim::cudart {
namespace {

driver::LaunchPlan plan_of(const driver::Function& function, const execution::LaunchOptions& options) {
    auto plan = function.plan({}, options);
    plan.display_name = image::demangled(function.name());
    return plan;
}

std::uint64_t threads_of(const driver::LaunchPlan& plan, std::uint64_t most) {
    const std::uint64_t of_device = plan.device->device.profile().max_threads_per_block;
    return most == 0 ? of_device : std::min(most, of_device);
}

}  // namespace

const image::KernelImage& EmbeddedCode::image() const {
    std::call_once(is_linked_,
                   [this] { linked_ = parts_.size() == 1 ? parts_.front() : image::linked(parts_); });
    return *linked_;
}

PreparedKernel::PreparedKernel(driver::Function function, const execution::LaunchOptions& options,
                               std::uint64_t most_threads, std::optional<execution::Dim3> cluster,
                               std::uint64_t constant_bytes, std::shared_ptr<const EmbeddedCode> embedded)
    : function_(std::move(function)),
      plan_(plan_of(function_, options)),
      most_threads_(threads_of(plan_, most_threads)),
      declared_cluster_(cluster),
      constant_bytes_(constant_bytes),
      embedded_(std::move(embedded)) {}

std::uint64_t PreparedKernel::static_shared_bytes() const {
    std::int64_t bytes = static_shared_.load(std::memory_order_relaxed);
    if (bytes >= 0) return static_cast<std::uint64_t>(bytes);
    bytes = static_cast<std::int64_t>(
        plan_.device->device.compile(*plan_.loaded, plan_.kernel, plan_.options.compile_options())
            ->static_shared_bytes);
    static_shared_ = bytes;
    return static_cast<std::uint64_t>(bytes);
}

std::optional<execution::Dim3> PreparedKernel::cluster() const {
    const auto& [x, y, z] = required_cluster;
    if (declared_cluster_ || x == 0) return declared_cluster_;
    return execution::Dim3{x, y, z};
}

std::uint32_t PreparedKernel::most_cluster_blocks() const {
    if (!execution::has_clusters(profile())) return 1;
    return allows_large_clusters ? jit::most_cluster_blocks : jit::portable_cluster_blocks;
}

std::uint64_t PreparedKernel::most_dynamic_shared_bytes() const {
    const std::int64_t allowed = allowed_shared_.load(std::memory_order_relaxed);
    if (allowed >= 0) return static_cast<std::uint64_t>(allowed);
    const std::uint64_t most = profile().shared_per_block, used = static_shared_bytes();
    return most > used ? most - used : 0;
}

}  // namespace cudasim::cudart
