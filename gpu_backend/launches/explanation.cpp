// See explanation.h.
#include "gpu_backend/launches/explanation.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "gpu_backend/approximating_functions.h"
#include "gpu_backend/launches/explanation_evidence.h"

namespace cudasim::gpu_launches {
namespace {

using findings::Finding;
using findings::SourceLocation;
using gpu_backend::DifferenceCause;
using gpu_backend::DifferencePlace;

constexpr std::size_t most_locations = 8;

/// From the likeliest.
enum class Rank {
    race,
    removes,      ///< agrees with the GPU for some elements
    order_moves,  ///< threads' order, unwritten memory, or a clock, changes elements
    in_code,      ///< nothing but the code says so
    moves,        ///< changes elements, and makes none agree
    ordered,      ///< changes only what the order of threads changes, too
    last
};

struct Candidate {
    Explanation explanation;
    Rank rank = Rank::last;
    std::uint64_t removes = 0, moves = 0;  ///< those that count for the rank
};

ElementSet joined(const ElementSet& first, const ElementSet& second) {
    ElementSet all = first;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] || second[i];
    return all;
}

ElementSet without(const ElementSet& set, const ElementSet& other) {
    ElementSet rest = set;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = rest[i] && !other[i];
    return rest;
}

void add_location(std::vector<SourceLocation>& locations, const findings::CallChain& chain) {
    const findings::CallChain own = findings::without_own_code(chain);
    if (own.empty() || own.front().line == 0 || locations.size() >= most_locations) return;
    const auto same_line = [&](const SourceLocation& each) {
        return each.file == own.front().file && each.line == own.front().line;
    };
    if (std::ranges::none_of(locations, same_line)) locations.push_back(own.front());
}

std::string line_text(const findings::CallChain& chain) {
    const findings::CallChain own = findings::without_own_code(chain);
    if (own.empty() || own.front().line == 0) return {};
    return " in line " + std::to_string(own.front().line);
}

/// "shared memory 'tile'", "'x'", "memory"
std::string object_text(const std::optional<findings::MemoryObject>& object) {
    if (!object) return "memory";
    const std::string space = object->space == "global" ? "" : object->space + " memory";
    if (object->name.empty()) return space.empty() ? "memory" : space;
    const std::string name =
        object->name.find('\'') == std::string::npos ? "'" + object->name + "'" : object->name;
    return space.empty() ? name : space + " " + name;
}

/// "__nv_fast_sinf (line 4), __nv_expf (line 6)"
std::string places_text(const std::vector<DifferencePlace>& places) {
    std::string text;
    std::size_t listed = 0;
    for (const auto& place : places) {
        if (listed++ == 4) return text + ", and " + std::to_string(places.size() - 4) + " more";
        const findings::CallChain own = findings::without_own_code(place.location);
        text += (text.empty() ? "" : ", ") + place.what;
        if (!own.empty() && own.front().line != 0) text += " (line " + std::to_string(own.front().line) + ")";
    }
    return text;
}

bool is_approximate(const DifferencePlace& place) {
    return place.cause == DifferenceCause::instruction || place.what.starts_with("__nv_fast_") ||
           !gpu_backend::approximate_instructions(place.what).empty();
}

/// How far an approximation was off on a GPU (docs/gpu_results.md, "Approximate instructions" and
/// "Launches").
struct KnownBound {
    std::string_view name;  ///< a part of the instruction's or function's name
    std::string_view bound;
};
constexpr KnownBound known_bounds[] = {
    // A longer name stands before a shorter one that is a part of it.
    {"__nv_fast_sin", "fast sine and cosine up to 1e-3 for arguments to 10000"},
    {"__nv_fast_cos", "fast sine and cosine up to 1e-3 for arguments to 10000"},
    {"__nv_fast_exp", "fast_expf up to 59 ulp"},
    {"rsqrt.approx", "rsqrt.approx up to 1 ulp"},
    {"sqrt.approx", "sqrt.approx up to 1 ulp"},
    {"rcp.approx", "rcp.approx up to 1 ulp"},
    {"ex2.approx", "ex2.approx up to 2 ulp"},
    {"lg2.approx", "lg2.approx up to 9e-8 near 1, else 1 ulp"},
    {"tanh.approx", "tanh.approx up to 1.1e-5 of the value"},
    {"div.approx", "div.approx up to 2 ulp, and 0 for divisors above 2^126"},
    {"sin.approx", "sin.approx wrong altogether beyond some turns"},
    {"cos.approx", "cos.approx wrong altogether beyond some turns"},
    {"__nv_ynf", "ynf up to 16 ulp"},
    {"__nv_fast_", ""},
    {"__nv_", "functions that begin from approximations up to 3 ulp"},
};

/// Whether it is wrong by more than last bits for some arguments (docs/gpu_results.md, "Approximate
/// instructions").
bool is_far_off_for_some_arguments(const DifferencePlace& place) {
    constexpr std::string_view names[] = {"sin.approx",        "cos.approx",    "div.approx",
                                          "__nv_fast_sin",     "__nv_fast_cos", "__nv_fast_tan",
                                          "__nv_fast_fdividef"};
    return std::ranges::any_of(
        names, [&](std::string_view name) { return place.what.find(name) != std::string::npos; });
}

/// " Measured: ex2.approx up to 2 ulp."; empty where nothing is known.
std::string bounds_text(const std::vector<DifferencePlace>& places) {
    std::vector<std::string_view> bounds;
    for (const auto& place : places) {
        const auto* known = std::ranges::find_if(known_bounds, [&](const KnownBound& each) {
            return place.what.find(each.name) != std::string::npos;
        });
        if (known == std::end(known_bounds) || known->bound.empty()) continue;
        if (std::ranges::find(bounds, known->bound) == bounds.end()) bounds.push_back(known->bound);
    }
    std::string text;
    for (const std::string_view bound : bounds)
        text += (text.empty() ? " Measured: " : "; ") + std::string(bound);
    return text.empty() ? text : text + ".";
}

/// The greatest relative difference that docs/gpu_results.md has of approximate functions, with room for what
/// a kernel computes from them.
constexpr double most_of_approximations = 0.01;

bool differs_in_last_bits(const comparison::Comparison& comparison) {
    for (const auto& array : comparison.arrays) {
        if (array.verdict() != comparison::Verdict::different) continue;
        if (array.nan_simulated != 0 || array.nan_gpu != 0 || !array.greatest_relative) return false;
        if (array.greatest_relative->relative.value_or(0) > most_of_approximations) return false;
    }
    return true;
}

class Conclusions {
  public:
    Conclusions(const Evidence& evidence, const comparison::Comparison& comparison)
        : found_(evidence), last_bits_(differs_in_last_bits(comparison)) {
        if (comparison.printed && comparison.printed->verdict() == comparison::Verdict::different) {
            lines_only_ = evidence.differing == 1;
            lost_lines_ = comparison.printed->lines_gpu < comparison.printed->lines_simulated;
        }
        order_ = joined(evidence.order.removed, evidence.order.moved);
    }

    std::vector<Explanation> all() {
        add_race();
        add_atomic_order();
        add_uninitialised();
        add_libdevice();
        add_code_and_ptx();  // before fma, which fast-math flags allow as well
        add_fma();
        add_clock();
        add_gpu();
        std::ranges::stable_sort(candidates_, {}, [](const Candidate& each) {
            return std::tuple(each.rank, -static_cast<std::int64_t>(each.removes),
                              -static_cast<std::int64_t>(each.moves));
        });
        if (candidates_.empty())
            add_unexplained();
        else if (found_.out_of_time)
            candidates_.back().explanation.text += " There was no time for all experiments.";
        std::vector<Explanation> explanations;
        for (auto& each : candidates_) explanations.push_back(std::move(each.explanation));
        return explanations;
    }

  private:
    Candidate& add(std::string cause, const Effect& effect, Rank rank, std::string text) {
        Candidate candidate;
        candidate.removes = size_of(effect.removed);
        candidate.moves = size_of(effect.moved);
        candidate.rank = rank;
        candidate.explanation = {.cause = std::move(cause),
                                 .removes = candidate.removes,
                                 .moves = candidate.moves,
                                 .adds = effect.adds,
                                 .of = found_.differing,
                                 .text = std::move(text)};
        candidates_.push_back(std::move(candidate));
        return candidates_.back();
    }

    /// What an experiment with a definite outcome shows. Where results depend on the order of threads, an
    /// experiment that changes the same elements may have met another result of the order only.
    Candidate& add_definite(std::string cause, const Effect& effect, Rank when_moving, std::string text) {
        Candidate& candidate = add(std::move(cause), effect, when_moving, std::move(text));
        const std::uint64_t removes = size_of(without(effect.removed, order_));
        const std::uint64_t moves = size_of(without(effect.moved, order_));
        constexpr std::uint64_t no_coincidence = 8;
        const bool convinces =
            candidate.removes >= no_coincidence && candidate.removes > 4 * size_of(found_.order.removed);
        if (!convinces) {
            candidate.removes = removes;
            candidate.moves = moves;
        }
        if (candidate.removes > 0)
            candidate.rank = Rank::removes;
        else if (candidate.moves == 0)
            candidate.rank = Rank::ordered;
        return candidate;
    }

    [[nodiscard]] bool depends_on_order() const { return !found_.order.is_nothing(); }
    [[nodiscard]] bool gpu_varies() const { return !found_.gpu.is_nothing(); }
    [[nodiscard]] std::string gpu_text() const {
        return gpu_varies() ? " The GPU's own results vary from launch to launch." : "";
    }

    void add_race() {
        std::vector<const Finding*> races;
        for (std::size_t i = 0; i < found_.races.size(); ++i)
            if (found_.race_has_part[i]) races.push_back(&found_.races[i]);
        const bool presumed = races.empty() && depends_on_order() && !found_.races_known &&
                              !(found_.writers.known && found_.writers.all_atomic);
        if (races.empty() && !presumed) return;
        std::string text;
        if (presumed) {
            text =
                "The result depends on the order of threads, and memory is not only written by atomic "
                "operations. "
                "Races could not be looked for to the end; run the kernel with checks=races.";
        } else {
            const Finding& first = *races.front();
            text = "Data race on " + object_text(first.object) + ": ";
            if (first.accesses.size() == 2) {
                const auto &one = first.accesses[0], &other = first.accesses[1];
                text += "the " + one.what + line_text(one.location) + " and the " + other.what +
                        line_text(other.location) + " by another thread have no order. ";
            }
            text += "Put a barrier between them, or use atomic operations.";
            if (races.size() > 1) text += " There are " + std::to_string(races.size()) + " such races.";
        }
        raced_ = true;
        Candidate& candidate = add("race", found_.order, Rank::race, text + gpu_text());
        for (const Finding* race : races) {
            if (race->accesses.empty()) add_location(candidate.explanation.locations, race->location);
            for (const auto& access : race->accesses)
                add_location(candidate.explanation.locations, access.location);
        }
    }

    [[nodiscard]] std::vector<DifferencePlace> places(std::initializer_list<DifferenceCause> causes) const {
        std::vector<DifferencePlace> chosen;
        for (const auto& place : found_.places)
            if (std::ranges::find(causes, place.cause) != causes.end()) chosen.push_back(place);
        return chosen;
    }
    static void add_locations(Candidate& candidate, const std::vector<DifferencePlace>& places) {
        for (const auto& place : places) add_location(candidate.explanation.locations, place.location);
    }

    void add_atomic_order() {
        if (!depends_on_order()) return;
        const Writers& writers = found_.writers;
        const bool atomics = writers.known && writers.all_atomic;
        if (raced_ && !atomics) return;
        // What changes with the time changes with each experiment.
        if (!atomics && !places({DifferenceCause::clock}).empty() && size_of(found_.unstable) > 0) return;
        const auto sums = places({DifferenceCause::atomic});
        const auto allocations = places({DifferenceCause::allocation});
        if (!atomics && !allocations.empty()) {
            add_locations(add("addresses", found_.order, Rank::order_moves,
                              "The kernel allocates memory itself, and gets other addresses when its threads "
                              "run in another order; a GPU's are others anyway. Do not compare what depends "
                              "on addresses." +
                                  gpu_text()),
                          allocations);
            return;
        }
        std::string text;
        if (atomics && !sums.empty())
            text =
                "Floating-point atomics add in the order in which threads come, and each order rounds "
                "differently. "
                "Compare with a tolerance, or add in a fixed order.";
        else if (atomics || writers.reads_atomic)
            text =
                "The result depends on which thread's atomic operation comes first. Compare what does not "
                "depend on "
                "it, for example sorted.";
        else
            text = "The result depends on the order in which threads run, and no data race was found.";
        // Where a race was found, too, it stands first.
        Candidate& candidate = add("atomic-order", found_.order, Rank::order_moves, text + gpu_text());
        if (candidate.removes > 0) candidate.rank = Rank::removes;
        add_locations(candidate, sums);
    }

    void add_uninitialised() {
        if (found_.zeros.is_nothing()) return;
        // Where a race is the reason that a read comes before its write, the race says it.
        if (raced_ && found_.uninitialised.empty()) return;
        std::string text =
            "The result depends on shared or local memory that is read before it is written: it starts "
            "as a pattern on the simulator, and as anything on a GPU. Write it first.";
        if (!found_.uninitialised.empty()) {
            const Finding& first = found_.uninitialised.front();
            text = "Memory is read before it is written: " +
                   (first.object ? object_text(first.object) : std::string("a local variable")) +
                   line_text(first.location) +
                   ". It starts as a pattern on the simulator, and as anything on a GPU. Write it first.";
        }
        Candidate& candidate =
            add_definite("uninitialised", found_.zeros, Rank::order_moves, std::move(text));
        for (const Finding& finding : found_.uninitialised)
            add_location(candidate.explanation.locations, finding.location);
    }

    void add_fma() {
        if (found_.fma.is_nothing()) return;
        const std::string now = found_.fma_was_on ? "on" : "off", other = found_.fma_was_on ? "off" : "on";
        std::string text = "The simulator ran with fma=" + now + "; with fma=" + other;
        if (size_of(found_.fma.removed) > 0)
            text +=
                " it agrees. Products and sums are fused on one side only: run the simulator with "
                "CUDASIM_FMA=" +
                std::string(found_.fma_was_on ? "0" : "1") + ".";
        else
            text +=
                " its results are others, and do not agree either: they depend on the last bits of products "
                "and sums.";
        add_locations(add_definite("fma", found_.fma, Rank::moves, std::move(text)),
                      places({DifferenceCause::multiply_add}));
    }

    void add_libdevice() {
        if (found_.libdevice.is_nothing()) return;
        std::string text = "The simulator ran its own mathematical functions; with NVIDIA's libdevice ";
        if (size_of(found_.libdevice.removed) > 0)
            text += "it agrees. Run it with CUDASIM_LIBDEVICE=auto, or compare with a tolerance of some ulp.";
        else
            text += "its results are others, and do not agree either.";
        add_locations(add_definite("libdevice", found_.libdevice, Rank::moves, std::move(text)),
                      places({DifferenceCause::function}));
    }

    /// The PTX has what the GPU was given. Where it agrees, the kernel's code says why first.
    void add_code_and_ptx() {
        const auto flags = places({DifferenceCause::fast_math});
        auto approximations = places({DifferenceCause::function, DifferenceCause::instruction});
        std::erase_if(approximations, [](const DifferencePlace& place) { return !is_approximate(place); });
        Effect ptx = found_.ptx;
        const ElementSet explained = joined(joined(found_.fma.removed, found_.libdevice.removed),
                                            joined(found_.zeros.removed, found_.order.removed));
        ptx.removed = without(ptx.removed, explained);
        if (size_of(ptx.removed) == 0) ptx.moved = without(ptx.moved, ptx.moved);
        bool ptx_is_told = ptx.is_nothing();
        if (!flags.empty()) {
            Effect effect = ptx;
            effect.removed = joined(effect.removed, found_.no_fast_math.removed);
            effect.moved = without(joined(effect.moved, found_.no_fast_math.moved), effect.removed);
            ptx_is_told = true;
            add_locations(add_in_code("fast-math", effect,
                                      "Fast-math flags let both compilers reorder and approximate: " +
                                          places_text(flags) +
                                          ". Compile without fastmath to compare, or use a tolerance."),
                          flags);
        }
        const bool can_be_far_off = std::ranges::any_of(approximations, is_far_off_for_some_arguments);
        if (!approximations.empty() && (last_bits_ || can_be_far_off || !ptx_is_told)) {
            const Effect effect = ptx_is_told ? nothing() : ptx;
            ptx_is_told = true;
            add_locations(add_in_code("approximation", effect,
                                      "A GPU approximates, and the simulator computes other last bits: " +
                                          places_text(approximations) + "." + bounds_text(approximations) +
                                          " Compare with a tolerance."),
                          approximations);
        }
        if (ptx_is_told) return;
        add_definite(
            "ptx", ptx, Rank::moves,
            "The PTX, simulated, agrees with the GPU where the kernel itself does not: cudasim's translation "
            "or LLVM's optimiser changed its meaning, for example where the kernel's behaviour is undefined. "
            "Please report it with the record.");
    }
    Candidate& add_in_code(std::string cause, const Effect& effect, std::string text) {
        Candidate& candidate = add_definite(std::move(cause), effect, Rank::in_code, std::move(text));
        if (candidate.rank == Rank::ordered) candidate.rank = Rank::in_code;
        return candidate;
    }
    [[nodiscard]] Effect nothing() const {
        return {.removed = ElementSet(order_.size()), .moved = ElementSet(order_.size())};
    }

    void add_clock() {
        const auto clocks = places({DifferenceCause::clock});
        const std::uint64_t unstable = size_of(found_.unstable);
        if (clocks.empty() || unstable == 0) return;
        Effect effect = nothing();
        effect.moved = found_.unstable;
        add_locations(
            add("clock", effect, Rank::order_moves,
                "The kernel reads a clock, and " + std::to_string(unstable) +
                    " of the elements have other values whenever the launch is repeated on the simulator, "
                    "too. Do not compare what depends on the time."),
            clocks);
    }

    void add_gpu() {
        if (!gpu_varies() || raced_ || depends_on_order()) return;
        Candidate& candidate = add(
            "gpu-varies", found_.gpu, Rank::order_moves,
            "The GPU leaves other results when the same launch is repeated, and no order of threads on the "
            "simulator does: look for races (checks=races), uninitialised memory, clocks, or a faulty GPU.");
        if (candidate.removes > 0) candidate.rank = Rank::removes;
    }

    void add_unexplained() {
        std::string text;
        if (!found_.impossible.empty())
            text =
                "Not explained: the launch cannot be repeated on the simulator (" + found_.impossible + ").";
        else if (const std::uint64_t unstable = size_of(found_.unstable); unstable > 0)
            text = "Not explained: " + std::to_string(unstable) +
                   " of the elements have other values whenever the launch is repeated on the simulator: "
                   "they may "
                   "depend on a clock or on addresses.";
        else if (found_.out_of_time)
            text = "Not explained: there was no time for all experiments.";
        else
            text =
                "Not explained: no other order of threads, contents of unwritten memory, fusion, "
                "mathematical functions, nor the PTX itself change " +
                std::string(lines_only_ ? "what is printed." : "the elements that differ.");
        if (lines_only_ && lost_lines_)
            text +=
                " The GPU has printed fewer lines: it keeps what kernels print in a buffer, here of 16 MiB, "
                "and "
                "loses what does not fit (CUDA C++ Programming Guide, \"Formatted Output\").";
        add("unexplained", nothing(), Rank::last, std::move(text));
    }

    const Evidence& found_;
    ElementSet order_;  ///< elements that depend on the order of threads
    std::vector<Candidate> candidates_;
    bool raced_ = false;
    bool last_bits_ = false;   ///< the differences are as small as those of approximate functions are
    bool lines_only_ = false;  ///< nothing differs but what was printed
    bool lost_lines_ = false;  ///< the GPU printed fewer lines
};

llvm::json::Value utf8(const std::string& text) {
    return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

}  // namespace

std::vector<Explanation> explain(const driver::LaunchRecord& record, const GpuOutcome& outcome,
                                 std::span<const ComparedArray> arrays, const ExplainOptions& options) {
    const comparison::Comparison comparison = compare_launch(record, outcome, arrays);
    return Conclusions(gather_evidence(record, outcome, arrays, options), comparison).all();
}

std::string to_json(std::span<const Explanation> explanations) {
    llvm::json::Array array;
    for (const Explanation& each : explanations) {
        llvm::json::Array locations;
        for (const auto& place : each.locations)
            locations.push_back(llvm::json::Object{
                {"file", utf8(place.file)}, {"line", place.line}, {"function", utf8(place.function)}});
        array.push_back(llvm::json::Object{{"cause", each.cause},
                                           {"removes", each.removes},
                                           {"moves", each.moves},
                                           {"of", each.of},
                                           {"text", utf8(each.text)},
                                           {"locations", std::move(locations)}});
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << llvm::json::Value(std::move(array));
    return text;
}

}  // namespace cudasim::gpu_launches
