// The inventory, and its text.
#include <array>
#include <cstdio>

#include "gpu_backend/libcuda/driver.h"

namespace cudasim::libcuda {
namespace {

/// "139.8 GiB"; below 1 GiB "512 MiB".
std::string memory_text(std::uint64_t bytes) {
    constexpr double mebi = 1024.0 * 1024.0;
    const double size = static_cast<double>(bytes) / mebi;
    std::array<char, 32> text{};
    if (size < 1024.0)
        std::snprintf(text.data(), text.size(), "%.0f MiB", size);
    else
        std::snprintf(text.data(), text.size(), "%.1f GiB", size / 1024.0);
    return text.data();
}

}  // namespace

Inventory take_inventory(const Search& search) {
    Inventory inventory;
    try {
        Driver driver = Driver::open(search);
        inventory.library = driver.path();
        inventory.driver = driver.version();
        inventory.missing_functions = driver.missing_optional();
        driver.initialise();
        inventory.gpus = driver.gpus();
    } catch (const Unavailable& error) {
        inventory.outcome = error.outcome;
        inventory.message = error.what();
        inventory.library = error.library;
    }
    return inventory;
}

std::vector<std::string> lines_of(const Inventory& inventory) {
    if (inventory.outcome != Outcome::found) return {"GPU: none: " + inventory.message};
    std::vector<std::string> lines;
    for (const auto& gpu : inventory.gpus) {
        std::string line = "GPU";
        if (inventory.gpus.size() > 1) line += " " + std::to_string(gpu.ordinal);
        line += ": " + gpu.name + ", compute capability " + to_text(gpu.compute_capability) + ", " +
                memory_text(gpu.memory) + ", driver " + to_text(inventory.driver) + " (" + inventory.library +
                ")";
        if (!gpu.is_new_enough()) line += ", too old: cudasim needs " + to_text(needed_capability);
        if (!gpu.virtual_memory) line += ", without memory at given addresses";
        lines.push_back(line);
    }
    if (!inventory.missing_functions.empty()) {
        std::string line = "The GPU's driver lacks";
        for (const auto& symbol : inventory.missing_functions)
            line += (symbol == inventory.missing_functions.front() ? " " : ", ") + symbol;
        lines.push_back(line + ", which cudasim can do without.");
    }
    return lines;
}

}  // namespace cudasim::libcuda
