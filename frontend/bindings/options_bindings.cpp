// The table of options, as cudasim/_option_table.py is made from it.
#include <pybind11/stl.h>

#include <algorithm>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/launches.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/options.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

py::list option_table() {
    py::list rows;
    for (const driver::Option& option : driver::option_table()) {
        const bool of_a_launch =
            std::ranges::any_of(driver::launch_option_table(),
                                [&](const driver::LaunchOption& each) { return each.name == option.name; });
        rows.append(py::make_tuple(option.name, driver::kind_name(option.kind), option.lowest, option.highest,
                                   option.default_text, option.default_from, option.accepts, option.help,
                                   option.of_the_device, of_a_launch));
    }
    return rows;
}

py::object parse_option(const std::string& name, const std::string& text, const std::string& where) {
    return python_value(driver::parse_option(driver::option_named(name), text, where));
}

}  // namespace

void bind_options(py::module_& module) {
    module.def("option_table", &option_table,
               "(name, kind, lowest, highest, default, where the default comes from, accepted values, help, "
               "whether a device is made with it, whether it says how a launch runs) of each row of "
               "simulator/driver/options.cpp.");
    module.def(
        "parse_option", &parse_option, py::arg("name"), py::arg("text"), py::arg("where"),
        "The value of a text, as programs without Python read it. Raises ValueError for what is not valid.");
}

}  // namespace cudasim::bindings
