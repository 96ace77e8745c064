// Inspection's part for code (inspection.h): the kernel's NVVM IR, and the PTX that a GPU's compiler would be
// given, each line with the line of the source that it comes from.
#include <llvm/ADT/STLExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FormattedStream.h>

#include "debugger/dap/inspection.h"
#include "gpu_backend/ptx.h"
#include "simulator/image/variable_reads.h"

namespace cudasim::debugger {
namespace {

/// What one response may hold.
constexpr std::size_t most_bytes = std::size_t{8} << 20;
/// Stands in front of a place in the printed text.
constexpr char place_mark = '\x01';

struct CodeLine {
    std::string text, file;
    std::uint32_t line = 0;  ///< 0: of no line of the source
};

std::string path_of(const llvm::DIFile* file) {
    if (file == nullptr) return {};
    if (file->getFilename().starts_with('/') || file->getFilename().starts_with('<') ||
        file->getDirectory().empty())
        return file->getFilename().str();
    return (file->getDirectory() + "/" + file->getFilename()).str();
}

/// Writes the place of each instruction in front of it.
class PlaceWriter final : public llvm::AssemblyAnnotationWriter {
  public:
    void emitInstructionAnnot(const llvm::Instruction* instruction,
                              llvm::formatted_raw_ostream& stream) override {
        const llvm::DebugLoc& place = instruction->getDebugLoc();
        stream << place_mark;
        if (place && place.getLine() != 0)
            stream << place.getLine() << ' '
                   << path_of(llvm::cast<llvm::DIScope>(place.getScope())->getFile());
        stream << '\n';
    }
};

bool is_called(const llvm::Function& function, llvm::StringRef wanted) {
    const llvm::DISubprogram* program = function.getSubprogram();
    if (wanted.empty() || function.getName() == wanted) return true;
    return program != nullptr &&
           (program->getName() == wanted || program->getName().rsplit('.').second == wanted);
}

/// Without what only compilers read.
bool is_for_people(llvm::StringRef line) {
    const llvm::StringRef text = line.ltrim();
    return !text.starts_with("#dbg_") && !text.contains("call void @llvm.dbg.") &&
           !text.starts_with("; Function Attrs:");
}

std::string without_references(llvm::StringRef line) {
    for (const llvm::StringRef name : {", !dbg !", ", !cudasim.in_bounds !", ", !cudasim.meant !"}) {
        const std::size_t begin = line.find(name);
        if (begin == line.npos) continue;
        const std::size_t end = line.find_first_not_of("0123456789", begin + name.size());
        return without_references(
            (line.take_front(begin) + (end == line.npos ? "" : line.substr(end))).str());
    }
    if (const std::size_t debug = line.find(" !dbg !"); debug != line.npos && line.ends_with("{"))
        return (line.take_front(debug) + " {").str();
    return line.str();
}

std::vector<CodeLine> nvvm_lines(const image::KernelImage& image, const std::string& function) {
    llvm::LLVMContext context;
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!parsed)
        throw RequestError("the kernel's image cannot be read: " + llvm::toString(parsed.takeError()));
    (void)image::resolve_variable_reads(**parsed, image::VariableReads::loaded);
    std::vector<CodeLine> lines;
    PlaceWriter places;
    for (const llvm::Function& each : **parsed) {
        if (each.isDeclaration() || !is_called(each, function)) continue;
        std::string text;
        llvm::raw_string_ostream stream(text);
        each.print(stream, &places);
        llvm::SmallVector<llvm::StringRef> rows;
        llvm::StringRef(text).trim('\n').split(rows, '\n');
        if (!lines.empty()) lines.emplace_back();
        CodeLine place;
        for (const llvm::StringRef row : rows) {
            if (row.starts_with(llvm::StringRef(&place_mark, 1))) {
                const auto [line, file] = row.drop_front().split(' ');
                place = {};
                if (!line.getAsInteger(10, place.line)) place.file = file.str();
            } else if (is_for_people(row)) {
                if (row == "}" || row.ends_with(":") || row.contains("; preds =")) place = {};
                lines.push_back({without_references(row), place.file, place.line});
            }
        }
    }
    return lines;
}

std::vector<CodeLine> ptx_lines(const image::KernelImage& image, const std::string& kernel,
                                const gpu_backend::PtxOptions& options) {
    const std::string text = gpu_backend::to_ptx(image, kernel, options);
    llvm::SmallVector<llvm::StringRef> rows;
    llvm::StringRef(text).trim('\n').split(rows, '\n');
    std::map<std::uint32_t, std::string> files;
    for (const llvm::StringRef row : rows) {  // .file NUMBER "PATH", anywhere
        llvm::StringRef rest = row.trim();
        std::uint32_t number = 0;
        if (rest.consume_front(".file") && !(rest = rest.ltrim()).consumeInteger(10, number))
            files[number] = rest.trim().trim('"').str();
    }
    std::vector<CodeLine> lines;
    CodeLine place;
    for (const llvm::StringRef row : rows) {
        llvm::StringRef rest = row.trim();
        std::uint32_t file = 0, line = 0;
        if (rest.starts_with(".file")) continue;
        if (rest.consume_front(".loc")) {
            if (!(rest = rest.ltrim()).consumeInteger(10, file) &&
                !(rest = rest.ltrim()).consumeInteger(10, line))
                place = {"", files[file], line};
            continue;
        }
        if (rest == "}" || rest.ends_with(":") || rest.starts_with(".visible")) place = {};
        lines.push_back({row.str(), place.file, place.line});
    }
    return lines;
}

}  // namespace

json::Value Inspection::disassemble(Control& control, const Arguments& arguments) {
    const image::KernelImage* image = control.image();
    if (image == nullptr) throw RequestError("this launch has no code to show: Python runs its kernel");
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    const std::string form = arguments.text_or("form", "nvvm");
    if (form != "nvvm" && form != "ptx")
        throw RequestError("the form '" + form + "' is neither nvvm nor ptx");
    const findings::CallChain places = control.launch().location(here.thread);
    const findings::SourceLocation* place =
        !here.is_host && here.index < places.size() ? &places[here.index] : nullptr;
    const std::string& kernel = control.launch().launch().kernel_name;
    json::Object result{{"form", form}, {"kernel", json_text(control.kernel())}};
    std::vector<CodeLine> lines;
    if (form == "ptx") {
        gpu_backend::PtxOptions options;
        options.fma_contraction = true;
        options.debug_info = gpu_backend::DebugInfo::lines;
        if (const execution::DeviceProfile* profile = control.launch().launch().profile)
            options.architecture = "sm_" + std::to_string(profile->compute_capability_major) +
                                   std::to_string(profile->compute_capability_minor);
        result["architecture"] = options.architecture;
        lines = ptx_lines(*image, kernel, options);
    } else {
        std::string function = arguments.text_or("function");
        if (function.empty()) function = place != nullptr ? place->function : kernel;
        lines = nvvm_lines(*image, function == "*" ? "" : function);
        if (lines.empty() && place == nullptr) lines = nvvm_lines(*image, kernel);
        if (lines.empty()) throw RequestError("the kernel's code has no function '" + function + "'");
        result["function"] = json_text(function);
    }
    std::map<std::string, std::string> files;  // as the text names them → as clients know them
    json::Array list;
    std::size_t bytes = 0;
    for (const CodeLine& each : lines) {
        bytes += each.text.size() + 16;
        if (bytes > most_bytes) {
            result["truncated"] = true;
            break;
        }
        json::Object line{{"text", json_text(each.text)}};
        if (each.line != 0) {
            const auto [file, is_new] = files.try_emplace(each.file);
            if (is_new) file->second = normalised_path(each.file);
            line["line"] = static_cast<std::int64_t>(each.line) - 1 + first_line;
            line["file"] = json_text(file->second);
            if (place != nullptr && each.line == place->line && file->second == normalised_path(place->file))
                line["current"] = true;
        }
        list.push_back(std::move(line));
    }
    result["lines"] = std::move(list);
    return result;
}

}  // namespace cudasim::debugger
