// What Python code has of a stopped launch: handlers of stops, and the debugger's evaluator.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/execution/stop.h"

namespace cudasim::bindings {

[[nodiscard]] inline const char* name_of(execution::ThreadState state) {
    constexpr std::array names{"not started", "stopped", "can run", "spins", "at barrier",
                               "in warp",     "faulted", "over",    "absent"};
    return names[static_cast<std::size_t>(state)];
}

/// What Python has of a stopped launch. Python may keep it for longer than the engine does.
class StopView {
  public:
    using Thread = std::pair<std::uint64_t, std::uint32_t>;  ///< linear indices: block, thread in it
    [[nodiscard]] static execution::ThreadRef ref(Thread thread) { return {thread.first, thread.second}; }

    /// @param keeps_gil the simulated threads run Python code, so they run with the GIL
    StopView(execution::StoppedLaunch& launch, bool keeps_gil) : launch_(&launch), keeps_gil_(keeps_gil) {}
    void expire() { launch_ = nullptr; }

    /// @throws std::runtime_error when the handler has returned
    [[nodiscard]] execution::StoppedLaunch& launch() const {
        if (launch_ == nullptr)
            throw std::runtime_error("this launch is not stopped any more: its handler has returned");
        return *launch_;
    }

    [[nodiscard]] const char* run(Thread thread) const {
        execution::StoppedLaunch& stopped = launch();
        std::optional<ReleasedGil> released;
        if (!keeps_gil_) released.emplace(false);
        return name_of(stopped.run(ref(thread)));
    }
    [[nodiscard]] pybind11::object read(Thread thread, std::uint64_t address, std::size_t bytes) const {
        std::string data(bytes, '\0');
        const bool read = launch().read(ref(thread), address, std::as_writable_bytes(std::span(data)));
        return read ? pybind11::object(pybind11::bytes(data)) : pybind11::object(pybind11::none());
    }
    [[nodiscard]] pybind11::list variables(Thread thread) const {
        pybind11::list result;
        for (const auto& variable : launch().variables(ref(thread)))
            result.append(variable_to_python(variable));
        return result;
    }
    [[nodiscard]] pybind11::tuple coordinate(Thread thread) const {
        const auto place = launch().coordinate(ref(thread));
        return pybind11::make_tuple(pybind11::make_tuple(place.tid.x, place.tid.y, place.tid.z),
                                    pybind11::make_tuple(place.ctaid.x, place.ctaid.y, place.ctaid.z));
    }
    [[nodiscard]] pybind11::tuple configuration() const {
        const auto& configuration = launch().launch().configuration;
        const auto &grid = configuration.grid, &block = configuration.block;
        return pybind11::make_tuple(pybind11::make_tuple(grid.x, grid.y, grid.z),
                                    pybind11::make_tuple(block.x, block.y, block.z));
    }

  private:
    execution::StoppedLaunch* launch_;
    bool keeps_gil_;
};

}  // namespace cudasim::bindings
