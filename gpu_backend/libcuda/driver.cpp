// Opening the driver: which of its answers mean that there is no GPU to be had, and what is said then.
#include "gpu_backend/libcuda/driver.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace cudasim::libcuda {
namespace {

/// What can be done about a failure. What the codes mean: page "Data types used by CUDA driver", enum
/// CUresult.
std::string_view advice(Result result) {
    switch (result) {
        case Result::stub_library:
            return "It is the library of a toolkit that programs are linked with, not a driver: let "
                   "CUDASIM_LIBCUDA name the libcuda.so.1 of NVIDIA's driver, and take the toolkit's folder "
                   "`stubs` out of LD_LIBRARY_PATH.";
        case Result::system_driver_mismatch:
            return "The library and the kernel's module are of different versions, as after an update of the "
                   "driver: restart the machine; a container needs the host's library.";
        case Result::system_not_ready:
            return "A service that the driver needs does not run, such as nvidia-fabricmanager.";
        case Result::compat_not_supported_on_device:
            return "This is a forward compatibility library, which works with GPUs of data centres only: "
                   "take "
                   "the folder `compat` out of LD_LIBRARY_PATH.";
        default:
            return "See whether `nvidia-smi` works, and what the kernel's log (`dmesg`) says of the driver; "
                   "in "
                   "a container the files /dev/nvidia* have to be there and readable.";
    }
}

/// At most three names: "cuMemMap, cuMemUnmap, cuMemCreate and 4 other functions".
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (const std::size_t rest = names.size() - std::min(names.size(), most); rest == 1)
        text += " and another function";
    else if (rest > 1)
        text += " and " + std::to_string(rest) + " other functions";
    return text;
}

std::string why_no_device() {
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr)
        return "CUDA_VISIBLE_DEVICES is '" + std::string(visible) +
               "', which hides every GPU that it does not name: unset it.";
    return "`nvidia-smi` shows which GPUs the system has; a container gets them with the option --gpus of "
           "docker and podman.";
}

}  // namespace

std::string to_text(Version version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
}

Driver::Driver(Library library) : library_(std::move(library)) {
    for (const auto& row : function_rows()) row.set(functions_, library_.find(row.symbol));
}

Driver Driver::open(const Search& search) {
    Driver driver(Library::load(search));
    const auto& functions = driver.functions_;
    if (functions.cuInit == nullptr || functions.cuDriverGetVersion == nullptr)
        throw Unavailable(Outcome::broken_driver,
                          driver.path() + " is not a CUDA driver: it has no " +
                              (functions.cuInit == nullptr ? "cuInit" : "cuDriverGetVersion") +
                              ". Let CUDASIM_LIBCUDA name the libcuda.so.1 of NVIDIA's driver.",
                          driver.path());
    int version = 0;
    driver.require("cuDriverGetVersion", functions.cuDriverGetVersion(&version));
    driver.version_ = {version / 1000, version % 1000 / 10};
    // Before the functions: what an old driver lacks is no defect.
    if (driver.version_ < needed_driver)
        throw Unavailable(Outcome::too_old,
                          "The CUDA driver " + driver.path() + " is too old: it has CUDA " +
                              to_text(driver.version_) + ", and cudasim needs " + to_text(needed_driver) +
                              ", the first that reads its PTX. Install NVIDIA's driver 520 or a newer one.",
                          driver.path());
    if (const auto missing = missing_symbols(functions, Need::required); !missing.empty())
        throw Unavailable(Outcome::broken_driver,
                          "The CUDA driver " + driver.path() + " (" + to_text(driver.version_) + ") lacks " +
                              listed(missing) +
                              ", which cudasim needs. Install NVIDIA's driver again, or let CUDASIM_LIBCUDA "
                              "name another file.",
                          driver.path());
    return driver;
}

void Driver::initialise() {
    const Result result = functions_.cuInit(0);
    if (result == Result::success) return;
    if (result == Result::no_device) throw no_device();
    throw Unavailable(Outcome::broken_driver,
                      "cuInit of the CUDA driver " + path() + " (" + to_text(version_) + ") fails with " +
                          text_of(result) + ". " + std::string(advice(result)),
                      path());
}

std::vector<Gpu> Driver::gpus() const {
    int count = 0;
    require("cuDeviceGetCount", functions_.cuDeviceGetCount(&count));
    if (count <= 0) throw no_device();
    std::vector<Gpu> gpus;
    bool one_is_new_enough = false;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        gpus.push_back(gpu(ordinal));
        one_is_new_enough |= gpus.back().is_new_enough();
    }
    if (one_is_new_enough) return gpus;
    std::string described;
    for (const auto& gpu : gpus)
        described += (described.empty() ? "" : ", ") + gpu.name + " has compute capability " +
                     to_text(gpu.compute_capability);
    throw Unavailable(Outcome::too_old,
                      std::string(count == 1 ? "The GPU is" : "The GPUs are") + " too old: " + described +
                          ", and cudasim needs " + to_text(needed_capability) +
                          ", the first whose threads of a warp run on their own.",
                      path());
}

Gpu Driver::gpu(int ordinal) const {
    DeviceOrdinal device = 0;
    require("cuDeviceGet", functions_.cuDeviceGet(&device, ordinal));
    std::array<char, 256> name{};
    require("cuDeviceGetName",
            functions_.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
    std::size_t memory = 0;
    require("cuDeviceTotalMem", functions_.cuDeviceTotalMem(&memory, device));
    const auto attribute = [&](Attribute which) {
        int value = 0;
        require("cuDeviceGetAttribute", functions_.cuDeviceGetAttribute(&value, which, device));
        return value;
    };
    return {
        .ordinal = ordinal,
        .name = name.data(),
        .compute_capability = {attribute(Attribute::compute_capability_major),
                               attribute(Attribute::compute_capability_minor)},
        .memory = memory,
        .virtual_memory = attribute(Attribute::virtual_memory_management_supported) != 0,
    };
}

Unavailable Driver::no_device() const {
    std::string message =
        "The CUDA driver " + path() + " (" + to_text(version_) + ") finds no GPU. " + why_no_device();
    const auto wsl = wsl_folder() / "libcuda.so.1";
    std::error_code ignored;
    if (std::filesystem::exists(wsl, ignored) && !std::filesystem::equivalent(wsl, path(), ignored))
        message += " Under WSL the driver is that of Windows: CUDASIM_LIBCUDA=" + wsl.string() + " names it.";
    return {Outcome::no_device, message, path()};
}

void Driver::require(const char* function, Result result) const {
    if (result == Result::success) return;
    throw Unavailable(Outcome::broken_driver,
                      std::string(function) + " of the CUDA driver " + path() + " fails with " +
                          text_of(result) + ". " + std::string(advice(result)),
                      path());
}

}  // namespace cudasim::libcuda
