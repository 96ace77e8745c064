// See trace.h.
#include "simulator/driver/trace.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "simulator/checks/checks.h"
#include "simulator/driver/array_arguments.h"
#include "simulator/driver/replay.h"
#include "simulator/execution/loaded_image.h"

namespace cudasim::driver {

namespace {

/// Recorded addresses and those of the repeated launch.
class Places {
  public:
    Places(const LaunchRecord& record, const Restored& restored) : record_(record), restored_(restored) {}

    /// @throws std::invalid_argument
    [[nodiscard]] std::vector<execution::AddressRange> now(
        std::span<const execution::AddressRange> elements) const {
        std::vector<execution::AddressRange> moved;
        for (const execution::AddressRange& each : elements) {
            const auto memory = std::ranges::find_if(record_.memory, [&](const RecordedMemory& range) {
                return range.before && each.base >= range.address && each.bytes <= range.bytes &&
                       each.base - range.address <= range.bytes - each.bytes;
            });
            if (memory == record_.memory.end())
                throw std::invalid_argument("the record has no content of memory at 0x" +
                                            llvm::utohexstr(each.base, true) + ", " +
                                            std::to_string(each.bytes) + " bytes: it cannot be traced");
            moved.push_back({restored_.relocated(each.base), each.bytes});
        }
        return moved;
    }

    [[nodiscard]] std::uint64_t recorded(std::uint64_t address) const {
        for (std::size_t i = 0; i < record_.memory.size(); ++i) {
            const std::uint64_t place = restored_.address(i);
            if (place != 0 && address - place < record_.memory[i].bytes)
                return record_.memory[i].address + (address - place);
        }
        return address;
    }

    void record_addresses(std::vector<checks::TracedElement>& traced,
                          std::span<const execution::AddressRange> asked) const {
        for (std::size_t i = 0; i < traced.size(); ++i) {
            traced[i].range = asked[i];
            for (checks::TracedWrite& write : traced[i].writes) {
                write.address = recorded(write.address);
                write.access_address = recorded(write.access_address);
                for (checks::TracedRead& read : write.reads) {
                    if (read.object.space == "shared") continue;
                    read.address = recorded(read.address);
                    read.object.address = recorded(read.object.address);
                }
            }
        }
    }

  private:
    const LaunchRecord& record_;
    const Restored& restored_;
};

}  // namespace

Trace trace_elements(SimulatedDevice& device, const LaunchRecord& record,
                     std::span<const execution::AddressRange> elements, const checks::TraceLimits& limits,
                     const execution::LaunchOptions& options) {
    if (record.runs_in_front_end())
        throw RecordError("the kernel of " + headline(record) +
                          " runs in Python mode, where writes are not traced: record it in mode native");
    execution::LaunchOptions chosen = options;
    chosen.workers = 1;
    chosen.stop_handler = nullptr;
    checks::Checks wanted = checks::checks_of(chosen.compile.instrumentations);
    wanted.races = false;
    checks::choose(wanted, chosen.compile.instrumentations);
    chosen.compile.instrumentations.add(checks::element_traces());

    Restored restored(device, record, chosen);
    const Places places(record, restored);
    checks::ElementTrace trace(places.now(elements), limits);
    chosen.observers.add(trace);
    auto& module = dynamic_cast<SimulatedModule&>(restored.module());
    if (const image::Kernel* kernel = module.loaded->image().find(record.kernel))
        chosen.arrays = array_arguments(*kernel, record.arguments, restored.parameters());
    Trace done;
    done.result = device.launch(module, record.kernel, record.configuration, restored.parameters(), chosen);
    for (auto& finding : done.result.findings) finding.kernel = record.display_name;
    done.elements = trace.take_elements();
    places.record_addresses(done.elements, elements);
    return done;
}

}  // namespace cudasim::driver
