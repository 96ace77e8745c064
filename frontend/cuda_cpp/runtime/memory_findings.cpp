// See memory_findings.h.
#include "frontend/cuda_cpp/runtime/memory_findings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/cuda_cpp/host_code/call_labels.h"
#include "frontend/cuda_cpp/host_code/host_lines.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/programs.h"
#include "simulator/driver/devices.h"
#include "simulator/execution/device_heap.h"

namespace cudasim::cudart {
namespace {

using findings::FindingKind;

/// What `cudasim check --track-unused-memory` sets (frontend/python/cudasim/cuda_cpp/commands.py).
constexpr auto track_unused_variable = "CUDASIM_PROGRAM_TRACK_UNUSED";

struct Remedy {
    std::string_view allocates, frees;
};
/// By the function of the runtime API. What is not here, as cudaHostRegister(), takes no memory.
constexpr std::array<Remedy, 10> remedies{{{"cudaMalloc", "cudaFree()"},
                                           {"cudaMallocPitch", "cudaFree()"},
                                           {"cudaMalloc3D", "cudaFree()"},
                                           {"cudaMallocManaged", "cudaFree()"},
                                           {"cudaMallocAsync", "cudaFreeAsync()"},
                                           {"cudaMallocFromPoolAsync", "cudaFreeAsync()"},
                                           {"cudaMallocHost", "cudaFreeHost()"},
                                           {"cudaHostAlloc", "cudaFreeHost()"},
                                           {"cudaMallocArray", "cudaFreeArray()"},
                                           {"cudaMalloc3DArray", "cudaFreeArray()"}}};
/// Allocations with one label: of one place in the source.
struct OfPlace {
    std::string label;
    std::uint64_t bytes = 0, count = 0;
};
/// In the order of their first allocations.
class Places {
  public:
    void add(const std::string& label, std::uint64_t bytes) {
        auto known = std::ranges::find(all_, label, &OfPlace::label);
        if (known == all_.end()) known = all_.insert(known, {.label = label});
        known->bytes += bytes, ++known->count;
    }
    [[nodiscard]] const std::vector<OfPlace>& all() const { return all_; }

  private:
    std::vector<OfPlace> all_;
};

bool tracks_unused() {
    return std::getenv(track_unused_variable) != nullptr;
}

/// What gives the memory back; empty for memory that the program has not asked for.
std::string_view remedy_of(const std::string& label) {
    if (label.starts_with(execution::DeviceHeap::label_begin)) return "free() in a kernel";
    const auto call = cuda_cpp::labelled_call(label);
    if (!call) return {};
    const auto* const known = std::ranges::find(remedies, call->function, &Remedy::allocates);
    return known == remedies.end() ? std::string_view{} : known->frees;
}

/// Where it was allocated, as far as that is known.
findings::CallChain place_of(const std::string& label) {
    if (const auto call = cuda_cpp::labelled_call(label)) return cuda_cpp::host_lines(call->return_address);
    constexpr std::string_view at = " at ";
    const std::size_t begin = execution::DeviceHeap::label_begin.size() + at.size();
    if (label.size() <= begin) return {};
    const std::string place = label.substr(begin);
    const auto colon = place.rfind(':');
    findings::SourceLocation where;
    where.file = Programs::of_this_process().path_of_source(place.substr(0, colon));
    where.line = static_cast<std::uint32_t>(std::strtoul(place.c_str() + colon + 1, nullptr, 10));
    return {where};
}

void tell(FindingKind kind, std::string message, const OfPlace& place) {
    tell_of_host(kind, std::move(message), place_of(place.label), place.count);
}

/// "4096 bytes of d_a (cudaMalloc at main.cu:12)"
std::string described(const OfPlace& each) {
    return std::to_string(each.bytes) + (each.bytes == 1 ? " byte of " : " bytes of ") +
           (each.count == 1 ? "" : std::to_string(each.count) + " allocations of ") +
           cuda_cpp::with_lines(each.label);
}

/// What was told of at an earlier reset. The device's heap lives on.
std::set<std::uint64_t>& told() {
    static auto& addresses = *new std::set<std::uint64_t>;
    return addresses;
}

/// @param of_host page-locked and managed memory, too
void tell_leaks(const driver::Context& context, bool of_host) {
    // After an error that lasts, the program can free nothing.
    if (!wanted_checks().leaks || context.failure() != driver::CudaResult::success) return;
    Places lost;
    for (const auto& each : context.engine()->device.memory_layout().live) {
        if (each.adopted || (!of_host && !each.counted) || remedy_of(each.label).empty()) continue;
        if (told().insert(each.address).second) lost.add(each.label, each.bytes);
    }
    for (const auto& each : lost.all())
        tell(FindingKind::memory_leak,
             described(each) + (each.bytes == 1 ? " is" : " are") + " never given back; " +
                 std::string(remedy_of(each.label)) + " does",
             each);
}

void tell_unused(const driver::Context& context) {
    if (!tracks_unused() || context.failure() != driver::CudaResult::success) return;
    Places unused;
    for (const auto& each : context.engine()->written_memory().unused())
        if (!remedy_of(each.label).empty()) unused.add(each.label, each.bytes);
    for (const auto& each : unused.all())
        tell(FindingKind::unused_allocation,
             described(each) + (each.bytes == 1 ? " is" : " are") + " allocated and never written", each);
}

/// That memory is its parent's.
bool is_forked() {
    static const pid_t process = getpid();
    return process != getpid();
}

}  // namespace

void track_memory(const driver::Context& context) {
    (void)is_forked();
    if (tracks_unused()) context.engine()->written_memory().track_unused();
}

void tell_memory_before_reset(const driver::Context& context) {
    if (context.engine() && !is_forked()) tell_leaks(context, false);
}

void tell_memory_at_end() {
    if (is_forked()) return;
    auto& devices = driver::Devices::of_this_process();
    for (int i = 0; i < devices.count(); ++i) {
        const auto context = devices.get(i, "");
        if (!context->engine()) continue;
        tell_leaks(*context, true);
        tell_unused(*context);
    }
}

}  // namespace cudasim::cudart
