// An option of the environment (simulator/driver/options.h), for those that are not a launch's.
#pragma once

#include <string_view>
#include <variant>

#include "simulator/driver/options.h"

namespace cudasim::cudart {

/// @throws driver::OptionError for a value that the option does not take
template <typename Value>
Value environment_option(std::string_view name) {
    return std::get<Value>(driver::option_from_environment(driver::option_named(name)).value);
}

}  // namespace cudasim::cudart
