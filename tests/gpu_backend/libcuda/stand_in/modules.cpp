#include "tests/gpu_backend/libcuda/stand_in/modules.h"

#include <algorithm>
#include <utility>

#include "frontend/ptx/reader.h"
#include "simulator/image/linking.h"
#include "simulator/memory/shadow.h"
#include "tests/gpu_backend/libcuda/stand_in/address_space.h"
#include "tests/gpu_backend/libcuda/stand_in/ptx_text.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

/// As ptxas words it.
[[noreturn]] void refuse_ptx(const std::string& reason, int line = 0) {
    const std::string place = line > 0 ? "line " + std::to_string(line) + "; " : "";
    throw Refused(Result::invalid_ptx, "ptxas application ptx input, " + place + "error   : " + reason +
                                           "\nptxas fatal   : Ptx assembly aborted due to errors");
}

void check_header(const Gpu& gpu, const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        throw Refused(Result::invalid_image, "the image is empty");
    const auto header = header_of(text);
    if (!header) refuse_ptx("Missing .version or .target directive at start of file");
    if (10 * header->version_major + header->version_minor > newest_ptx_of(settings().version))
        throw Refused(Result::unsupported_ptx_version,
                      "ptxas application ptx input, fatal   : Unsupported .version " +
                          std::to_string(header->version_major) + "." +
                          std::to_string(header->version_minor));
    const auto& profile = gpu.profile();
    const int own = 10 * profile.compute_capability_major + profile.compute_capability_minor;
    if (header->architecture > own || (header->suffix == 'a' && header->architecture != own))
        refuse_ptx("SM version specified by .target is higher than default SM version assumed");
}

/// Lets kernels access all of the memory around variables: a GPU notices no errors within 2 MiB.
void open_variables(execution::Device& device) {
    constexpr std::uint64_t unit = AddressSpace::granularity;
    for (const auto& each : device.memory_layout().live) {
        if (each.adopted) continue;
        const std::uint64_t first = each.address / unit * unit;
        const std::uint64_t end = (each.address + each.bytes + unit - 1) / unit * unit;
        memory::Shadow::instance().set(first, end - first, memory::Access::read_write);
    }
}

/// Loads and compiles. @throws what the engine throws
std::shared_ptr<libcuda::ModuleState> made(Gpu& gpu, const std::string& text, std::uint64_t variant) {
    // The engine gives equal images one state of their variables, modules have one each.
    const std::string file = variant == 0 ? "module.ptx" : "module-" + std::to_string(variant + 1) + ".ptx";
    auto image = ptx::read(with_divisions_of_a_gpu(text), file, ptx::Entries::kernels);
    auto& engine = gpu.engine();
    std::shared_ptr<libcuda::ModuleState> module(
        new libcuda::ModuleState{gpu, text, variant, engine.load(image, 0), image, {}});
    for (const auto& kernel : module->image.kernels()) {
        const auto& loaded = dynamic_cast<driver::SimulatedModule&>(*module->loaded).loaded;
        const auto compiled = engine.device.compile(*loaded, kernel.name, usual_options().compile_options());
        if (compiled->static_shared_bytes > gpu.profile().shared_per_block_optin)
            refuse_ptx("Entry function '" + kernel.name + "' uses too much shared data");
        const std::uint64_t usual = gpu.profile().shared_per_block, fixed = compiled->static_shared_bytes;
        module->functions[kernel.name].reset(new libcuda::FunctionState{
            *module, kernel, fixed, compiled->frame_bytes, usual - std::min(usual, fixed)});
    }
    open_variables(engine.device);
    return module;
}

}  // namespace

execution::LaunchOptions usual_options() {
    execution::LaunchOptions options;
    options.workers = 1;
    options.max_faults = 100'000;  // most of what ends a thread here is nothing that a GPU notices
    return options;
}

Modules& Modules::of_this_process() {
    static auto* const instance = new Modules;  // calls may come while the process ends
    return *instance;
}

Module Modules::load(Gpu& gpu, const std::string& text) {
    check_header(gpu, text);
    const std::lock_guard lock(mutex_);
    try {
        auto module = made(gpu, text, free_variant(text));
        return modules_.emplace(module.get(), module).first->first;
    } catch (const ptx::PtxError& error) {
        refuse_ptx(error.what(), error.line);
    } catch (const jit::CompileError& error) {
        refuse_ptx(error.what(), error.location.empty() ? 0 : static_cast<int>(error.location[0].line));
    } catch (const image::LinkError& error) {
        refuse_ptx(error.what());
    } catch (const image::ImageError& error) {
        refuse_ptx(error.what());
    } catch (const execution::CudaError& error) {
        throw Refused(error.code, error.what());
    }
}

/// The lowest number that no loaded module of the text has.
std::uint64_t Modules::free_variant(const std::string& text) const {
    std::uint64_t variant = 0;
    while (std::ranges::any_of(modules_, [&](const auto& each) {
        return each.second->variant == variant && each.second->text == text;
    }))
        ++variant;
    return variant;
}

bool Modules::unload(Gpu& gpu, Module module) {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    if (found == modules_.end() || &found->second->gpu != &gpu) return false;
    modules_.erase(found);
    return true;
}

void Modules::unload_all(Gpu& gpu) {
    const std::lock_guard lock(mutex_);
    std::erase_if(modules_, [&](const auto& each) { return &each.second->gpu == &gpu; });
}

std::shared_ptr<libcuda::ModuleState> Modules::find(const Gpu& gpu, Module module) const {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    return found != modules_.end() && &found->second->gpu == &gpu ? found->second : nullptr;
}

std::shared_ptr<libcuda::ModuleState> Modules::find(const Gpu& gpu, Function function) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, module] : modules_)
        for (const auto& [name, each] : module->functions)
            if (each.get() == function && &module->gpu == &gpu) return module;
    return nullptr;
}

}  // namespace cudasim::stand_in
