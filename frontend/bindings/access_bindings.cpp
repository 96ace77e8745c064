// Accesses of kernels in Python mode (simulator/execution/access_observer.h), kept for Python to look at
// later: an observer in Python would run on simulated threads, among the code that it observes.
#include <pybind11/stl.h>

#include <array>
#include <unordered_map>
#include <vector>

#include "frontend/bindings/launches.h"
#include "simulator/execution/access_observer.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::AccessKind;
using execution::ThreadHandle;

enum class What : std::uint8_t { read, write, update, view, shared, local, fence, lane_comes, lane_goes_on };

struct Event {
    What what{};
    std::uint64_t block = 0;
    std::uint32_t thread = 0;
    std::uint32_t mask = 0;              ///< of a warp operation
    execution::ObservedAccess access{};  ///< range, order and scope, as far as the event has them
    std::size_t place = 0;               ///< index into AccessLog::places_
};

/// What launches have told. Needs the GIL, which simulated threads of Python mode have.
class AccessLog {
  public:
    explicit AccessLog(bool asks_for_places) : asks_for_places_(asks_for_places) {}
    [[nodiscard]] bool asks_for_places() const { return asks_for_places_; }
    void add(const Event& event) { events_.push_back(event); }
    [[nodiscard]] std::size_t add_place(findings::CallChain place) {
        places_.push_back(std::move(place));
        return places_.size() - 1;
    }
    [[nodiscard]] py::list events() const;

  private:
    bool asks_for_places_;
    std::vector<Event> events_;
    std::vector<findings::CallChain> places_{{}};
};

py::list AccessLog::events() const {
    constexpr std::array names{"read",         "write", "update",     "view",        "shared memory",
                               "local memory", "fence", "lane comes", "lane goes on"};
    constexpr std::array orders{"plain", "relaxed", "acquire", "release", "acquire_release", "sequential"};
    constexpr std::array scopes{"thread", "block", "cluster", "device", "system"};
    py::list places, result;
    for (const auto& place : places_) places.append(call_chain_to_python(place));
    for (const Event& event : events_) {
        const execution::ObservedAccess& access = event.access;
        result.append(py::make_tuple(names[static_cast<std::size_t>(event.what)], event.block, event.thread,
                                     access.address, access.bytes,
                                     orders[static_cast<std::size_t>(access.order)],
                                     scopes[static_cast<std::size_t>(access.scope)], access.is_volatile,
                                     event.mask, places[event.place]));
    }
    return result;
}

/// Writes what one launch tells into a log.
class LoggedLaunch final : public execution::AccessObserver {
  public:
    explicit LoggedLaunch(std::shared_ptr<AccessLog> log) : log_(std::move(log)) {}

    void access(ThreadHandle& thread, const execution::ObservedAccess& access) override {
        add(thread, static_cast<What>(access.kind), access);
    }
    void memory(ThreadHandle& thread, const execution::ObservedMemory& memory) override {
        add(thread, memory.space == execution::MemorySpace::shared ? What::shared : What::local,
            {memory.address, memory.bytes});
    }
    void fence(ThreadHandle& thread, jit::MemoryOrder order, image::Scope scope) override {
        add(thread, What::fence, {.order = order, .scope = scope});
    }
    void lane_comes(ThreadHandle& thread, jit::WarpKind, std::uint32_t mask) override {
        add(thread, What::lane_comes, {}, mask);
    }
    void lane_goes_on(ThreadHandle& thread, jit::WarpKind, std::uint32_t mask) override {
        add(thread, What::lane_goes_on, {}, mask);
    }

  private:
    static_assert(static_cast<What>(AccessKind::view) == What::view);

    void add(ThreadHandle& thread, What what, const execution::ObservedAccess& access,
             std::uint32_t mask = 0) {
        log_->add({what, thread.coordinate().block, thread.thread(), mask, access, place_of(thread)});
    }
    std::size_t place_of(ThreadHandle& thread) {
        if (!log_->asks_for_places()) return 0;
        const std::uint32_t site = thread.site_here();
        const auto known = place_of_site_.find(site);
        if (known != place_of_site_.end()) return known->second;
        return place_of_site_[site] = log_->add_place(thread.location(site));
    }

    std::shared_ptr<AccessLog> log_;
    std::unordered_map<std::uint32_t, std::size_t> place_of_site_;
};

/// Of all launches of the process; null: nobody looks. Accessed with the GIL only.
std::shared_ptr<AccessLog>& current_log() {
    static auto* log = new std::shared_ptr<AccessLog>();
    return *log;
}

std::shared_ptr<AccessLog> set_access_log(std::shared_ptr<AccessLog> log) {
    return std::exchange(current_log(), std::move(log));
}

}  // namespace

std::unique_ptr<execution::AccessObserver> access_log_for(Runs what) {
    if (what == Runs::compiled_code || !current_log()) return nullptr;
    return std::make_unique<LoggedLaunch>(current_log());
}

void bind_accesses(py::module_& module) {
    py::class_<AccessLog, std::shared_ptr<AccessLog>>(module, "AccessLog",
                                                      "What launches in Python mode tell of their accesses.")
        .def(py::init<bool>(), py::arg("places"), "places: whether each event has its place in the source")
        .def("events", &AccessLog::events,
             "(what, block, thread, address, bytes, order, scope, volatile, mask, call chain) of each event, "
             "in order.");
    module.def(
        "set_access_log", &set_access_log, py::arg("log").none(true),
        "Where launches that begin from now on tell of their accesses, or None. Returns the one before.");
}

}  // namespace cudasim::bindings
