// Signal handlers that launches need (simulator/execution/fault_signals.h), kept from one launch to the
// next: to install and remove them takes longer than a small kernel.
#pragma once

namespace cudasim::cudart {

/// For the calling thread, before it launches. A program that installs handlers of its own ends it:
/// from then on each launch installs and removes its handlers.
void keep_signals_of_launches();

}  // namespace cudasim::cudart
