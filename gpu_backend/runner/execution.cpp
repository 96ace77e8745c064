// See execution.h.
#include "gpu_backend/runner/execution.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_backend/runner/captured_output.h"
#include "gpu_backend/runner/failures.h"

namespace cudasim::runner {
namespace {

using libcuda::Driver;
using libcuda::Functions;
using records::GpuCode;
using records::GpuLaunch;
using records::GpuResult;
using records::GpuStatus;

/// Dynamic shared memory above this has to be allowed for the function first (CUDA C++ Programming Guide,
/// "Compute Capability 7.x and later: Shared Memory"). Bytes.
constexpr std::uint64_t free_shared_bytes = 48 << 10;
constexpr std::size_t most_stray_writes = 16;
/// Of a kernel (CUDA C++ Programming Guide, "Function Parameters": 32,764 bytes from compute capability 7.0
/// on).
constexpr std::size_t most_parameter_bytes = 32 << 10;

/// The launch was not started.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A module that was loaded for one launch.
class Module {
  public:
    /// @param lost nothing is unloaded once it is true: the driver would wait for the kernel
    Module(const Driver& driver, const GpuCode& code, const bool& lost) : driver_(driver), lost_(lost) {
        std::vector<char> log(16 << 10);
        std::array names{libcuda::JitOption::error_log_buffer,
                         libcuda::JitOption::error_log_buffer_size_bytes};
        std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
        const auto result = driver.functions().cuModuleLoadDataEx(&module_, code.ptx.c_str(), names.size(),
                                                                  names.data(), values.data());
        if (result == libcuda::Result::success) return;
        log.back() = '\0';
        DriverFailure failure(driver, "cuModuleLoadDataEx", result);
        if (log.front() == '\0') throw failure;
        throw LoadFailure(failure, log.data());
    }
    ~Module() {
        if (!lost_) (void)driver_.functions().cuModuleUnload(module_);
    }
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] libcuda::Function function(const std::string& name) const {
        libcuda::Function function = nullptr;
        require(driver_, "cuModuleGetFunction",
                driver_.functions().cuModuleGetFunction(&function, module_, name.c_str()));
        return function;
    }
    /// Empty where the module has no such variable.
    [[nodiscard]] std::vector<std::byte> content(const char* variable) const {
        libcuda::DevicePointer address = 0;
        std::size_t bytes = 0;
        const auto result = driver_.functions().cuModuleGetGlobal(&address, &bytes, module_, variable);
        if (result == libcuda::Result::not_found) return {};
        require(driver_, "cuModuleGetGlobal", result);
        std::vector<std::byte> content(bytes);
        require(driver_, "cuMemcpyDtoH", driver_.functions().cuMemcpyDtoH(content.data(), address, bytes));
        return content;
    }

    struct LoadFailure : DriverFailure {
        LoadFailure(const DriverFailure& failure, const std::string& log)
            : DriverFailure(failure), text(std::string(failure.what()) + ":\n" + log) {}
        [[nodiscard]] const char* what() const noexcept override { return text.c_str(); }
        std::string text;
    };

  private:
    const Driver& driver_;
    const bool& lost_;
    libcuda::Module module_ = nullptr;
};

class Event {
  public:
    Event(const Driver& driver, const bool& lost) : driver_(driver), lost_(lost) {
        require(driver, "cuEventCreate", driver.functions().cuEventCreate(&event_, 0));
    }
    ~Event() {
        if (!lost_) (void)driver_.functions().cuEventDestroy(event_);
    }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() const {
        require(driver_, "cuEventRecord", driver_.functions().cuEventRecord(event_, nullptr));
    }
    [[nodiscard]] libcuda::Event get() const { return event_; }

  private:
    const Driver& driver_;
    const bool& lost_;
    libcuda::Event event_ = nullptr;
};

/// A kernel that was launched and may not have ended: unless it is known to be over, the process must end.
class Running {
  public:
    explicit Running(bool& lost) : lost_(lost), before_(lost) { lost_ = true; }
    void is_over() const { lost_ = before_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    bool& lost_;
    bool before_;
};

/// The values of the parameters, with those that are addresses moved to where memory is now.
std::vector<std::byte> parameters_of(const GpuLaunch& launch, const GpuCode& code,
                                     const DeviceMemory& memory) {
    std::vector<std::byte> values = launch.parameters;
    for (const auto& parameter : code.parameters) {
        if (!parameter.is_address) continue;
        std::uint64_t address = 0;
        std::memcpy(&address, values.data() + parameter.offset, sizeof address);
        address = memory.relocated(address);
        std::memcpy(values.data() + parameter.offset, &address, sizeof address);
    }
    return values;
}

void refuse_other_addresses(const GpuLaunch& launch, const GpuCode& code, const DeviceMemory::Moved& moved) {
    std::ostringstream addresses;
    addresses << std::hex << std::showbase << moved.at << " instead of " << moved.wanted;
    const std::string begin = "the driver gave the launch's memory other addresses than the simulator had (" +
                              addresses.str() + "), and ";
    if (code.has_addresses)
        throw Refused(begin + "the kernel uses global or constant variables at the recorded addresses");
    for (const auto& range : launch.memory)
        if (range.holds_addresses)
            throw Refused(begin + (range.label.empty() ? "an allocation" : "'" + range.label + "'") + " of " +
                          std::to_string(range.bytes) + " bytes may hold addresses, which would be wrong");
}

/// "sm_80" → 8.0, "sm_100a" → 10.0
libcuda::Version needed_capability(const std::string& architecture) {
    const std::size_t digits = architecture.find_first_of("0123456789");
    const int number = digits == std::string::npos ? 0 : std::atoi(architecture.c_str() + digits);
    return {number / 10, number % 10};
}

/// The kernel is over. False: not in time, or nobody waits any more.
bool wait_for(const Driver& driver, const Event& event, const Limits& limits) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    auto pause = std::chrono::microseconds(20);
    for (;;) {
        const auto result = driver.functions().cuEventQuery(event.get());
        if (result != libcuda::Result::not_ready) {
            require(driver, "cuEventQuery", result);
            return true;
        }
        if (std::chrono::duration<double>(Clock::now() - begin).count() > limits.seconds) return false;
        if (limits.nobody_waits && limits.nobody_waits()) return false;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }
}

/// Errors of the kernel itself, as opposed to those of calls. CUDA wants the process ended after them.
bool is_sticky(libcuda::Result result) {
    return findings::cuda_result(static_cast<int>(result)).has_value() &&
           findings::info(result).lasting == findings::Lasting::sticky;
}

}  // namespace

Gpu::Gpu(const libcuda::Search& search) : driver_(Driver::open(search)) {
    driver_.initialise();
    const auto gpus = driver_.gpus();
    gpu_ = gpus.front();
    const auto& functions = driver_.functions();
    driver_.require("cuDevicePrimaryCtxRetain", functions.cuDevicePrimaryCtxRetain(&context_, gpu_.ordinal));
    driver_.require("cuCtxSetCurrent", functions.cuCtxSetCurrent(context_));
}

Gpu::~Gpu() {
    memory_.reset();
    (void)driver_.functions().cuDevicePrimaryCtxRelease(gpu_.ordinal);
}

records::GpuResult Gpu::run(const GpuLaunch& launch, const GpuCode& code, const Contents& contents,
                            const Limits& limits) {
    GpuResult result{.number = launch.number, .kernel = launch.kernel};
    result.gpu = gpu_.name;
    result.capability_major = static_cast<std::uint32_t>(gpu_.compute_capability.major);
    result.capability_minor = static_cast<std::uint32_t>(gpu_.compute_capability.minor);
    result.driver_major = static_cast<std::uint32_t>(driver_.version().major);
    result.driver_minor = static_cast<std::uint32_t>(driver_.version().minor);
    try {
        execute(launch, code, contents, limits, result);
    } catch (const Refused& refusal) {
        result.status = GpuStatus::refused;
        result.message = refusal.what();
    } catch (const DriverFailure& failure) {
        result.code = static_cast<std::int32_t>(failure.result);
        result.function = failure.function;
        result.message = failure.what();
        lost_ = lost_ || is_sticky(failure.result);
        result.status = is_sticky(failure.result) ? GpuStatus::faulted : GpuStatus::failed;
    } catch (const std::bad_alloc&) {
        result.status = GpuStatus::failed;
        result.message = "cudasim-gpu-run has no host memory left";
    } catch (const std::system_error& error) {
        result.status = GpuStatus::failed;
        result.message = std::string("what the kernel prints cannot be kept: ") + error.what();
    }
    return result;
}

void Gpu::execute(const GpuLaunch& launch, const GpuCode& code, const Contents& contents,
                  const Limits& limits, GpuResult& result) {
    for (const auto* refusal : {&code.refusal, &launch.refusal})
        if (!refusal->empty()) throw Refused(*refusal);
    if (!gpu_.virtual_memory)
        throw Refused(
            "the GPU has no virtual memory management, so memory cannot have the recorded addresses");
    const auto needed = needed_capability(code.architecture);
    if (gpu_.compute_capability < needed)
        throw Refused("the kernel was compiled for " + code.architecture + ", and " + gpu_.name +
                      " has compute capability " + libcuda::to_text(gpu_.compute_capability) +
                      ": record it for this one");
    const Functions& functions = driver_.functions();
    if (printf_bytes_ != limits.printf_bytes) {
        // Only before the first kernel that prints; a refusal leaves the driver's own size.
        (void)functions.cuCtxSetLimit(libcuda::Limit::printf_fifo_size, limits.printf_bytes);
        printf_bytes_ = limits.printf_bytes;
    }
    if (!memory_) memory_ = std::make_unique<DeviceMemory>(driver_, gpu_.ordinal);
    memory_->place(launch.memory);
    const auto moved = memory_->moved();
    result.same_addresses = !moved;
    if (moved) refuse_other_addresses(launch, code, *moved);
    memory_->fill(launch.memory, contents);
    const auto begin_of_load = std::chrono::steady_clock::now();
    const Module module(driver_, code, lost_);
    result.load_milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_of_load).count();
    const libcuda::Function function = module.function(code.entry);
    if (launch.dynamic_shared_bytes > free_shared_bytes)
        require(
            driver_, "cuFuncSetAttribute",
            functions.cuFuncSetAttribute(function, libcuda::FunctionAttribute::max_dynamic_shared_size_bytes,
                                         static_cast<int>(launch.dynamic_shared_bytes)));
    std::vector<std::byte> values = parameters_of(launch, code, *memory_);
    // The PTX says how much the driver reads, and a record may lie.
    values.resize(values.size() + most_parameter_bytes);
    std::vector<void*> pointers;
    for (const auto& parameter : code.parameters) pointers.push_back(values.data() + parameter.offset);
    pointers.resize(pointers.size() + most_parameter_bytes, values.data() + launch.parameters.size());
    libcuda::LaunchAttribute attribute{};
    attribute.id = libcuda::LaunchAttributeId::cooperative;
    attribute.value.cooperative = 1;
    const libcuda::LaunchConfig config{launch.grid[0],
                                       launch.grid[1],
                                       launch.grid[2],
                                       launch.block[0],
                                       launch.block[1],
                                       launch.block[2],
                                       static_cast<unsigned>(launch.dynamic_shared_bytes),
                                       nullptr,
                                       &attribute,
                                       code.cooperative ? 1U : 0U};
    const Event begin(driver_, lost_), end(driver_, lost_);
    const CapturedOutput output;
    begin.record();
    require(driver_, "cuLaunchKernelEx",
            functions.cuLaunchKernelEx(&config, function, pointers.data(), nullptr));
    const Running running(lost_);
    end.record();
    if (!wait_for(driver_, end, limits)) {
        lost_ = true;  // the kernel may never end, and no call ends it but that of the process
        result.status = GpuStatus::timed_out;
        result.message = "the kernel was not over after " + seconds_text(limits.seconds);
        return;
    }
    running.is_over();
    require(driver_, "cuCtxSynchronize", functions.cuCtxSynchronize());
    float milliseconds = 0;
    require(driver_, "cuEventElapsedTime",
            functions.cuEventElapsedTime(&milliseconds, begin.get(), end.get()));
    result.milliseconds = milliseconds;
    result.printed = output.text();
    if (!code.fault_sites.empty()) result.faults = module.content(records::fault_variable);
    for (std::size_t i = 0; i < launch.memory.size(); ++i) memory_->read(launch.memory[i], contents(i));
    result.stray = memory_->stray_writes(launch.memory, most_stray_writes, result.stray_bytes);
    result.status = GpuStatus::ran;
}

}  // namespace cudasim::runner
