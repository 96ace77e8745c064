// See build.h.
#include "frontend/cuda_cpp/driver/build.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "frontend/cuda_cpp/driver/compile.h"
#include "frontend/cuda_cpp/images/device_archives.h"

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

enum class Goal {
    program,
    shared_library,
    static_library,
    device_link,
    objects,
    preprocessed,
    dependencies,
    ptx
};

enum class InputKind { cuda, c, cxx, object };

struct Input {
    std::string path;
    InputKind kind;
};

Goal goal_of(const CommandLine& line) {
    struct Choice {
        Option option;
        Goal goal;
    };
    constexpr Choice choices[] = {
        {Option::compile, Goal::objects},
        {Option::device_c, Goal::objects},
        {Option::device_w, Goal::objects},
        {Option::device_link, Goal::device_link},
        {Option::lib, Goal::static_library},
        {Option::preprocess, Goal::preprocessed},
        {Option::ptx, Goal::ptx},
        {Option::dependencies, Goal::dependencies},
        {Option::user_dependencies, Goal::dependencies},
    };
    std::optional<Choice> chosen;
    for (const Choice& choice : choices) {
        if (!line.has(choice.option)) continue;
        if (chosen && chosen->goal != choice.goal)
            throw Fatal("Options '--" +
                        std::string(option_table()[static_cast<std::size_t>(chosen->option)].long_name) +
                        "' and '--" +
                        std::string(option_table()[static_cast<std::size_t>(choice.option)].long_name) +
                        "' contradict each other");
        chosen = choice;
    }
    if (line.has(Option::run) && (chosen || line.has(Option::shared)))
        throw Fatal("Option '--run' needs a program; other options ask for something else");
    if (line.has(Option::device_c) && line.has(Option::device_w))
        throw Fatal("Options '--device-c' and '--device-w' contradict each other");
    if (chosen && chosen->goal == Goal::static_library && line.has(Option::shared))
        throw Fatal("Options '--lib' and '--shared' contradict each other");
    if (chosen) return chosen->goal;
    return line.has(Option::shared) ? Goal::shared_library : Goal::program;
}

InputKind kind_of(const std::string& path, const std::string& language) {
    const std::string name = fs::path(path).filename();
    const std::string extension = fs::path(path).extension();
    if (extension == ".o" || extension == ".a" || extension == ".so" || extension == ".obj" ||
        extension == ".lo" || name.find(".so.") != std::string::npos)
        return InputKind::object;
    if (language == "cu") return InputKind::cuda;
    if (language == "c++") return InputKind::cxx;
    if (language == "c") return InputKind::c;
    if (!language.empty()) throw Fatal("Language '" + language + "' is not c, c++ or cu (option '-x')");
    if (extension == ".cu") return InputKind::cuda;
    if (extension == ".c" || extension == ".i") return InputKind::c;
    if (extension == ".cc" || extension == ".cpp" || extension == ".cxx" || extension == ".ii" ||
        extension == ".C")
        return InputKind::cxx;
    if (extension == ".ptx" || extension == ".cubin" || extension == ".fatbin")
        throw Fatal("'" + path +
                    "': cudasim's nvcc compiles sources only; PTX is read when a program loads it");
    throw Fatal("Don't know what to do with '" + path + "'");
}

void check_values(const CommandLine& line) {
    const auto one_of = [&](Option option, std::initializer_list<std::string_view> allowed) {
        const std::string value = line.last(option);
        if (line.has(option) && std::ranges::find(allowed, value) == allowed.end())
            throw Fatal("Value '" + value + "' is not defined for option '" +
                        std::string(option_table()[static_cast<std::size_t>(option)].long_name) + "'");
    };
    one_of(Option::cudart, {"none", "shared", "static"});
    one_of(Option::default_stream, {"legacy", "null", "per-thread"});
    one_of(Option::machine, {"64"});
    one_of(Option::optimise, {"0", "1", "2", "3"});
    one_of(Option::standard, {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23", "gnu++11", "gnu++14",
                              "gnu++17", "gnu++20", "gnu++23"});
}

class Plan {
  public:
    Plan(CommandLine line, Goal goal) : goal_(goal) {
        build_.line = std::move(line);
        build_.tools = toolchain(build_.line);
        build_.gpu = architectures(build_.line);
        build_.relocatable =
            (build_.line.boolean(Option::relocatable, false) || build_.line.has(Option::device_c) ||
             build_.line.has(Option::extensible_program)) &&
            !build_.line.has(Option::device_w);
        build_.dry_run = build_.line.has(Option::dry_run);
        build_.verbose = build_.line.has(Option::verbose) && !build_.dry_run;
        build_.shared = goal == Goal::shared_library;
        if (build_.dry_run || build_.verbose) print_variables();
        for (const auto& path : build_.line.inputs())
            inputs_.push_back({path, kind_of(path, build_.line.last(Option::language))});
    }

    int run() {
        std::unique_ptr<TemporaryFolder> temporary;
        build_.keep = build_.line.has(Option::keep) || build_.line.has(Option::save_temporaries) ||
                      build_.line.has(Option::keep_folder);
        if (build_.keep) {
            const std::string folder = build_.line.last(Option::keep_folder);
            build_.work = folder.empty() ? "." : folder;
            if (!fs::is_directory(build_.work)) throw Fatal("--keep-dir: '" + folder + "' is not a folder");
        } else {
            temporary = std::make_unique<TemporaryFolder>();
            build_.work = temporary->path();
        }
        if (needs_clang()) {
            build_.tools.find_clang();
            build_.openmp = find_openmp(build_.line, build_.tools);
        } else if (links() && build_.line.has(Option::to_compiler)) {
            build_.openmp = find_openmp(build_.line, build_.tools);
        }
        if (build_.openmp.asked && build_.openmp.library.empty() && needs_clang())
            std::cerr << "nvcc warning : -fopenmp: clang's OpenMP library was not found (Debian, Ubuntu: apt "
                         "install "
                         "libomp-19-dev); host code of .cu files ignores OpenMP pragmas\n";
        if (!links()) return each_source();
        if (build_.line.has(Option::clean)) return remove({output_or(default_output())});
        if (goal_ == Goal::device_link) return device_link();
        std::vector<std::string> objects;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (inputs_[i].kind == InputKind::object) {
                objects.push_back(inputs_[i].path);
                continue;
            }
            // A folder for each: sources can have the same name, which libraries keep.
            const fs::path folder = temporary ? build_.work / std::to_string(i) : build_.work;
            if (!build_.dry_run) fs::create_directories(folder);
            objects.push_back(folder / (fs::path(inputs_[i].path).stem().string() + ".o"));
            if (const int failed = compile(inputs_[i], Result::object, objects.back())) return failed;
        }
        if (const int failed = goal_ == Goal::static_library ? archive(objects) : link(objects))
            return failed;
        return build_.line.has(Option::run) && !build_.dry_run ? run_program() : 0;
    }

  private:
    bool links() const {
        return goal_ == Goal::program || goal_ == Goal::shared_library || goal_ == Goal::static_library ||
               goal_ == Goal::device_link;
    }
    bool needs_clang() const {
        return goal_ != Goal::device_link &&
               std::ranges::any_of(inputs_, [](const Input& input) { return input.kind == InputKind::cuda; });
    }

    std::string output_or(const std::string& name) const {
        if (build_.line.has(Option::output_file)) return build_.line.last(Option::output_file);
        const std::string folder = build_.line.last(Option::output_directory);
        return folder.empty() ? name : (fs::path(folder) / name).string();
    }
    std::string default_output() const {
        switch (goal_) {
            case Goal::static_library:
                return "a.a";
            case Goal::device_link:
                return "a_dlink.o";
            default:
                return "a.out";
        }
    }

    std::vector<std::string> library_folders() const {
        return {"-L" + build_.tools.libraries() + "/stubs", "-L" + build_.tools.libraries()};
    }

    /// In the form of nvcc's, which CMake reads (CMakeDetermineCUDACompiler.cmake).
    void print_variables() const {
        const std::string bin = build_.tools.toolkit / "bin";
        const char* path = std::getenv("PATH");
        std::cerr << "#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ _HERE_=" << bin << "\n#$ _THERE_=" << bin
                  << "\n#$ _TARGET_SIZE_=\n#$ _TARGET_DIR_=\n#$ TOP=" << bin
                  << "/..\n#$ NVVMIR_LIBRARY_DIR=" << bin << "/../nvvm/libdevice\n#$ PATH=" << bin << ":"
                  << (path != nullptr ? path : "")
                  << "\n#$ INCLUDES=" << shell_text({"-I" + build_.tools.include()})
                  << "\n#$ LIBRARIES=" << shell_text(library_folders())
                  << "\n#$ CUDAFE_FLAGS=\n#$ PTXAS_FLAGS=\n";
        for (const int each : build_.gpu.asked)
            std::cerr << "#$ -- asked for: -arch compute_" << each << " --\n";
        if (!build_.gpu.remark.empty()) std::cerr << "#$ -- " << build_.gpu.remark << " --\n";
    }

    int compile(const Input& input, Result result, const std::string& output) const {
        check_signals();
        if (!fs::exists(input.path)) throw Fatal("Cannot find the input file '" + input.path + "'");
        switch (input.kind) {
            case InputKind::cuda:
                return compile_cuda(build_, input.path, result, output);
            case InputKind::c:
                return compile_host(build_, input.path, "c", result, output);
            default:
                return compile_host(build_, input.path, "c++", result, output);
        }
    }

    /// Results that are not linked: one for each source.
    int each_source() const {
        std::vector<Input> sources;
        for (const Input& input : inputs_)
            if (input.kind != InputKind::object) sources.push_back(input);
        if (sources.empty()) throw Fatal("No source among the input files; option '--compile' needs one");
        if (sources.size() > 1 && build_.line.has(Option::output_file))
            throw Fatal(
                "A single input file is required for a non-link phase when an outputfile is specified");
        const std::map<Goal, std::pair<Result, std::string>> forms{
            {Goal::objects, {Result::object, ".o"}},
            {Goal::ptx, {Result::ptx, ".ptx"}},
            {Goal::preprocessed, {Result::preprocessed, ""}},
            {Goal::dependencies, {Result::dependencies, ""}}};
        const auto& [result, extension] = forms.at(goal_);
        for (const Input& input : sources) {
            std::string output = build_.line.last(Option::output_file);
            if (result == Result::dependencies && build_.line.has(Option::dependency_file))
                output = build_.line.last(Option::dependency_file);
            if (!extension.empty()) output = output_or(fs::path(input.path).stem().string() + extension);
            if (build_.line.has(Option::clean)) {
                if (!output.empty()) (void)remove({output});
                continue;
            }
            if (const int failed = compile(input, result, output)) return failed;
        }
        return 0;
    }

    int remove(const std::vector<std::string>& files) const {
        for (const auto& file : files) {
            build_.show({"rm", file});
            std::error_code ignored;
            if (!build_.dry_run) fs::remove(file, ignored);
        }
        return 0;
    }

    int archive(const std::vector<std::string>& objects) const {
        const std::string output = output_or(default_output());
        (void)remove({output});
        Command command{build_.tools.archiver};
        const auto words = build_.line.all(Option::to_archiver);
        command.insert(command.end(), words.begin(), words.end());
        command.insert(command.end(), {"qcs", output});
        command.insert(command.end(), objects.begin(), objects.end());
        return build_.execute(command);
    }

    int device_link() const {
        std::vector<std::string> objects;
        for (const Input& input : inputs_) {
            if (input.kind == InputKind::object && !fs::exists(input.path))
                throw Fatal("Cannot find the input file '" + input.path + "'");
            objects.push_back(input.path);
        }
        return compile_device_link(device_link_of(objects), output_or(default_output()));
    }

    /// As what nvcc's device link makes, the object defines the functions that constructors of relocatable
    /// objects call, so that the host's linker takes it from an archive with them, and refers to the parts.
    int compile_device_link(const cuda_cpp::DeviceLink& link, const std::string& object) const {
        const fs::path source = build_.work / "device_link.c";
        std::ofstream text(source);
        text << R"(void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
int __cxa_atexit(void (*)(void*), void*, void*);
extern void* __dso_handle __attribute__((visibility("hidden")));
typedef void (*Register)(void**);
typedef void (*Dummy)(void*);
static void unregister_image(void* handle) { __cudaUnregisterFatBinary(handle); }
__attribute__((unused)) static void register_image(Register globals, void* wrapper) {
    void** handle = __cudaRegisterFatBinary(wrapper);
    globals(handle);
    __cudaRegisterFatBinaryEnd(handle);
    __cxa_atexit(unregister_image, handle, &__dso_handle); /* or when the shared library is unloaded */
}
)";
        for (const auto& part : link.parts)  // weak: several links may have been given an object
            text << "__attribute__((weak, visibility(\"hidden\"))) void "
                 << cuda_cpp::name_of_registration(part)
                 << "(Register globals, void* wrapper, void* module, Dummy dummy) {\n"
                    "    register_image(globals, wrapper);\n}\n";
        for (const auto& part : link.needed) {
            const std::string wrapper = cuda_cpp::name_of_wrapper(part);
            text << "extern char " << wrapper << "[];\nstatic char* const of_" << wrapper
                 << " __attribute__((used)) = " << wrapper << ";\n";
        }
        text.close();
        return build_.execute({build_.tools.host_compiler, "-c", "-fPIC", "-x", "c", source, "-o", object});
    }

    /// @param files objects and archives; those that -l and -L name are looked for
    cuda_cpp::DeviceLink device_link_of(std::vector<std::string> files) const {
        for (const auto& library : build_.line.all(Option::library))
            for (const auto& folder : build_.line.all(Option::library_path)) {
                const std::string stem = (fs::path(folder) / ("lib" + library)).string();
                if (!fs::exists(stem + ".so") && !fs::exists(stem + ".a")) continue;
                files.push_back(stem + (fs::exists(stem + ".so") ? ".so" : ".a"));
                break;
            }
        return cuda_cpp::device_link_of(files);
    }

    int link(std::vector<std::string> objects) const {
        const CommandLine& line = build_.line;
        if (!line.has(Option::no_device_link))
            if (const auto device = device_link_of(objects); !device.parts.empty()) {
                // Before archives, of which the linker takes what has been asked for.
                objects.insert(objects.begin(), build_.work / "device_link.o");
                if (const int failed = compile_device_link(device, objects.front())) return failed;
            }
        Command command{build_.tools.host_compiler};
        const bool with_libomp = build_.openmp.asked && !build_.openmp.library.empty();
        if (with_libomp)
            command.insert(command.end(),
                           {"-Wl,--push-state,--no-as-needed", build_.openmp.library, "-Wl,--pop-state"});
        if (goal_ == Goal::shared_library) command.push_back("-shared");
        if (line.has(Option::debug)) command.push_back("-g");
        if (line.has(Option::profile)) command.push_back("-pg");
        // libomp has the functions of libgomp, too; two OpenMP libraries in one program know nothing of each
        // other.
        for (const auto& word : line.all(Option::to_compiler))
            if (!(with_libomp && (word.starts_with("-fopenmp") || word == "-lgomp"))) command.push_back(word);
        command.insert(command.end(), objects.begin(), objects.end());
        // Before the user's folders, which can be an installed toolkit's.
        for (const auto& each : library_folders()) command.push_back(each);
        for (const auto& each : line.all(Option::library_path)) command.push_back("-L" + each);
        for (const auto& each : line.all(Option::library))
            if (!(with_libomp && each == "gomp")) command.push_back("-l" + each);
        for (const auto& each : line.all(Option::to_linker))
            command.insert(command.end(), {"-Xlinker", each});
        // Both are linker scripts, which make the library's path that of the toolkit: no rpath is needed.
        const std::string runtime = line.last(Option::cudart);
        if (runtime != "none")
            command.insert(command.end(),
                           {"-lcudadevrt", runtime == "shared" ? "-lcudart" : "-lcudart_static"});
        command.insert(command.end(), {"-lrt", "-lpthread", "-ldl"});
        // clang names the C++ library's functions, whatever the host compiler is.
        if (build_.tools.host_compiler.ends_with("cc")) command.push_back("-lstdc++");
        command.insert(command.end(), {"-o", output_or(default_output())});
        return build_.execute(command);
    }

    int run_program() const {
        const std::string program = fs::absolute(output_or(default_output()));
        Command command{program};
        for (const auto& each : build_.line.all(Option::run_args)) command.push_back(each);
        const int status = build_.execute(command);
        std::error_code ignored;
        if (!build_.line.has(Option::output_file)) fs::remove(program, ignored);
        return status;
    }

    Goal goal_;
    Build build_;
    std::vector<Input> inputs_;
};

}  // namespace

int build(CommandLine line) {
    check_values(line);
    const Goal goal = goal_of(line);
    if (line.inputs().empty())
        throw Fatal("No input files specified; use option --help for more information");
    return Plan(std::move(line), goal).run();
}

}  // namespace cudasim::nvcc
