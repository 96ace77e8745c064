// Which checks a launch has, by name, and what that means for its code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/checks/race_detector.h"
#include "simulator/findings/finding.h"
#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

struct Checks {
    bool memory = false;  ///< accesses to memory (C1)
    bool races = false;   ///< data races
    bool init = false;    ///< uninitialised values
    bool arithmetic = false;
    bool leaks = false;  ///< memory that is never given back: the host looks for it, and no code has it
    bool operator==(const Checks&) const = default;
};

/// Words separated by commas, with or without blanks: none, default, all, memory, races, init, sync, leaks,
/// arithmetic. nullopt when one of them is unknown, or when there is none. sync is always on: a launch could
/// not go on where it finds something. all is all but arithmetic.
[[nodiscard]] std::optional<Checks> checks_from(std::string_view words);
/// "memory,races,init,arithmetic,leaks,sync"
[[nodiscard]] std::string text_of(const Checks& checks);

/// Those that code with these instrumentations has.
[[nodiscard]] Checks checks_of(const jit::InstrumentationList& list);
/// Makes them those of the list; what else is in it stays.
void choose(const Checks& checks, jit::InstrumentationList& list);

/// Looks for races in accesses to all memory, also to what the kernel only reads. No effect where it does not
/// look for races.
void check_all_memory(jit::InstrumentationList& list);

/// Drops findings that another one of the same launch explains: where a write and a read of an object race,
/// the read may come before anything is written.
void drop_consequences(std::vector<findings::Finding>& findings);

/// RaceModel is an instrumentation of its own, which inserts nothing: so it is among a launch's options
/// whether races are looked for or not.
[[nodiscard]] RaceModel race_model_of(const jit::InstrumentationList& list);
void choose_race_model(RaceModel model, jit::InstrumentationList& list);

}  // namespace cudasim::checks
