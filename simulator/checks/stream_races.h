// Races between operations of streams: kernels and copies that touch the same bytes, one of them writing, and
// that neither an event nor the host orders (streams/operation_order.h).
//
// In a launch the detector compares accesses as they happen. Launches are compared as wholes: what one has
// accessed is left in the cells of the shadow (race_shadow.h), where a record's epoch says whose it is. It is
// copied from there only when an operation comes that is not ordered behind it; so programs whose operations
// are all ordered pay for the clocks, and nothing else. An operation that is ordered behind another one may
// replace its records: whatever is not ordered behind the earlier one is not ordered behind the later one
// either.
//
// Two atomic accesses of device scope do not race. Copies count as accesses to all of their bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/checks/race_detector.h"
#include "simulator/execution/observer.h"
#include "simulator/streams/operation_order.h"

namespace cudasim::checks {

class StreamRaces {
  public:
    StreamRaces(RaceShadow& shadow, RaceDetector& detector);

    /// Operations are compared while the order is kept. It is not owned.
    void set_order(streams::OperationOrder& order);
    [[nodiscard]] bool compares() const { return order_ != nullptr && order_->is_kept(); }

    void allocated(std::uint64_t address, std::uint64_t bytes, std::string_view label);
    void freed(std::uint64_t address);
    /// Before the detector is told.
    void launch_begins(const execution::LaunchBegin& launch);
    /// @param sites places of the launch have numbers below this
    void launch_ends(execution::ObserverFindings& findings, std::uint32_t sites);
    void copies(const execution::ObservedCopy& copy);

    /// Of copies, since the last call.
    [[nodiscard]] std::vector<findings::Finding> take_findings_of_copies();

    struct Touched {
        bool read = false, written = false;
    };
    /// Whether the launches of an operation have read or written there, unless an operation that came after
    /// it has covered that.
    [[nodiscard]] Touched touched_by(streams::OperationOrder::Number operation, std::uint64_t address,
                                     std::uint64_t bytes);

  private:
    /// What a launch has done with one word; the record says who, and its epoch which launch.
    struct Access {
        std::uint64_t word_and_kind = 0;
        Record record = 0;
        [[nodiscard]] std::uint64_t word() const { return word_and_kind & ~std::uint64_t{3}; }
        [[nodiscard]] AccessClass kind() const { return static_cast<AccessClass>(word_and_kind & 3); }
    };
    struct Range {
        std::uint64_t address = 0, bytes = 0;
        bool writes = false;
        bool operator==(const Range&) const = default;
    };
    /// An operation that others may race with.
    struct Unit {
        streams::OperationOrder::Number operation = 0;
        std::string name;  ///< "kernel fill", "copy to the device"
        std::string place;
        std::vector<Range> ranges;  ///< of a copy
        // Of a launch:
        std::uint32_t first_epoch = 0, end_epoch = 0;
        execution::Dim3 grid, block;
        std::vector<findings::CallChain> places;  ///< by site
        bool gathered = false;                    ///< its accesses are in `accesses_`

        [[nodiscard]] bool is_launch() const { return end_epoch != 0; }
    };
    struct Conflict;
    class Conflicts;

    void forget_old();
    [[nodiscard]] bool is_unordered(const Unit& earlier, streams::OperationOrder::Number later) const;
    template <typename Body>
    void for_records(std::uint64_t word, const Body& body) const;
    [[nodiscard]] std::vector<Access> gather(std::uint32_t first_epoch) const;
    void gather_earlier(streams::OperationOrder::Number later);
    /// A launch among `units_`, found by an epoch.
    struct Launch {
        std::uint32_t first_epoch = 0, end_epoch = 0;
        const Unit* unit = nullptr;
        bool is_unordered = false;  ///< with the operation that is compared
    };
    /// @param compared each launch is marked whether it is ordered before this one
    void find_launches(streams::OperationOrder::Number compared);
    [[nodiscard]] const Launch* launch_of(std::uint32_t epoch) const;
    void add_accesses(const std::vector<Access>& found);
    [[nodiscard]] std::span<const Access> within(const std::vector<Access>& accesses,
                                                 const Range& range) const;
    [[nodiscard]] findings::RacingAccess side(const Unit& unit, const Access* access, bool writes) const;
    [[nodiscard]] findings::Finding finding_of(const Conflict& conflict,
                                               const execution::ObserverFindings* launch) const;
    [[nodiscard]] std::optional<findings::MemoryObject> object(std::uint64_t address) const;

    RaceShadow& shadow_;
    RaceDetector& detector_;
    streams::OperationOrder* order_ = nullptr;
    mutable std::mutex mutex_;  ///< guards what follows: other host threads may copy while a kernel runs
    struct Allocation {
        std::uint64_t bytes = 0;
        std::string label;
    };
    std::map<std::uint64_t, Allocation> allocations_;
    std::deque<Unit> units_;        ///< in the order in which they ran
    std::vector<Launch> launches_;  ///< by epochs; as find_launches() has left it
    std::vector<Access> accesses_;  ///< ordered by words
    std::vector<findings::Finding> of_copies_;
};

}  // namespace cudasim::checks
