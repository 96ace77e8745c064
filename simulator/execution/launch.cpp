// Out of line, because BlockRun is incomplete in launch.h.
#include "simulator/execution/launch.h"

#include "simulator/execution/block_run.h"

namespace cudasim::execution {

Launch::Launch() = default;
Launch::~Launch() = default;

}  // namespace cudasim::execution
