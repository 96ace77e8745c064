// Page "Execution Control" of the CUDA Runtime API: launches, and what compilers make of
// kernel<<<...>>>(...).
#include "frontend/cuda_cpp/runtime/launches.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "frontend/cuda_cpp/host_code/host_lines.h"
#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/kept_signals.h"
#include "frontend/cuda_cpp/runtime/launch_runner.h"
#include "frontend/cuda_cpp/runtime/of_thread.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/programs.h"
#include "frontend/cuda_cpp/runtime/unchecked_launches.h"
#include "simulator/driver/background_launch.h"
#include "simulator/driver/event.h"
#include "simulator/driver/host_language.h"
#include "simulator/driver/occupancy.h"
#include "simulator/driver/stream_work.h"
#include "simulator/execution/launch_limits.h"
#include "simulator/jit/compiler.h"
#include "simulator/memory/host_guard.h"

namespace cudasim::cudart {
namespace {

/// A kernel as a host thread has launched it, with a plan of its own whose configuration it changes. It
/// is found by the host function's address, without a lock.
struct Remembered {
    const void* function = nullptr;
    std::uint64_t context = 0, generation = 0;
    std::shared_ptr<PreparedKernel> kernel;
    driver::LaunchPlan plan;
};

/// One entry for each remainder of an address.
struct Memory {
    std::array<std::unique_ptr<Remembered>, 64> entries;
};

Remembered& remembered(const LaunchRequest& request) {
    auto& memory = of_thread<Memory>().entries;
    auto& entry = memory[(reinterpret_cast<std::uintptr_t>(request.function) >> 4) % memory.size()];
    Programs& programs = Programs::of_this_process();
    if (entry && entry->function == request.function && entry->generation == programs.generation() &&
        entry->context == driver::ContextStack::of_this_thread().current_id() &&
        entry->kernel->function().module()->is_loaded())
        return *entry;
    const auto context = Process::get().usable(request.call);
    auto kernel = programs.kernel(context, request.function, request.call);
    driver::LaunchPlan plan = kernel->plan();
    entry.reset(new Remembered{.function = request.function,
                               .context = context->id(),
                               .generation = programs.generation(),
                               .kernel = std::move(kernel),
                               .plan = std::move(plan)});
    return *entry;
}

/// Whether the device can run the configuration. The engine's check_configuration() says why not.
bool is_allowed(const execution::DeviceProfile& profile, const execution::LaunchConfiguration& wanted) {
    const auto within = [](const execution::Dim3& extents, const execution::Dim3& limits) {
        return extents.x - 1 < limits.x && extents.y - 1 < limits.y && extents.z - 1 < limits.z;
    };
    return within(wanted.grid, profile.max_grid) && within(wanted.block, profile.max_block) &&
           wanted.block.volume() <= profile.max_threads_per_block;
}

/// A launch that cannot be is easily overlooked: programs check kernels' errors seldom. Each reason
/// once. For `cudasim check` it is a finding, a warning.
[[noreturn]] void refuse(const LaunchRequest& request, const PreparedKernel& kernel, cudaError_t code,
                         const std::string& reason) {
    static std::mutex mutex;
    static std::set<std::string>& told = *new std::set<std::string>;
    const std::string what = kernel.plan().display_name + " is not launched";
    const std::string why = std::string(" (") + cudaGetErrorName(code) + "): " + reason;
    const std::string text = what + " " + cuda_cpp::host_place(request.return_address) + why;
    {
        const std::lock_guard lock(mutex);
        if (told.insert(text).second) {
            if (LaunchRunner::of_this_process().tells_findings())
                tell_of_host(findings::FindingKind::failed_call, what + why,
                             cuda_cpp::host_lines(request.return_address));
            else
                std::fprintf(stderr, "cudasim: %s\n", text.c_str());
        }
    }
    fail(request.call, code, reason);
}

void require_shared_bytes(const LaunchRequest& request, const PreparedKernel& kernel) {
    const std::uint64_t most = kernel.most_dynamic_shared_bytes();
    if (request.shared_bytes <= most) return;
    const auto& profile = kernel.profile();
    std::string reason = std::to_string(request.shared_bytes) +
                         " bytes of dynamic shared memory, and the kernel may have " + std::to_string(most);
    if (request.shared_bytes + kernel.static_shared_bytes() <= profile.shared_per_block_optin)
        reason +=
            "; allow more with cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, " +
            std::to_string(request.shared_bytes) + ")";
    refuse(request, kernel, cudaErrorInvalidValue, reason);
}

void require_resident(const LaunchRequest& request, const PreparedKernel& kernel,
                      const execution::LaunchConfiguration& configuration) {
    const auto& profile = kernel.profile();
    const std::uint64_t blocks = configuration.grid.volume();
    const std::uint64_t resident =
        profile.multiprocessors *
        driver::active_blocks(profile, kernel.most_threads(), configuration.block.volume(),
                              kernel.static_shared_bytes() + configuration.dynamic_shared_bytes);
    if (blocks <= resident) return;
    refuse(request, kernel, cudaErrorCooperativeLaunchTooLarge,
           "a cooperative launch of " + std::to_string(blocks) + " blocks, and the device holds " +
               std::to_string(resident) + " of them at once");
}

/// What the launch asks for, or the kernel.
std::optional<execution::Dim3> checked_cluster(const LaunchRequest& request, const PreparedKernel& kernel,
                                               execution::LaunchConfiguration configuration) {
    std::optional<execution::Dim3> cluster = kernel.cluster();
    if (request.cluster) {
        const execution::Dim3 asked{request.cluster->x, request.cluster->y, request.cluster->z};
        if (cluster && *cluster != asked)
            refuse(request, kernel, cudaErrorInvalidClusterSize,
                   "the launch asks for clusters of other extents than the kernel, which has "
                   "__cluster_dims__, or cudaFuncAttributeRequiredClusterWidth and its like, for them");
        cluster = asked;
    }
    if (!cluster) return cluster;
    configuration.cluster = cluster;
    try {
        execution::check_clusters(kernel.profile(), configuration);
    } catch (const execution::CudaError& error) {
        refuse(request, kernel, static_cast<cudaError_t>(error.code), error.what());
    }
    if (cluster->volume() > kernel.most_cluster_blocks())
        refuse(request, kernel, cudaErrorInvalidClusterSize,
               "clusters of " + std::to_string(cluster->volume()) + " blocks, and those of more than " +
                   std::to_string(jit::portable_cluster_blocks) +
                   " have to be allowed: cudaFuncSetAttribute(kernel, "
                   "cudaFuncAttributeNonPortableClusterSizeAllowed, 1)");
    return cluster;
}

execution::LaunchConfiguration checked_configuration(const LaunchRequest& request,
                                                     const PreparedKernel& kernel) {
    const auto& profile = kernel.profile();
    execution::LaunchConfiguration configuration{{request.grid.x, request.grid.y, request.grid.z},
                                                 {request.block.x, request.block.y, request.block.z},
                                                 request.shared_bytes};
    if (!is_allowed(profile, configuration)) {
        try {
            execution::check_configuration(profile, configuration);
        } catch (const execution::CudaError& error) {
            refuse(request, kernel, cudaErrorInvalidValue, error.what());
        }
    }
    if (configuration.block.volume() > kernel.most_threads())
        refuse(request, kernel, cudaErrorInvalidValue,
               std::to_string(configuration.block.volume()) +
                   " threads per block, and the kernel was compiled with __launch_bounds__(" +
                   std::to_string(kernel.most_threads()) + ")");
    if (kernel.static_shared_bytes() > profile.shared_per_block)
        refuse(request, kernel, cudaErrorInvalidValue,
               std::to_string(kernel.static_shared_bytes()) +
                   " bytes of __shared__ variables, and a kernel may have " +
                   std::to_string(profile.shared_per_block) +
                   "; NVIDIA's nvcc does not compile it: more is for dynamic shared memory only");
    configuration.cluster = checked_cluster(request, kernel, configuration);
    if (request.shared_bytes != 0) require_shared_bytes(request, kernel);
    if (request.cooperative) require_resident(request, kernel, configuration);
    return configuration;
}

/// The bytes of the kernel's parameters. Those between parameters are 0.
void pack(const LaunchRequest& request, const PreparedKernel& kernel, std::vector<std::byte>& buffer) {
    buffer.assign(kernel.plan().parameter_bytes, std::byte{});
    const auto parameters = kernel.function().parameters();
    if (parameters.empty()) return;
    if (request.arguments == nullptr)
        refuse(request, kernel, cudaErrorInvalidValue, "the array of arguments is a null pointer");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (request.arguments[i] == nullptr)
            refuse(request, kernel, cudaErrorInvalidValue,
                   "the address of argument " + std::to_string(i) + " is a null pointer");
        std::memcpy(buffer.data() + parameters[i].offset, request.arguments[i], parameters[i].size);
    }
}

/// For launches that run at once.
struct ParameterBuffer {
    std::vector<std::byte> bytes;
};

/// What a launch ended with. What a GPU does not notice is reported and no call returns it.
void end_of_launch(const execution::LaunchResult& result, const PreparedKernel& kernel) {
    const auto* error = result.error();
    if (auto* const host = driver::HostLanguage::of_this_process()) {
        // There it is an exception, and the context stays usable, as it does after other launches of that
        // language.
        if (!result.findings.empty()) host->launched(result, kernel.plan().image.sources());
        if (error != nullptr) Process::get().note_unnoticed(findings::info(error->kind).cuda_error_code);
        return;
    }
    if (!LaunchRunner::of_this_process().tells_findings())
        for (const findings::Finding& finding : result.findings)
            if (finding.severity == findings::Severity::warning)
                Process::warn(finding, kernel.plan().image.sources());
    if (error == nullptr) return;
    if (!LaunchRunner::of_this_process().tells_findings())
        Process::get().report(*error, kernel.plan().image.sources());
    const int noticed = findings::info(error->kind).cuda_error_code;
    if (noticed == 0) return;
    const auto code = static_cast<driver::CudaResult>(noticed);
    kernel.context()->fail(code);
    if (findings::info(code).lasting == findings::Lasting::passing) Process::get().note_unnoticed(noticed);
}

/// A kernel that the end of the program, or of the device's context, has ended.
void report_ended(execution::LaunchResult result, const std::string& when, const PreparedKernel& kernel,
                  const HostCall& host) {
    if (result.error() == nullptr) return;
    findings::Finding& finding = result.findings.front();
    if (finding.kind == findings::FindingKind::interrupted) {
        const auto places = finding.message.find(": ");
        finding.message = "the kernel, launched " + cuda_cpp::host_place(host.return_address) +
                          ", still ran when " + when +
                          (places == std::string::npos ? "" : finding.message.substr(places));
    }
    Process::get().report(finding, kernel.plan().image.sources());
}

struct Launched {
    const std::shared_ptr<PreparedKernel>& kernel;
    streams::StreamKey stream;
    HostCall host;
};

/// Until it ends, or goes on in the background.
void run_to_end_or_leave(const driver::LaunchPlan& plan, std::span<const std::byte> parameters,
                         const Launched& launched) {
    auto [result, left] = driver::run_or_leave(plan, parameters);
    if (!left) return end_of_launch(result, *launched.kernel);
    driver::StreamWork::of_this_process().go_on(
        launched.stream, [left = std::move(left), kernel = launched.kernel, host = launched.host] {
            keep_signals_of_launches();
            auto ended = left->finish();
            if (const auto when = left->ended_when(); !when.empty())
                report_ended(std::move(ended), when, *kernel, host);
            else
                end_of_launch(ended, *kernel);
        });
}

void run(const driver::LaunchPlan& plan, std::span<const std::byte> parameters, const Launched& launched) {
    const memory::host_guard::EngineAccess access;
    LaunchRunner& runner = LaunchRunner::of_this_process();
    const bool is_program = Process::get().has_made_devices();
    if (is_program) keep_signals_of_launches();
    const HostCall& host = launched.host;
    try {
        if (runner.is_needed())
            end_of_launch(runner.run(plan, parameters, launched.kernel->embedded(),
                                     [&] { return cuda_cpp::host_lines(host.return_address); }),
                          *launched.kernel);
        else if (is_program &&
                 (Process::get().has_several_devices() || driver::may_wait_for_others(launched.stream)))
            run_to_end_or_leave(plan, parameters, launched);
        else
            end_of_launch(driver::run(plan, parameters, plan.options), *launched.kernel);
    } catch (const driver::Error&) {
        throw;
    } catch (const execution::CudaError&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        // It cannot be compiled, which no GPU would say. What the host's language has raised is its own.
        if (driver::HostLanguage::of_this_process() != nullptr &&
            dynamic_cast<const jit::CompileError*>(&error) == nullptr)
            throw;
        std::fprintf(stderr, "cudasim: %s cannot be run: %s\n", plan.display_name.c_str(), error.what());
        Process::note_failure();
        Process::get().note_unnoticed(cudaErrorInvalidKernelImage);
        fail(host.function, cudaErrorInvalidKernelImage, error.what());
    }
}

void launch_or_throw(const LaunchRequest& request) {
    Remembered& launched = remembered(request);
    const PreparedKernel& kernel = *launched.kernel;
    kernel.context()->require_usable(request.call);
    const auto stream = driver::require_stream(reinterpret_cast<std::uint64_t>(request.stream),
                                               kernel.context()->device(), request.call);
    const auto configuration = checked_configuration(request, kernel);
    driver::StreamWork& work = driver::StreamWork::of_this_process();
    if (work.runs_at_once(false)) {
        std::vector<std::byte>& buffer = of_thread<ParameterBuffer>().bytes;
        pack(request, kernel, buffer);
        launched.plan.configuration = configuration;
        launched.plan.options.cooperative = request.cooperative;
        run(launched.plan, buffer, {launched.kernel, stream, {request.call, request.return_address}});
        return;
    }
    std::vector<std::byte> buffer;
    pack(request, kernel, buffer);
    driver::LaunchPlan plan = kernel.plan();
    plan.configuration = configuration;
    plan.options.cooperative = request.cooperative;
    work.submit(stream,
                [plan = std::move(plan), buffer = std::move(buffer), kernel = launched.kernel, stream,
                 host = HostCall{request.call, request.return_address}] {
                    run(plan, buffer, {kernel, stream, host});
                },
                {.place = place_in_stream({request.call, request.return_address})});
}

struct PushedConfiguration {
    dim3 grid, block;
    size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
    const void* return_address = nullptr;  ///< of the line with <<<>>>
};
struct PushedConfigurations {
    std::vector<PushedConfiguration> all;
};
/// Of the launch that comes next, which a compiler's stub makes; null for others.
thread_local const void* launched_from = nullptr;

/// A launch by name, or by a stub: that one's caller has the line.
LaunchRequest request_of(const char* call, const void* return_address, const void* function, dim3 grid,
                         dim3 block, void** arguments, size_t shared_bytes, cudaStream_t stream,
                         bool cooperative) {
    const void* const statement = std::exchange(launched_from, nullptr);
    return {call,
            function,
            grid,
            block,
            arguments,
            shared_bytes,
            stream,
            cooperative,
            statement != nullptr ? statement : return_address,
            statement != nullptr};
}

/// @throws driver::Error for attributes that the simulator cannot honour
void apply(const cudaLaunchAttribute& attribute, const char* call, LaunchRequest& request) {
    const auto& value = attribute.val;
    switch (attribute.id) {
        case cudaLaunchAttributeCooperative:
            request.cooperative = value.cooperative != 0;
            return;
        case cudaLaunchAttributeClusterDimension:
            request.cluster = dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
            return;
        case cudaLaunchAttributeProgrammaticEvent:
        case cudaLaunchAttributeLaunchCompletionEvent:
        case cudaLaunchAttributeDeviceUpdatableKernelNode:
            fail(call, cudaErrorNotSupported,
                 "launch attribute " + std::to_string(attribute.id) + " is not simulated");
        case cudaLaunchAttributeIgnore:
        case cudaLaunchAttributeAccessPolicyWindow:
        case cudaLaunchAttributeSynchronizationPolicy:
        case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        case cudaLaunchAttributeProgrammaticStreamSerialization:
        case cudaLaunchAttributePriority:
        case cudaLaunchAttributeMemSyncDomainMap:
        case cudaLaunchAttributeMemSyncDomain:
        case cudaLaunchAttributePreferredClusterDimension:
        case cudaLaunchAttributePreferredSharedMemoryCarveout:
        case cudaLaunchAttributeNvlinkUtilCentricScheduling:
            return;  // how fast it runs, and nothing else
    }
    fail(call, cudaErrorInvalidValue, "there is no launch attribute " + std::to_string(attribute.id));
}

}  // namespace

void forget_launches() noexcept {
    for (auto& entry : of_thread<Memory>().entries) entry.reset();
}

cudaError_t launch(const LaunchRequest& request) noexcept {
    return call(request.call, [&] {
        try {
            launch_or_throw(request);
        } catch (const driver::Error& error) {
            // What lasts is an earlier kernel's, and was reported.
            if (request.is_statement && findings::info(error.code).lasting != findings::Lasting::sticky)
                note_failed_launch({request.call, request.return_address});
            throw;
        }
    });
}

}  // namespace cudasim::cudart

using namespace cudasim::cudart;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
    of_thread<PushedConfigurations>().all.push_back(
        {grid, block, shared_bytes, stream, __builtin_return_address(0)});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    auto& pushed = of_thread<PushedConfigurations>().all;
    if (pushed.empty() || !grid || !block || !shared_bytes || !stream)
        return noted(cudaErrorMissingConfiguration);
    const auto& last = pushed.back();
    *grid = last.grid, *block = last.block, *shared_bytes = last.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = last.stream;
    launched_from = last.return_address;
    pushed.pop_back();
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
    return launch(request_of("cudaLaunchKernel", __builtin_return_address(0), function, grid, block,
                             arguments, shared_bytes, stream, false));
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
    return launch(request_of("cudaLaunchCooperativeKernel", __builtin_return_address(0), function, grid,
                             block, arguments, shared_bytes, stream, true));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function,
                                void** arguments) {
    constexpr auto name = "cudaLaunchKernelExC";
    LaunchRequest request{.call = name,
                          .function = function,
                          .arguments = arguments,
                          .return_address = __builtin_return_address(0)};
    const auto checked = call(name, [&] {
        require_argument(name, configuration, "the configuration");
        request.grid = configuration->gridDim, request.block = configuration->blockDim;
        request.shared_bytes = configuration->dynamicSmemBytes;
        request.stream = configuration->stream;
        if (configuration->numAttrs != 0) require_argument(name, configuration->attrs, "attrs");
        for (unsigned i = 0; i < configuration->numAttrs; ++i) apply(configuration->attrs[i], name, request);
    });
    return checked != cudaSuccess ? checked : launch(request);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* configuration, const void* function,
                                     void** arguments) {
    if (!is_memory(configuration)) return noted(cudaErrorInvalidValue);
    auto of_thread = *configuration;
    if (of_thread.stream == nullptr) of_thread.stream = cudaStreamPerThread;
    return cudaLaunchKernelExC(&of_thread, function, arguments);
}

/// Of all devices of a grid that spans several; CUDA 13 has it no more.
cudaError_t cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams* launches, unsigned count, unsigned) {
    if (launches == nullptr || count != 1) return noted(cudaErrorNotSupported);
    return cudaLaunchCooperativeKernel(launches->func, launches->gridDim, launches->blockDim, launches->args,
                                       launches->sharedMem, launches->stream);
}

// Objects that nvcc 12.8 and later made ask once for a handle of the kernel and launch that: it is the
// address that the host knows the kernel by.

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
    if (kernel == nullptr) return noted(cudaErrorInvalidValue);
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host_function));
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
}
