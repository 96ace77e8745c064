// While the user waits for a launch to stop, conditions are evaluated briefly: one that may not come to an
// end has been interrupted just before, and would not come to an end again.
#pragma once

namespace cudasim::debugger {

/// Of this host thread: compiled evaluations give up in their first long loop.
inline thread_local bool evaluations_are_brief = false;

class BriefEvaluations {
  public:
    explicit BriefEvaluations(bool brief) { evaluations_are_brief = brief; }
    ~BriefEvaluations() { evaluations_are_brief = false; }
    BriefEvaluations(const BriefEvaluations&) = delete;
    BriefEvaluations& operator=(const BriefEvaluations&) = delete;
};

}  // namespace cudasim::debugger
