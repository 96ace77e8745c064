// See explanation_evidence.h.
#include "gpu_backend/launches/explanation_evidence.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "gpu_backend/approximating_functions.h"
#include "gpu_backend/launches/changed_images.h"
#include "gpu_backend/libdevice_file.h"
#include "gpu_backend/ptx.h"
#include "gpu_backend/simulated_libdevice/simulated_libdevice.h"
#include "simulator/checks/checks.h"

namespace cudasim::gpu_launches {
namespace {

using execution::Policy;
using findings::FindingKind;

/// For `into`, the effect of any of the experiments.
void join(Effect& into, const Effect& more) {
    for (std::size_t i = 0; i < into.removed.size(); ++i) {
        into.removed[i] = into.removed[i] || more.removed[i];
        into.moved[i] = (into.moved[i] || more.moved[i]) && !into.removed[i];
    }
    into.adds = std::max(into.adds, more.adds);
}

Results recorded_results(const driver::LaunchRecord& record) {
    Results results{.printed = record.outcome.printed};
    for (const auto& range : record.memory) results.memory.push_back(range.after);
    return results;
}

class Gathering {
  public:
    Gathering(const driver::LaunchRecord& record, const GpuOutcome& outcome,
              std::span<const ComparedArray> arrays, const ExplainOptions& options)
        : record_(record),
          options_(options),
          differing_(record, recorded_results(record), outcome, arrays),
          laboratory_(record, {.seconds = options.seconds, .stop = options.stop}) {
        const Effect nothing{.removed = differing_.none(), .moved = differing_.none()};
        for (Effect* each : {&found_.order, &found_.zeros, &found_.fma, &found_.libdevice,
                             &found_.no_fast_math, &found_.ptx, &found_.gpu})
            *each = nothing;
        found_.differing = differing_.size();
        found_.unstable = differing_.none();
        found_.fma_was_on = record.options.compile.fma_contraction;
    }

    Evidence gather() {
        find_libdevice();
        look_at_code();
        if (repeat_unchanged()) {
            look_for_races();
            change_order();
            find_writers();
            decide_about_races();
            zero_memory();
            flip_fma();
            change_libdevice();
            drop_fast_math();
            simulate_ptx();
        }
        ask_gpu();
        return std::move(found_);
    }

  private:
    /// The effect of a variation, without what changes anyhow.
    [[nodiscard]] Effect effect_of(const Variation& variation) {
        return effect_of(laboratory_.run(variation));
    }
    [[nodiscard]] Effect effect_of(const std::optional<Repetition>& repetition) {
        Effect effect{.removed = differing_.none(), .moved = differing_.none()};
        if (!repetition) {
            found_.out_of_time = found_.out_of_time || laboratory_.is_over();
            return effect;
        }
        effect = differing_.effect_of(repetition->results);
        for (std::size_t i = 0; i < found_.unstable.size(); ++i)
            if (found_.unstable[i]) effect.removed[i] = effect.moved[i] = false;
        return effect;
    }

    void find_libdevice() {
        try {
            library_ = options_.libdevice.empty() ? gpu_backend::LibdeviceFile::found()
                                                  : gpu_backend::LibdeviceFile::at(options_.libdevice);
        } catch (const gpu_backend::PtxError&) {  // the file is damaged: there is none to compare with
        }
    }

    void look_at_code() {
        // Named by NVIDIA's names, whatever code runs.
        image_ = std::make_unique<image::KernelImage>(gpu_backend::without_libdevice(laboratory_.image()));
        std::set<std::string, std::less<>> functions;
        for (const auto& each : gpu_backend::approximating_functions())
            functions.insert("__nv_" + std::string(each.name));
        if (library_)
            for (const auto& [name, group] : library_->functions()) functions.insert(name);
        const std::vector<std::string_view> names(functions.begin(), functions.end());
        found_.places = gpu_backend::difference_places(*image_, record_.kernel, names);
    }

    [[nodiscard]] bool repeat_unchanged() {
        const auto repetition = laboratory_.run({.options = laboratory_.usual_options()});
        if (!repetition) {
            found_.impossible = laboratory_.why_not();
            return false;
        }
        laboratory_.take_as_usual_time();
        const Effect effect = effect_of(repetition);
        for (std::size_t i = 0; i < found_.unstable.size(); ++i)
            found_.unstable[i] = effect.removed[i] || effect.moved[i];
        return true;
    }

    void look_for_races() {
        Variation checked{.options = laboratory_.usual_options()};
        checks::choose({.memory = true, .races = true, .init = true},
                       checked.options.compile.instrumentations);
        const auto repetition = laboratory_.run(checked);
        if (!repetition) return;
        found_.races_known = true;
        for (const auto& finding : repetition->findings) {
            if (finding.kind == FindingKind::data_race) found_.races.push_back(finding);
            if (finding.kind == FindingKind::race_checks_ended) found_.races_known = false;
            if (finding.kind == FindingKind::uninitialised_value ||
                finding.kind == FindingKind::uninitialised_copy)
                found_.uninitialised.push_back(finding);
        }
    }

    void change_order() {
        const auto& configuration = record_.configuration;
        if (configuration.grid.volume() == 1 && configuration.block.volume() == 1) return;
        constexpr std::pair<Policy, std::uint64_t> orders[] = {{Policy::reverse, 0},
                                                               {Policy::random, 1},
                                                               {Policy::random, 2},
                                                               {Policy::lockstep, 0},
                                                               {Policy::preempt, 1}};
        for (const auto& [policy, seed] : orders) {
            Variation other{.options = laboratory_.usual_options()};
            other.options.policy = policy;
            other.options.seed = seed;
            join(found_.order, effect_of(other));
            if (size_of(found_.order.removed) == differing_.size()) return;
        }
    }

    /// Of elements that depend on the order if there are any.
    void find_writers() {
        if (differing_.size() == 0) return;
        ElementSet wanted = differing_.none();
        const bool any_ordered = !found_.order.is_nothing();
        for (std::size_t i = 0; i < wanted.size(); ++i)
            wanted[i] = !any_ordered || found_.order.removed[i] || found_.order.moved[i];
        constexpr std::size_t most_traced = 32;
        const auto places = differing_.places(wanted, most_traced);
        if (places.empty()) return;
        const auto traced = laboratory_.trace(places);
        if (!traced) return;
        Writers& writers = found_.writers;
        writers.known = true;
        writers.all_atomic = true;
        for (const auto& element : *traced) {
            for (const auto& write : element.writes) {
                writers.all_atomic = writers.all_atomic && write.atomic;
                for (const auto& read : write.reads) {
                    writers.reads_atomic = writers.reads_atomic || read.atomic;
                    if (read.object.space == "shared")
                        writers.reads_shared = true;
                    else
                        writers.read.push_back({read.object.address, read.object.bytes});
                }
            }
        }
    }

    /// A race has a part in the difference where it is about the memory that differs, or that its writers
    /// read. Writers are known one step back only: where the order changes elements, and no atomic operation
    /// says why, any race may be the reason.
    void decide_about_races() {
        const Writers& writers = found_.writers;
        const bool any = !writers.known || (!found_.order.is_nothing() && !writers.all_atomic);
        for (const auto& race : found_.races) {
            bool has_part = any || !race.object;
            if (race.object && race.object->space == "shared") has_part = has_part || writers.reads_shared;
            if (race.object && race.object->space != "shared") {
                const auto& object = *race.object;
                has_part = has_part || differing_.any_in(object.address, object.bytes) ||
                           std::ranges::any_of(writers.read, [&](const execution::AddressRange& read) {
                               return read.base < object.address + object.bytes &&
                                      object.address < read.base + read.bytes;
                           });
            }
            found_.race_has_part.push_back(has_part);
        }
    }

    void zero_memory() {
        Variation zeros{.options = laboratory_.usual_options(),
                        .image = with_zeroed_locals(laboratory_.image()),
                        .zeroes_shared_memory = true};
        found_.zeros = effect_of(zeros);
    }

    [[nodiscard]] bool has(gpu_backend::DifferenceCause cause) const {
        return std::ranges::any_of(found_.places, [&](const auto& place) { return place.cause == cause; });
    }

    void flip_fma() {
        if (!has(gpu_backend::DifferenceCause::multiply_add)) return;
        Variation other{.options = laboratory_.usual_options()};
        other.options.compile.fma_contraction = !found_.fma_was_on;
        found_.fma = effect_of(other);
    }

    [[nodiscard]] std::string architecture() const {
        if (record_.gpu) return record_.gpu->architecture;
        return gpu_backend::PtxOptions().architecture;
    }

    /// Where the record's image has NVIDIA's functions the GPU had the same ones: they explain nothing.
    void change_libdevice() {
        if (!library_ || !gpu_backend::linked_libdevice(laboratory_.image()).empty()) return;
        Variation other{.options = laboratory_.usual_options()};
        try {
            other.image = gpu_backend::with_libdevice(laboratory_.image(), *library_, architecture());
        } catch (const gpu_backend::PtxError&) {  // a function that cannot be translated
            return;
        }
        if (other.image->hash() == laboratory_.image().hash()) return;
        found_.libdevice = effect_of(other);
    }

    void drop_fast_math() {
        Variation exact{.options = laboratory_.usual_options(),
                        .image = without_fast_math(laboratory_.image())};
        if (exact.image) found_.no_fast_math = effect_of(exact);
    }

    void simulate_ptx() {
        if (record_.gpu && record_.gpu->refusal.empty()) found_.ptx = effect_of(laboratory_.run_ptx());
    }

    void ask_gpu() {
        if (options_.gpu == nullptr || !record_.gpu || laboratory_.is_stopped()) return;
        constexpr int times = 2;
        for (int i = 0; i < times; ++i) {
            runner::RunOptions run{.seconds = options_.gpu_seconds, .stop = options_.stop};
            try {
                const GpuOutcome again = run_on_gpu(*options_.gpu, record_, run);
                if (again.result.status != records::GpuStatus::ran) return;
                join(found_.gpu, differing_.effect_of_gpu({again.after, again.result.printed}));
            } catch (const runner::NoRunner&) {  // which says no more about the difference
                return;
            }
        }
    }

    const driver::LaunchRecord& record_;
    const ExplainOptions& options_;
    DifferingElements differing_;
    Laboratory laboratory_;
    std::shared_ptr<const gpu_backend::LibdeviceFile> library_;
    std::unique_ptr<image::KernelImage> image_;  ///< without NVIDIA's functions
    Evidence found_;
};

}  // namespace

Evidence gather_evidence(const driver::LaunchRecord& record, const GpuOutcome& outcome,
                         std::span<const ComparedArray> arrays, const ExplainOptions& options) {
    if (record.runs_in_front_end())
        throw driver::RecordError(
            "the kernel runs in Python mode: there is no code of it to experiment with");
    return Gathering(record, outcome, arrays, options).gather();
}

}  // namespace cudasim::gpu_launches
