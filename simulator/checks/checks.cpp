// See checks.h.
#include "simulator/checks/checks.h"

#include <algorithm>

#include "simulator/checks/arithmetic_checks.h"
#include "simulator/checks/init_checks.h"
#include "simulator/checks/race_checks.h"
#include "simulator/jit/standard_instrumentations.h"

namespace cudasim::checks {

namespace {

class PtxModel final : public jit::Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "race_model_ptx"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }
};

const jit::Instrumentation& ptx_model() {
    static const PtxModel instrumentation;
    return instrumentation;
}

std::string_view trimmed(std::string_view word) {
    const auto first = word.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return word.substr(first, word.find_last_not_of(" \t") - first + 1);
}

void set(bool wanted, const jit::Instrumentation& instrumentation, jit::InstrumentationList& list) {
    wanted ? list.add(instrumentation) : list.remove(instrumentation);
}

}  // namespace

std::optional<Checks> checks_from(std::string_view words) {
    Checks checks;
    while (true) {
        const auto comma = words.find(',');
        const std::string_view word = trimmed(words.substr(0, comma));
        if (word == "all")
            checks.memory = checks.races = checks.init = checks.leaks = true;
        else if (word == "default" || word == "memory")
            checks.memory = true;
        else if (word == "races")
            checks.races = true;
        else if (word == "init")
            checks.init = true;
        else if (word == "arithmetic")
            checks.arithmetic = true;
        else if (word == "leaks")
            checks.leaks = true;
        else if (word != "none" && word != "sync")
            return std::nullopt;
        if (comma == std::string_view::npos) return checks;
        words.remove_prefix(comma + 1);
    }
}

std::string text_of(const Checks& checks) {
    return std::string(checks.memory ? "memory," : "") + (checks.races ? "races," : "") +
           (checks.init ? "init," : "") + (checks.arithmetic ? "arithmetic," : "") +
           (checks.leaks ? "leaks," : "") + "sync";
}

Checks checks_of(const jit::InstrumentationList& list) {
    return {.memory = list.contains(jit::memory_checks()),
            .races = list.contains(race_checks()) || list.contains(race_checks_of_all()),
            .init = list.contains(init_checks()),
            .arithmetic = list.contains(arithmetic_checks())};
}

void choose(const Checks& checks, jit::InstrumentationList& list) {
    // In this order: values are followed in the program's own instructions, and where a race is reported,
    // its memory exists.
    list.remove(jit::memory_checks());
    list.remove(race_checks());
    list.remove(race_checks_of_all());
    set(checks.init, init_checks(), list);
    set(checks.arithmetic, arithmetic_checks(), list);
    set(checks.memory, jit::memory_checks(), list);
    set(checks.races, race_checks(), list);
}

void check_all_memory(jit::InstrumentationList& list) {
    if (!list.contains(race_checks())) return;
    list.remove(race_checks());
    list.add(race_checks_of_all());
}

void drop_consequences(std::vector<findings::Finding>& findings) {
    using findings::Finding;
    using findings::FindingKind;
    std::vector<findings::MemoryObject> racing;
    for (const Finding& each : findings)
        if (each.kind == FindingKind::data_race && each.object) racing.push_back(*each.object);
    if (racing.empty()) return;
    std::erase_if(findings, [&](const Finding& each) {
        if (each.kind != FindingKind::uninitialised_value) return false;
        // Where a value comes from is not known of all of them.
        return !each.object || std::ranges::any_of(racing, [&](const findings::MemoryObject& object) {
            return object.space == each.object->space &&
                   (object.space == "shared" ? object.name == each.object->name
                                             : object.address == each.object->address);
        });
    });
}

RaceModel race_model_of(const jit::InstrumentationList& list) {
    return list.contains(ptx_model()) ? RaceModel::ptx : RaceModel::idiom;
}

void choose_race_model(RaceModel model, jit::InstrumentationList& list) {
    set(model == RaceModel::ptx, ptx_model(), list);
}

}  // namespace cudasim::checks
