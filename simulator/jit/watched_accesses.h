// Watches in code that is compiled for stops (statement_stops.h): behind every access to memory a test in
// line of whether it lies in the range that BlockContext::watch_low and watch_bytes name. If it may, the hook
// `watched_access` looks closely, and can hold the thread there, in the middle of its statement: a store has
// happened then, and the next one has not.
//
// The range is read anew at each test: a stop's handler may have changed it. Nothing but stops changes it, so
// the optimiser shares the reads between two of them as far as it can tell.
//
// Accesses to variables in frame records are not tested: whoever watches a variable compares at statements.
// What the optimiser removes afterwards keeps its test where that costs nothing, since the hook reads memory.
#pragma once

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Part of statement_stops' late().
void test_watched_accesses(Compilation& compilation);

}  // namespace cudasim::jit
