// See module.h.
#include "simulator/driver/module.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace cudasim::driver {

namespace {

/// Handles look like addresses.
std::uint64_t next_handle() {
    constexpr std::uint64_t first = 0xC0DA'1000'0000, step = 0x100;
    static std::atomic<std::uint64_t> next{first};
    return next.fetch_add(step);
}

/// The modules that there are, by handle. Never destroyed, as modules in static objects may outlive it.
struct Registry {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<Module>> modules;
};
Registry& registry() {
    static auto* const instance = new Registry;
    return *instance;
}

std::vector<std::shared_ptr<Module>> all_modules() {
    std::vector<std::shared_ptr<Module>> found;  // destroyed without the lock, which destructors take
    const std::lock_guard lock(registry().mutex);
    for (const auto& [handle, module] : registry().modules)
        if (auto alive = module.lock()) found.push_back(std::move(alive));
    return found;
}

std::string names_of(std::span<const image::Kernel> kernels) {
    if (kernels.empty()) return "none";
    return llvm::join(llvm::map_range(kernels, [](const auto& kernel) { return kernel.name; }), ", ");
}

}  // namespace

Module::Module(std::shared_ptr<Context> context, const image::KernelImage& image)
    : context_(std::move(context)), image_(image), handle_(next_handle()) {}

std::shared_ptr<Module> Module::load(std::shared_ptr<Context> context, const image::KernelImage& image) {
    std::shared_ptr<Module> module(new Module(std::move(context), image));
    module->on_device_ =
        in_call("cuModuleLoadData", [&] { return module->context_->engine()->load(image, 0); });
    {
        const std::lock_guard lock(registry().mutex);
        registry().modules[module->handle_] = module;
    }
    module->context_->note_module(module);
    return module;
}

Module::~Module() {
    const std::lock_guard lock(registry().mutex);
    registry().modules.erase(handle_);
}

std::shared_ptr<Module> Module::with_handle(std::uint64_t handle, const char* call) {
    for (auto& module : all_modules())
        if (module->handle_ == handle && module->is_loaded()) return module;
    throw Error(call, CudaResult::invalid_handle, "there is no module " + std::to_string(handle));
}

Function Module::function(const std::string& name) {
    if (const image::Kernel* kernel = image_.find(name)) {
        Function found(shared_from_this(), *kernel);
        const std::lock_guard lock(mutex_);
        functions_[found.handle()] = name;
        return found;
    }
    throw Error("cuModuleGetFunction", CudaResult::not_found,
                "no kernel '" + name + "'; it has " + names_of(image_.kernels()));
}

execution::AddressRange Module::global(std::string_view name) const {
    const auto variables = on_device();
    return in_call("cuModuleGetGlobal", [&] { return variables->global_range(name); });
}

std::shared_ptr<Target::Module> Module::on_device() const {
    const std::lock_guard lock(mutex_);
    if (on_device_) return on_device_;
    throw Error("", CudaResult::invalid_handle, "the module was unloaded");
}

bool Module::is_loaded() const {
    const std::lock_guard lock(mutex_);
    return on_device_ != nullptr;
}

bool Module::unload() {
    std::shared_ptr<Target::Module> last;  // let go of without the lock
    const std::lock_guard lock(mutex_);
    last.swap(on_device_);
    return last != nullptr;
}

Function::Function(std::shared_ptr<Module> module, const image::Kernel& kernel)
    : Function(std::move(module), kernel, next_handle()) {}

Function::Function(std::shared_ptr<Module> module, const image::Kernel& kernel, std::uint64_t handle)
    : module_(std::move(module)), kernel_(kernel), handle_(handle) {}

Function Function::with_handle(std::uint64_t handle, const char* call) {
    for (const auto& module : all_modules()) {
        const std::lock_guard lock(module->mutex_);
        const auto found = module->functions_.find(handle);
        if (found != module->functions_.end() && module->on_device_)
            return {module, *module->image_.find(found->second), handle};
    }
    throw Error(call, CudaResult::invalid_handle, "there is no function " + std::to_string(handle));
}

LaunchPlan Function::plan(const execution::LaunchConfiguration& configuration,
                          const execution::LaunchOptions& options) const {
    const auto on_device = module_->on_device();
    LaunchPlan plan =
        make_launch_plan(module_->context()->engine(),
                         dynamic_cast<const SimulatedModule&>(*on_device).loaded, module_->image(), name());
    plan.configuration = configuration;
    plan.options = options;
    return plan;
}

std::vector<std::byte> Function::pack(std::span<const std::span<const std::byte>> values) const {
    const auto& parameters = kernel_.parameters;
    if (values.size() != parameters.size())
        throw std::invalid_argument(name() + " takes " + std::to_string(parameters.size()) +
                                    " parameters, got " + std::to_string(values.size()));
    std::vector<std::byte> buffer(kernel_.parameter_bytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto& parameter = parameters[i];
        if (values[i].size() != parameter.size)
            throw ParameterMismatch("parameter " + parameter.name + " of " + name() + " has " +
                                        std::to_string(parameter.size) + " bytes",
                                    i, values[i].size());
        std::ranges::copy(values[i], buffer.begin() + parameter.offset);
    }
    return buffer;
}

unsigned Function::max_threads_per_block() const {
    return module_->context()->engine()->device.profile().max_threads_per_block;
}

std::uint64_t Function::static_shared_bytes() const {
    const LaunchPlan made = plan({}, {});
    return in_call("cuFuncGetAttribute", [&] {
        return made.device->device.compile(*made.loaded, made.kernel, made.options.compile_options())
            ->static_shared_bytes;
    });
}

}  // namespace cudasim::driver
