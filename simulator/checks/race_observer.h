// The race detector of a device: it hears of launches, blocks and barriers, gives blocks the state that
// compiled code looks at, and says what it has found.
//
//   RaceObserver races(memory_base);   // one for each device, for as long as the device lives
//   options.compile.instrumentations.add(race_checks());
//   options.observers.add(races);
//   options.access_observers.add(races);   // kernels of Python mode tell their accesses themselves
//   options.workers = 1;
#pragma once

#include <cstdint>
#include <unordered_map>

#include "simulator/checks/race_detector.h"
#include "simulator/checks/stream_races.h"
#include "simulator/execution/access_observer.h"
#include "simulator/execution/observer.h"

namespace cudasim::checks {

class RaceObserver final : public execution::LaunchObserver, public execution::AccessObserver {
  public:
    /// @param memory_base where the device's arena begins
    explicit RaceObserver(std::uint64_t memory_base);

    void set_model(RaceModel model) { model_ = model; }
    /// Races between operations of streams, once it has their order.
    [[nodiscard]] StreamRaces& between_streams() { return between_streams_; }

    void launch_begins(const execution::LaunchBegin& launch) override;
    void adds_findings(execution::ObserverFindings& findings) override;
    [[nodiscard]] std::optional<jit::CheckState> sets_check_state() const override { return jit::race_state; }
    void block_begins(execution::ObservedBlock& block) override;
    void barrier(const execution::ObservedBlock& block, jit::BarrierKind kind) override;
    void named_barrier(const execution::ObservedBlock& block,
                       const execution::CompletedBarrier& barrier) override;
    void cluster_barrier(std::span<const execution::ObservedBlock> blocks) override;
    void block_ends(const execution::ObservedBlock& block, execution::BlockEnd end) override;
    void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label) override;
    void freed(std::uint64_t address) override;
    void copies(const execution::ObservedCopy& copy) override;

    void access(execution::ThreadHandle& thread, const execution::ObservedAccess& access) override;
    void memory(execution::ThreadHandle& thread, const execution::ObservedMemory& memory) override;
    void fence(execution::ThreadHandle& thread, jit::MemoryOrder order, image::Scope scope) override;
    void lane_comes(execution::ThreadHandle& thread, jit::WarpKind kind, std::uint32_t mask) override;

  private:
    RaceShadow shadow_;
    RaceDetector detector_;
    StreamRaces between_streams_;
    std::uint32_t sites_ = 0;  ///< of the launch, as far as Python mode has told of them
    RaceModel model_ = RaceModel::idiom;
    std::unordered_map<std::uint64_t, RaceDetector::Block*> blocks_;  ///< by their numbers: those that run
};

}  // namespace cudasim::checks
