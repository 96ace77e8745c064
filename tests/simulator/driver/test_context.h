// Contexts for tests of the driver.
#pragma once

#include <memory>

#include "simulator/driver/context.h"

namespace cudasim::driver::testing {

/// A context with an engine of its own.
inline std::shared_ptr<Context> context_on(int ordinal) {
    auto context = Context::make(ordinal);
    context->set_engine(std::make_shared<SimulatedDevice>(execution::h100()));
    return context;
}

}  // namespace cudasim::driver::testing
