// See recorded_code.h.
#include "gpu_backend/recorded_code.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gpu_backend/libdevice.h"
#include "gpu_backend/libdevice_file.h"
#include "simulator/image/byte_stream.h"

namespace cudasim::gpu_backend {
namespace {

bool contains_address(const llvm::Type& type) {
    if (type.isPointerTy()) return true;
    for (const llvm::Type* part : type.subtypes())
        if (contains_address(*part)) return true;
    return false;
}

/// @param has_inner_addresses gets whether a structure that is passed by value contains a pointer
std::vector<records::GpuParameter> parameters_of(const llvm::Function& function, const image::Kernel& kernel,
                                                 bool& has_inner_addresses) {
    std::vector<records::GpuParameter> parameters;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const auto& parameter = kernel.parameters[i];
        const llvm::Argument& argument = *function.getArg(static_cast<unsigned>(i));
        llvm::Type* by_value = argument.getParamByValType();
        const llvm::Type& type = by_value != nullptr ? *by_value : *argument.getType();
        parameters.push_back(
            {.offset = parameter.offset, .size = parameter.size, .is_address = type.isPointerTy()});
        if (!type.isPointerTy() && contains_address(type)) has_inner_addresses = true;
    }
    return parameters;
}

/// What define_grid_barrier() brings into the module.
bool waits_for_the_grid(std::string_view ptx) {
    return ptx.find("cudasim_grid_arrived") != std::string_view::npos;
}

void write(image::ByteWriter& writer, const findings::CallChain& chain) {
    writer.number(chain.size(), 8);
    for (const auto& frame : chain) {
        writer.text(frame.file);
        writer.text(frame.function);
        writer.number(frame.line, 4);
        writer.number(frame.column, 4);
    }
}

findings::CallChain read_chain(image::ByteReader& reader) {
    findings::CallChain chain;
    for (std::uint64_t left = reader.number(8); left > 0; --left) {
        findings::SourceLocation frame;
        frame.file = reader.text();
        frame.function = reader.text();
        frame.line = static_cast<std::uint32_t>(reader.number(4));
        frame.column = static_cast<std::uint32_t>(reader.number(4));
        chain.push_back(std::move(frame));
    }
    return chain;
}

std::string to_text(std::span<const FaultSite> sites) {
    if (sites.empty()) return {};
    image::ByteWriter writer;
    writer.number(sites.size(), 8);
    for (const FaultSite& site : sites) {
        writer.number(static_cast<std::uint64_t>(site.kind), 4);
        for (const auto& text : {site.check, site.exception_type, site.message}) writer.text(text);
        write(writer, site.location);
        for (const auto& argument : site.arguments) {
            writer.number(argument ? 1 : 0, 1);
            writer.number(argument.value_or(0), 8);
        }
    }
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

}  // namespace

std::vector<FaultSite> fault_sites_of(const records::GpuCode& code) {
    std::vector<FaultSite> sites;
    if (code.fault_sites.empty()) return sites;
    try {
        image::ByteReader reader(std::as_bytes(std::span(code.fault_sites)));
        for (std::uint64_t left = reader.number(8); left > 0; --left) {
            FaultSite& site = sites.emplace_back();
            const auto kind = static_cast<std::size_t>(reader.number(4));
            if (kind >= findings::all_kinds().size()) throw image::StreamError("a fault is of no known kind");
            site.kind = static_cast<findings::FindingKind>(kind);
            for (auto* text : {&site.check, &site.exception_type, &site.message}) *text = reader.text();
            site.location = read_chain(reader);
            for (auto& argument : site.arguments) {
                const bool is_known = reader.number(1) != 0;
                const std::uint64_t value = reader.number(8);
                if (is_known) argument = value;
            }
        }
    } catch (const image::StreamError& error) {
        throw records::RecordError(std::string("the places of faults in the record are malformed: ") +
                                   error.what());
    }
    return sites;
}

/// PTX for the architecture of the options, or where that lacks instructions that the kernel needs, as sm_75
/// lacks `redux`, for the next one that has them (PTX ISA, "Target ISA Notes" of each instruction).
/// @param architecture receives which
static Ptx for_the_oldest_possible(const image::KernelImage& image, std::string_view kernel,
                                   const PtxOptions& options, std::string& architecture) {
    PtxOptions chosen = options;
    chosen.require_libdevice = true;
    chosen.function_handles = true;
    std::optional<PtxError> first;
    for (const std::string_view newer : {"", "sm_80", "sm_89", "sm_90"}) {
        if (!newer.empty()) {
            if (newer.size() != options.architecture.size() || newer <= options.architecture) continue;
            chosen.architecture = newer;
        }
        try {
            Ptx ptx = to_ptx_with_sites(image, kernel, chosen);
            architecture = chosen.architecture;
            return ptx;
        } catch (const PtxError& error) {
            if (error.code != PtxError::Code::no_such_instruction) throw;
            if (!first) first = error;
        }
    }
    throw *first;
}

records::GpuCode gpu_code_of(const image::KernelImage& image, std::string_view kernel,
                             const PtxOptions& options) {
    records::GpuCode code{.entry = ptx_name(kernel), .architecture = options.architecture};
    const image::Kernel* description = image.find(kernel);
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!module) throw image::ImageError("kernel image: " + llvm::toString(module.takeError()));
    const llvm::Function* function = (*module)->getFunction({kernel.data(), kernel.size()});
    if (description == nullptr || function == nullptr)
        throw image::ImageError("the image has no kernel '" + std::string(kernel) + "'");
    bool has_inner_addresses = false;
    code.parameters = parameters_of(*function, *description, has_inner_addresses);
    // What is not a parameter of its own cannot be moved to another address.
    code.has_addresses = options.globals_base.has_value() || has_inner_addresses;
    try {
        Ptx ptx = for_the_oldest_possible(image, kernel, options, code.architecture);
        code.ptx = std::move(ptx.text);
        code.cooperative = waits_for_the_grid(code.ptx);
        code.fault_sites = to_text(ptx.fault_sites);
        unlink_libdevice(**module);
        const auto library = libdevice_calls(**module).empty() ? nullptr : LibdeviceFile::found();
        if (library) code.libdevice = library->hash();
    } catch (const PtxError& error) {
        code.refusal = error.what();
    }
    return code;
}

}  // namespace cudasim::gpu_backend
