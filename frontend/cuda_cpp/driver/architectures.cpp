// See architectures.h.
#include "frontend/cuda_cpp/driver/architectures.h"

#include <algorithm>
#include <cctype>

namespace cudasim::nvcc {
namespace {

constexpr int default_architecture = 75;    // nvcc 13's
constexpr int simulated_architecture = 90;  // of the device that the simulator has by default, an H100

// Those of "Virtual Architecture Feature List", and all older ones, which old makefiles ask for.
constexpr int known[] = {10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50,  52,  53,  60,  61,
                         62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
constexpr int major_ones[] = {75, 80, 90, 100, 110, 120};
constexpr int oldest_of_nvcc = 75;
/// What is asked for older GPUs is compiled for this: programs bring functions of their own where
/// __CUDA_ARCH__ is less (atomicAdd() of double), which the headers have.
constexpr int oldest_compiled = 60;

struct Name {
    int number = 0;
    bool specific = false;  ///< sm_90a, sm_100f
};

Name read_name(const std::string& text) {
    for (const char* prefix : {"sm_", "compute_", "lto_"}) {
        if (!text.starts_with(prefix)) continue;
        std::string rest = text.substr(std::string(prefix).size());
        Name name;
        if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) {
            name.specific = true;
            rest.pop_back();
        }
        if (rest.empty() || rest.size() > 3 ||
            !std::ranges::all_of(rest, [](unsigned char c) { return isdigit(c); }))
            break;
        name.number = std::stoi(rest);
        if (std::ranges::find(known, name.number) == std::end(known) || (name.specific && name.number < 90))
            break;
        return name;
    }
    throw Fatal("Unsupported gpu architecture '" + text + "'");
}

void add_names(std::vector<Name>& names, const std::string& text) {
    if (text == "native") {
        names.push_back({simulated_architecture, false});
    } else if (text == "all") {
        for (const int number : known)
            if (number >= oldest_of_nvcc) names.push_back({number, false});
    } else if (text == "all-major") {
        for (const int number : major_ones) names.push_back({number, false});
    } else {
        names.push_back(read_name(text));
    }
}

/// arch=compute_70,code=[sm_70,compute_70], or with quotes.
void add_gencode(std::vector<Name>& names, std::string text) {
    std::erase_if(text, [](char c) { return c == '"' || c == '\'' || c == ' ' || c == '[' || c == ']'; });
    if (!text.starts_with("arch="))
        throw Fatal("Option '--generate-code " + text + "' needs the form arch=compute_NN,code=sm_NN");
    const std::size_t code = text.find(",code=");
    add_names(names, text.substr(5, code == std::string::npos ? code : code - 5));
    if (code == std::string::npos) return;
    std::string rest = text.substr(code + 6) + ",";
    for (std::size_t comma; (comma = rest.find(',')) != std::string::npos; rest.erase(0, comma + 1))
        if (comma > 0) (void)read_name(rest.substr(0, comma));
}

}  // namespace

Architectures architectures(const CommandLine& line) {
    // Device code is compiled for the virtual architecture; --gpu-code only says for which GPUs that is
    // translated.
    std::vector<Name> names;
    const std::string arch = line.last(Option::architecture);
    if (!arch.empty()) add_names(names, arch);
    for (const auto& code : line.all(Option::code)) {
        if (arch.empty()) throw Fatal("Option '--gpu-code' needs '--gpu-architecture'");
        std::string bare = code;
        std::erase_if(bare, [](char c) { return c == '[' || c == ']' || c == '"'; });
        (void)read_name(bare);
    }
    for (const auto& gencode : line.all(Option::gencode)) add_gencode(names, gencode);
    if (names.empty()) names.push_back({default_architecture, false});

    Architectures result;
    for (const Name& name : names) result.asked.push_back(name.number);
    std::ranges::sort(result.asked);
    result.asked.erase(std::ranges::unique(result.asked).begin(), result.asked.end());

    // A GPU runs code of its own and of older architectures; architecture-specific code only of its own.
    const Name* best = nullptr;
    for (const Name& name : names)
        if (name.number <= simulated_architecture &&
            (best == nullptr || name.number > best->number || (name.number == best->number && name.specific)))
            best = &name;
    if (best != nullptr) {
        // clang 19 has no sm_88, which differs from sm_87 in nothing that device code can see.
        const int number = best->number == 88 ? 87 : std::max(best->number, oldest_compiled);
        if (best->number < oldest_compiled)
            result.remark =
                "the architectures asked for are older than what device code is compiled for: sm_60";
        result.chosen = "sm_" + std::to_string(number) + (best->specific ? "a" : "");
    } else {
        result.chosen = "sm_90a";
        result.remark =
            "none of the architectures asked for can be compiled for the simulated device (sm_90): "
            "device code is compiled for sm_90a";
    }
    return result;
}

std::string architecture_list(const std::string& prefix) {
    std::string text;
    for (const int number : known)
        if (number >= oldest_of_nvcc && number <= simulated_architecture)
            text += prefix + std::to_string(number) + "\n";
    return text;
}

}  // namespace cudasim::nvcc
