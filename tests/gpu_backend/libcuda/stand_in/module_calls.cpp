// Pages "Module Management", and what "Execution Control" says of a function's attributes.
#include <cstring>
#include <string>

#include "tests/gpu_backend/libcuda/stand_in/modules.h"
#include "tests/gpu_backend/libcuda/stand_in/ptx_text.h"

namespace cudasim::stand_in {
namespace {

/// A buffer that the caller of cuModuleLoadDataEx gave for messages.
struct Log {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    void** size_value = nullptr;  ///< where the number of bytes that were written goes

    void write(const std::string& message) const {
        std::size_t written = 0;
        if (buffer != nullptr && bytes > 0) {
            written = std::min(message.size(), bytes - 1);
            std::memcpy(buffer, message.data(), written);
            buffer[written++] = '\0';
        }
        if (size_value != nullptr) *size_value = reinterpret_cast<void*>(written);
    }
};

/// False for an option that this driver does not know.
bool read_options(unsigned count, const JitOption* names, void** values, Log& errors, Log& information) {
    for (unsigned i = 0; i < count; ++i) {
        switch (names[i]) {
            case JitOption::info_log_buffer:
                information.buffer = static_cast<char*>(values[i]);
                break;
            case JitOption::error_log_buffer:
                errors.buffer = static_cast<char*>(values[i]);
                break;
            case JitOption::info_log_buffer_size_bytes:
                information.bytes = reinterpret_cast<std::size_t>(values[i]);
                information.size_value = &values[i];
                break;
            case JitOption::error_log_buffer_size_bytes:
                errors.bytes = reinterpret_cast<std::size_t>(values[i]);
                errors.size_value = &values[i];
                break;
            case JitOption::optimization_level:
            case JitOption::generate_line_info:
                break;
            default:
                return false;
        }
    }
    return true;
}

/// Machine code, which this device cannot run: an ELF file, or several in a container.
bool is_machine_code(const void* image) {
    constexpr unsigned char elf[] = {0x7f, 'E', 'L', 'F'}, container[] = {0x50, 0xed, 0x55, 0xba};
    return std::memcmp(image, elf, sizeof elf) == 0 || std::memcmp(image, container, sizeof container) == 0;
}

}  // namespace

Result Behaviour::cuModuleLoadDataEx(Module* module, const void* image, unsigned options, JitOption* names,
                                     void** values) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (module == nullptr || image == nullptr || (options > 0 && (names == nullptr || values == nullptr)))
        return Result::invalid_value;
    Log errors, information;
    if (!read_options(options, names, values, errors, information)) return Result::invalid_value;
    if (const Result fault = gpu->synchronise(); fault != Result::success) return fault;
    try {
        if (is_machine_code(image))
            throw Refused(Result::no_binary_for_gpu, "the image is machine code, and this device reads PTX");
        *module = Modules::of_this_process().load(*gpu, static_cast<const char*>(image));
        errors.write("");
        information.write("");
        return Result::success;
    } catch (const Refused& refused) {
        errors.write(refused.what());
        information.write("");
        return refused.result;
    }
}

Result Behaviour::cuModuleUnload(Module module) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    const Result fault = gpu->synchronise();
    if (!Modules::of_this_process().unload(*gpu, module)) return Result::invalid_handle;
    return fault;
}

Result Behaviour::cuModuleGetFunction(Function* function, Module module, const char* name) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (function == nullptr || name == nullptr) return Result::invalid_value;
    const auto found = Modules::of_this_process().find(*gpu, module);
    if (!found) return Result::invalid_handle;
    const auto kernel = found->functions.find(name);
    if (kernel == found->functions.end()) return Result::not_found;
    *function = kernel->second.get();
    return Result::success;
}

Result Behaviour::cuModuleGetGlobal(DevicePointer* address, std::size_t* bytes, Module module,
                                    const char* name) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (name == nullptr) return Result::invalid_value;
    const auto found = Modules::of_this_process().find(*gpu, module);
    if (!found) return Result::invalid_handle;
    try {
        const auto range = found->loaded->global_range(name);
        if (address != nullptr) *address = range.base;
        if (bytes != nullptr) *bytes = range.bytes;
        return Result::success;
    } catch (const execution::CudaError& error) {
        return error.code;
    }
}

Result Behaviour::cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function function) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (value == nullptr) return Result::invalid_value;
    const auto module = Modules::of_this_process().find(*gpu, function);
    if (!module) return Result::invalid_handle;
    const auto header = header_of(module->text).value_or(PtxHeader{});
    switch (attribute) {
        case FunctionAttribute::max_threads_per_block:
            *value = static_cast<int>(gpu->profile().max_threads_per_block);
            return Result::success;
        case FunctionAttribute::shared_size_bytes:
            *value = static_cast<int>(function->static_shared_bytes);
            return Result::success;
        case FunctionAttribute::const_size_bytes:
            *value = static_cast<int>(function->kernel.parameter_bytes);  // parameters lie in constant memory
            return Result::success;
        case FunctionAttribute::local_size_bytes:
            *value = static_cast<int>(function->local_bytes);
            return Result::success;
        case FunctionAttribute::num_regs:
            *value = 32;  // registers are not modelled; a GPU gives few kernels fewer
            return Result::success;
        case FunctionAttribute::ptx_version:
            *value = 10 * header.version_major + header.version_minor;
            return Result::success;
        case FunctionAttribute::binary_version:
            *value = 10 * gpu->profile().compute_capability_major + gpu->profile().compute_capability_minor;
            return Result::success;
        case FunctionAttribute::max_dynamic_shared_size_bytes:
            *value = static_cast<int>(function->most_dynamic_shared_bytes);
            return Result::success;
    }
    return Result::invalid_value;
}

Result Behaviour::cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (!Modules::of_this_process().find(*gpu, function)) return Result::invalid_handle;
    if (attribute != FunctionAttribute::max_dynamic_shared_size_bytes || value < 0)
        return Result::invalid_value;
    const std::uint64_t all = static_cast<std::uint64_t>(value) + function->static_shared_bytes;
    if (all > gpu->profile().shared_per_block_optin) return Result::invalid_value;
    function->most_dynamic_shared_bytes = static_cast<std::uint64_t>(value);
    return Result::success;
}

}  // namespace cudasim::stand_in
