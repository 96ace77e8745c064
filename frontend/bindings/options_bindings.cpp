// The table of options, as cudasim/_option_table.py is made from it.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/launches.h"
#include "simulator/driver/options.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

py::list option_table() {
    py::list rows;
    for (const driver::Option& option : driver::option_table())
        rows.append(py::make_tuple(option.name, driver::kind_name(option.kind), option.lowest, option.highest,
                                   option.default_text, option.default_from, option.accepts, option.help,
                                   option.of_the_device));
    return rows;
}

py::object parse_option(const std::string& name, const std::string& text, const std::string& where) {
    return python_value(driver::parse_option(driver::option_named(name), text, where));
}

}  // namespace

void bind_options(py::module_& module) {
    module.def("option_table", &option_table,
               "(name, kind, lowest, highest, default, where the default comes from, accepted values, help, "
               "whether a "
               "device is made with it) of each row of simulator/driver/options.cpp.");
    module.def(
        "parse_option", &parse_option, py::arg("name"), py::arg("text"), py::arg("where"),
        "The value of a text, as programs without Python read it. Raises ValueError for what is not valid.");
}

}  // namespace cudasim::bindings
