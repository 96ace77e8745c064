// See device_archives.h.
#include "frontend/cuda_cpp/images/device_archives.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <memory>
#include <set>

#include "frontend/cuda_cpp/images/embedded_image.h"

namespace cudasim::cuda_cpp {
namespace {

/// What the device code of one object file has to do with that of others.
struct Part {
    std::string name;
    std::set<std::string> defined, used;
    bool has_image = false;
};

/// clang's section for relocatable device code, and the variable of the object that points to it.
constexpr llvm::StringLiteral section_name = "__nv_relfatbin", variable_prefix = "__fatbinwrap_";

void read_symbols(const EmbeddedImage& embedded, Part& part) {
    llvm::LLVMContext context;
    auto module =
        llvm::getLazyBitcodeModule({llvm::StringRef(embedded.image.bitcode()), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    for (const llvm::GlobalValue& value : (*module)->global_values()) {
        if (value.isDeclarationForLinker())
            part.used.insert(value.getName().str());
        else if (!value.hasLocalLinkage())
            part.defined.insert(value.getName().str());
    }
}

void read_section(llvm::StringRef contents, Part& part) {
    constexpr std::size_t header_bytes = 32;
    if (contents.size() < header_bytes || !is_embedded_image(contents.data())) return;
    if (bytes_of_embedded_image(contents.data()).size() > contents.size() - header_bytes) return;
    read_symbols(read_embedded_image(contents.data()), part);
    part.has_image = true;
}

Part part_of(const llvm::object::ObjectFile& object) {
    Part part;
    for (const auto& symbol : object.symbols()) {
        auto name = symbol.getName();
        auto flags = symbol.getFlags();
        const bool defined = name && flags && name->starts_with(variable_prefix) &&
                             (*flags & llvm::object::SymbolRef::SF_Global) != 0 &&
                             (*flags & llvm::object::SymbolRef::SF_Undefined) == 0;
        if (defined) part.name = name->drop_front(variable_prefix.size()).str();
        if (!name) llvm::consumeError(name.takeError());
        if (!flags) llvm::consumeError(flags.takeError());
    }
    if (part.name.empty()) return part;
    for (const auto& section : object.sections()) {
        auto name = section.getName();
        if (!name || *name != section_name) {
            if (!name) llvm::consumeError(name.takeError());
            continue;
        }
        if (auto contents = section.getContents())
            read_section(*contents, part);
        else
            llvm::consumeError(contents.takeError());
    }
    return part;
}

void read_archive(const llvm::object::Archive& archive, std::vector<Part>& members) {
    llvm::Error error = llvm::Error::success();
    for (const auto& child : archive.children(error)) {
        auto binary = child.getAsBinary();
        if (!binary) {
            llvm::consumeError(binary.takeError());
            continue;
        }
        if (const auto* object = llvm::dyn_cast<llvm::object::ObjectFile>(binary->get()))
            members.push_back(part_of(*object));
    }
    llvm::consumeError(std::move(error));
}

}  // namespace

DeviceLink device_link_of(const std::vector<std::string>& files) {
    std::vector<Part> objects, members;
    for (const std::string& file : files) {
        auto buffer = llvm::MemoryBuffer::getFile(file, false, false);
        if (!buffer || !(*buffer)->getBuffer().contains(section_name)) continue;
        auto binary = llvm::object::createBinary((*buffer)->getMemBufferRef());
        if (!binary) {
            llvm::consumeError(binary.takeError());
            continue;
        }
        if (const auto* archive = llvm::dyn_cast<llvm::object::Archive>(binary->get()))
            read_archive(*archive, members);
        else if (const auto* object = llvm::dyn_cast<llvm::object::ObjectFile>(binary->get());
                 object != nullptr && object->isRelocatableObject())  // a library's code stays apart
            objects.push_back(part_of(*object));
    }
    const auto has_no_image = [](const Part& part) { return !part.has_image; };
    std::erase_if(objects, has_no_image);
    std::erase_if(members, has_no_image);
    std::set<std::string> used, parts, needed;
    for (const auto* each : {&objects, &members})
        for (const Part& part : *each) {
            used.insert(part.used.begin(), part.used.end());
            parts.insert(part.name);
        }
    for (const Part& object : objects) needed.insert(object.name);
    for (const Part& member : members)
        if (std::ranges::any_of(member.defined, [&](const std::string& name) { return used.contains(name); }))
            needed.insert(member.name);
    return {{parts.begin(), parts.end()}, {needed.begin(), needed.end()}};
}

std::string name_of_registration(const std::string& part) {
    return "__cudaRegisterLinkedBinary_" + part;
}

std::string name_of_wrapper(const std::string& part) {
    return std::string(variable_prefix) + part;
}

}  // namespace cudasim::cuda_cpp
