// See compile.h.
#include "frontend/cuda_cpp/driver/compile.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <sstream>

#include "frontend/cuda_cpp/driver/diagnostics.h"
#include "frontend/cuda_cpp/driver/flags.h"
#include "frontend/cuda_cpp/driver/foreign_headers.h"
#include "frontend/cuda_cpp/driver/host_functions.h"
#include "frontend/cuda_cpp/driver/patched_sources.h"
#include "frontend/cuda_cpp/images/device_code.h"
#include "frontend/cuda_cpp/images/embedded_image.h"
#include "frontend/cuda_cpp/images/host_functions.h"
#include "gpu_backend/toolkit.h"

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

std::string file_bytes(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// Reads what is there. @return false at the end
bool read_some(int file, std::string& text) {
    std::array<char, 16384> buffer;
    const ssize_t bytes = read(file, buffer.data(), buffer.size());
    if (bytes > 0) text.append(buffer.data(), static_cast<std::size_t>(bytes));
    return bytes > 0 || (bytes < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Both passes over one source. The host pass waits at its end for the image, which comes through a FIFO.
class TwoPasses {
  public:
    TwoPasses(const Command& device, const Command& host, std::string bitcode, std::string fifo)
        : bitcode_(std::move(bitcode)),
          fifo_(std::move(fifo)),
          device_(device, Process::Errors::read),
          host_(host, Process::Errors::read) {}
    ~TwoPasses() {
        if (image_pipe_ >= 0) close(image_pipe_);
    }

    /// @param image_of makes the image of the device pass's output; what it throws ends the host pass
    template <typename MakeImage>
    int run(const MakeImage& image_of) {
        while (!device_status_ || !host_status_) {
            check_signals();
            std::array<pollfd, 3> files{{{device_status_ ? -1 : device_.error_output(), POLLIN, 0},
                                         {host_status_ ? -1 : host_.error_output(), POLLIN, 0},
                                         {image_pipe_, POLLOUT, 0}}};
            const bool opening = !left_.empty() && image_pipe_ == not_open;
            if (poll(files.data(), files.size(), opening ? 1 : -1) < 0) continue;
            if (files[0].revents != 0 && !read_some(device_.error_output(), device_messages)) {
                device_status_ = device_.wait();
                if (*device_status_ != 0) {
                    // Errors of host code show in the device pass, too: clang parses both.
                    if (!host_status_) host_.end();
                    return *device_status_;
                }
                image_ = image_of(bitcode_);
                left_ = image_;
            }
            if (files[1].revents != 0 && !read_some(host_.error_output(), host_messages))
                host_status_ = host_.wait();
            if (!left_.empty() && !host_status_) give_image();
        }
        return *host_status_;
    }

    std::string device_messages, host_messages;

  private:
    void give_image() {
        // The reader may not be there yet.
        if (image_pipe_ == not_open) image_pipe_ = open(fifo_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (image_pipe_ == not_open) return;
        while (!left_.empty()) {
            const ssize_t bytes = write(image_pipe_, left_.data(), left_.size());
            if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
            if (bytes < 0) left_ = {};  // the host pass has ended
            if (bytes > 0) left_ = left_.subspan(static_cast<std::size_t>(bytes));
        }
        close(image_pipe_);
        image_pipe_ = not_open;
    }

    std::string bitcode_, fifo_;
    Process device_, host_;
    std::optional<int> device_status_, host_status_;
    std::vector<std::byte> image_;
    std::span<const std::byte> left_;
    static constexpr int not_open = -1;  // poll() leaves it out
    int image_pipe_ = not_open;
};

/// Words of -Xcompiler that clang's message says it does not know.
std::vector<std::string> unknown_words(const Build& build, const std::string& messages) {
    std::vector<std::string> unknown;
    for (const auto& word : build.line.all(Option::to_compiler))
        for (const char* text :
             {"unknown argument: '", "unknown argument '", "unsupported option '", "unsupported argument '"})
            if (messages.find("error: " + (text + word) + "'") != std::string::npos) unknown.push_back(word);
    return unknown;
}

/// clang knows fewer options than GCC does.
/// @return whether the host compiler refuses the words, too, and says so
bool host_compiler_refuses(const Build& build, const std::vector<std::string>& words) {
    Command command{build.tools.host_compiler};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"-fsyntax-only", "-x", "c++", "/dev/null"});
    return run(command) != 0;
}

/// Differs between objects that can be in one program.
std::string identity_of(const std::string& source, const std::string& output, const Build& build) {
    std::string all = (fs::current_path() / source).string() + '\n' + (fs::current_path() / output).string();
    for (const auto& each : build.line.all(Option::define)) all += '\n' + each;
    // FNV-1a, 64 bits
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char c : all) hash = (hash ^ c) * 0x100000001b3;
    std::ostringstream text;
    text << std::hex << hash;
    return text.str();
}

void add(Command& command, const Command& words) {
    command.insert(command.end(), words.begin(), words.end());
}

/// @return whether clang refused what nvcc takes, and may take it from the sources as they are now
bool mended(const Build& build, PatchedSources& sources, const std::string& messages) {
    // One after the other: columns of messages are those of the last compilation.
    return double_percent_signs(sources, messages) || respell_alignas(sources, messages) ||
           name_type_of_extents(sources, messages) || unite_declarations(sources, messages) ||
           (!build.relocatable && make_functions_inline(sources, messages));
}

bool all_warnings_are_errors(const Build& build) {
    return std::ranges::count(build.line.all(Option::warnings_are_errors), "all-warnings") != 0;
}

Command device_command(const Build& build, const std::string& source, const std::string& identity,
                       const std::string& bitcode, const std::vector<std::string>& without,
                       const PatchedSources& sources) {
    Command command = clang_command(build, Pass::device, source, identity, without);
    add(command, sources.options());
    // Bugs are found before any optimiser removes them: -O1 with passes off has the debug information and
    // attributes of optimised code, and nothing else. The PTX version is one whose instructions clang's
    // headers use.
    for (const char* each : {"-Xclang", "-target-feature", "-Xclang", "+ptx83", "-O1", "-Xclang",
                             "-disable-llvm-passes", "-g", "-Xclang", "-debug-info-kind=limited",
                             "-fno-finite-loops", "-fno-delete-null-pointer-checks", "-MD", "-MF"})
        command.push_back(each);
    command.push_back(bitcode + ".d");
    command.insert(command.end(), {"-emit-llvm", "-c", source, "-o", bitcode});
    return command;
}

int compile_to_object(const Build& build, const std::string& given_source, const std::string& object) {
    // Names that clang gives to parts of relocatable code are made of the source's, as it is written: that
    // must differ between files of the same name in different folders.
    const std::string source =
        build.relocatable ? (fs::current_path() / given_source).string() : given_source;
    const std::string identity = identity_of(source, object, build);
    const fs::path folder = build.work;
    const std::string stem = fs::path(source).stem();
    const std::string bitcode = folder / (stem + ".device.bc"), fifo = folder / (stem + ".image");
    std::vector<std::string> without;
    PatchedSources sources(folder);
    std::optional<PatchedSources> of_the_device;
    HostFunctions host_functions;
    while (true) {
        const PatchedSources& device_sources = of_the_device ? *of_the_device : sources;
        Command device = device_command(build, source, identity, bitcode, without, device_sources);
        add(device, host_functions.options());
        Command host = clang_command(build, Pass::host, source, identity, without);
        add(host, sources.options());
        add_dependency_options(build, object, host);
        host.insert(host.end(),
                    {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", fifo, "-c", source, "-o", object});
        build.show(device);
        build.show(host);
        if (build.dry_run) return 0;
        fs::remove(fifo);
        if (mkfifo(fifo.c_str(), 0600) != 0) throw Fatal("Cannot make " + fifo);
        Diagnostics diagnostics;
        TwoPasses passes(device, host, bitcode, fifo);
        const auto show_messages = [&] {
            if (!build.line.has(Option::no_warnings)) std::cerr << host_functions.warnings();
            std::cerr << diagnostics.unseen(device_sources.of_the_files(passes.device_messages))
                      << diagnostics.unseen(sources.of_the_files(passes.host_messages)) << std::flush;
        };
        int status = 0;
        try {
            status = passes.run([&](const std::string& file) {
                refuse_foreign_headers(build, file + ".d");
                auto bytes = cuda_cpp::embedded_form(cuda_cpp::image_of_bitcode(
                    file_bytes(file), {build.tools.toolkit.string(), build.relocatable}));
                if (build.keep)
                    std::ofstream(folder / (stem + ".fatbin"), std::ios::binary)
                        .write(reinterpret_cast<const char*>(bytes.data()),
                               static_cast<std::streamsize>(bytes.size()));
                return bytes;
            });
        } catch (const std::exception&) {
            show_messages();
            throw;
        }
        fs::remove(fifo);
        if (status != 0 && without.empty()) {
            without = unknown_words(build, passes.device_messages + passes.host_messages);
            if (!without.empty() && host_compiler_refuses(build, without)) return status;
            if (!without.empty()) continue;
        }
        if (status != 0 && !of_the_device && mended(build, sources, passes.device_messages)) continue;
        if (status != 0 && !all_warnings_are_errors(build)) {
            PatchedSources more = device_sources.further("device");
            const bool again = host_functions.take(more, passes.device_messages);
            if (again) of_the_device = std::move(more);
            if (again) continue;
        }
        show_messages();
        if (status >= 128)
            std::cerr << "nvcc error   : '" << build.tools.clang.string() << "' died due to signal "
                      << status - 128 << "\n";
        return status;
    }
}

/// The functions of libdevice that PTX calls and does not have.
std::set<std::string> missing_functions(const std::string& ptx) {
    static const std::regex declaration(R"(\.extern \.func[^;]*?\b(__nv_\w+))");
    std::set<std::string> names;
    for (std::sregex_iterator each(ptx.begin(), ptx.end(), declaration), end; each != end; ++each)
        names.insert((*each)[1]);
    return names;
}

/// NVIDIA's library of device functions, which PTX of nvcc has inside: the simulator's is no code for GPUs.
fs::path libdevice(const Build& build) {
    const std::string folder = build.line.last(Option::libdevice_directory);
    if (folder.empty()) return gpu_backend::find_libdevice().value_or(fs::path());
    if (!fs::exists(fs::path(folder) / "libdevice.10.bc"))
        throw Fatal("There is no libdevice.10.bc in '" + folder + "' (option '--libdevice-directory')");
    return fs::path(folder) / "libdevice.10.bc";
}

void warn_of_missing_functions(const std::string& file) {
    std::string names;
    for (const auto& name : missing_functions(file_bytes(file))) names += (names.empty() ? "" : ", ") + name;
    if (!names.empty())
        std::cerr << "nvcc warning : " << file
                  << " calls functions of NVIDIA's libdevice, which was not found: " << names
                  << "; -ldir names the folder of libdevice.10.bc\n";
}

/// Runs clang and waits for it. @return its status
int status_of(const Command& command, std::string& messages) {
    messages.clear();
    Process clang(command, Process::Errors::read);
    while (read_some(clang.error_output(), messages)) check_signals();
    return clang.wait();
}

/// PTX of bitcode in which calls of host functions are marked.
int ptx_with_traps(const Build& build, const fs::path& bitcode, const std::string& output) {
    const std::string text = cuda_cpp::with_traps_at_host_functions(file_bytes(bitcode));
    std::ofstream(bitcode, std::ios::binary) << text;
    Command command{build.tools.clang,           "-x", "ir", "--target=nvptx64-nvidia-cuda", "-nogpulib",
                    "-march=" + build.gpu.chosen};
    add(command, {"-Wno-unknown-cuda-version", "-Xclang", "-target-feature", "-Xclang", "+ptx83", "-O3", "-S",
                  bitcode});
    if (!output.empty()) add(command, {"-o", output});
    build.show(command);
    std::string messages;
    const int status = status_of(command, messages);
    std::cerr << messages;
    return status;
}

int compile_to_ptx(const Build& build, const std::string& source, const std::string& output) {
    PatchedSources sources(build.work);
    std::optional<PatchedSources> with_host_functions;
    HostFunctions host_functions;
    const fs::path bitcode = build.work / (fs::path(source).stem().string() + ".ptx.bc");
    while (true) {
        const PatchedSources& used = with_host_functions ? *with_host_functions : sources;
        Command command = clang_command(build, Pass::device, source, identity_of(source, output, build), {});
        add(command, used.options());
        add(command, host_functions.options());
        add(command, {"-Xclang", "-target-feature", "-Xclang", "+ptx83", "-O3"});
        const fs::path library = libdevice(build);
        if (!library.empty()) add(command, {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", library});
        if (with_host_functions)
            add(command, {"-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source, "-o", bitcode});
        else
            add(command, {"-S", source});
        if (!output.empty() && !with_host_functions) add(command, {"-o", output});
        build.show(command);
        if (build.dry_run) return 0;
        std::string messages;
        int status = status_of(command, messages);
        if (status != 0 && !with_host_functions && mended(build, sources, messages)) continue;
        if (status != 0 && !all_warnings_are_errors(build)) {
            PatchedSources more = used.further("device");
            const bool again = host_functions.take(more, messages);
            if (again) with_host_functions = std::move(more);
            if (again) continue;
        }
        if (!build.line.has(Option::no_warnings)) std::cerr << host_functions.warnings();
        std::cerr << used.of_the_files(messages);
        if (status == 0 && with_host_functions) status = ptx_with_traps(build, bitcode, output);
        if (status == 0 && library.empty() && !output.empty()) warn_of_missing_functions(output);
        return status;
    }
}

/// "a.o: a.cu a.h" as nvcc writes it, a line for each file, for readers that know no other form (FindCUDA of
/// CMake).
std::string in_lines(const std::string& rule) {
    std::string text;
    std::size_t at = rule.find(": ");
    if (at == rule.npos) return rule;
    text = rule.substr(0, at) + " :";
    while (++at < rule.size() && rule[at] != '\n') {
        const std::size_t start = at = rule.find_first_not_of(' ', at);
        if (rule.compare(at, 2, "\\\n") == 0) {
            ++at;
            continue;
        }
        while (rule[at] != '\n' && (rule[at] != ' ' || rule[at - 1] == '\\')) ++at;
        text += (text.ends_with(" :") ? " " : " \\\n    ") + rule.substr(start, at - start);
        if (rule[at] == '\n') --at;
    }
    return text + rule.substr(std::min(at, rule.size()));  // phony rules
}

/// @param command of clang, which writes a rule for make
int write_rule(const Build& build, Command command, const std::string& output) {
    const fs::path rule = build.work / "rule.d";
    add(command, {"-o", rule});
    if (const int failed = build.execute(command); failed != 0 || build.dry_run) return failed;
    const std::string text = in_lines(file_bytes(rule));
    if (output.empty())
        std::cout << text << std::flush;
    else if (!(std::ofstream(output) << text).flush())
        throw Fatal("Cannot write '" + output + "'");
    return 0;
}

}  // namespace

void Build::show(const Command& command) const {
    if (dry_run || verbose) std::cerr << "#$ " << shell_text(command) << std::endl;
}

int Build::execute(const Command& command) const {
    show(command);
    return dry_run ? 0 : run(command);
}

int compile_cuda(const Build& build, const std::string& source, Result result, const std::string& output) {
    if (result == Result::object) return compile_to_object(build, source, output);
    if (result == Result::ptx) return compile_to_ptx(build, source, output);
    Command command = clang_command(build, Pass::host, source, identity_of(source, output, build), {});
    const CommandLine& line = build.line;
    if (result == Result::preprocessed) {
        command.push_back("-E");
    } else {
        command.push_back(line.has(Option::dependencies) ? "-M" : "-MM");
        const std::string target = line.last(Option::dependency_target);
        add(command, {"-MT", target.empty() ? fs::path(source).stem().string() + ".o" : target});
        if (line.has(Option::phony_targets)) command.push_back("-MP");
    }
    command.push_back(source);
    if (result == Result::dependencies) return write_rule(build, command, output);
    if (!output.empty()) add(command, {"-o", output});
    return build.execute(command);
}

int compile_host(const Build& build, const std::string& source, const std::string& language, Result result,
                 const std::string& output) {
    if (result == Result::ptx) throw Fatal("'" + source + "' is host code; there is no PTX of it");
    Command command = host_command(build, language);
    if (result == Result::object) {
        add_dependency_options(build, output, command);
        command.push_back("-c");
    } else if (result == Result::preprocessed) {
        command.push_back("-E");
    } else {
        command.push_back(build.line.has(Option::dependencies) ? "-M" : "-MM");
        if (build.line.has(Option::dependency_target))
            command.insert(command.end(), {"-MT", build.line.last(Option::dependency_target)});
        if (build.line.has(Option::phony_targets)) command.push_back("-MP");
    }
    command.push_back(source);
    if (!output.empty()) command.insert(command.end(), {"-o", output});
    return build.execute(command);
}

}  // namespace cudasim::nvcc
