// Contexts, the stack of the calling thread, and which devices a program sees.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/kept_object.h"
#include "simulator/driver/context.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/visible_devices.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::Context;
using driver::ContextStack;

/// A plain function: launches ask it.
PyObject* current_context_id(PyObject*, PyObject*) {
    return PyLong_FromUnsignedLongLong(ContextStack::of_this_thread().current_id());
}

PyMethodDef current_context_id_method{
    "current_context_id", &current_context_id, METH_NOARGS,
    "current_context_id() -> int\n\n"
    "Context.id of the context that is current in this thread; 0 when none is, or calls are not allowed."};

}  // namespace

void bind_contexts(py::module_& module) {
    py::class_<Context, std::shared_ptr<Context>>(module, "Context", "The primary context of a device.")
        .def(py::init(&Context::make), py::arg("device"))
        .def_property_readonly("id", &Context::id)
        .def_property_readonly("device", &Context::device)
        .def_property_readonly("handle", &Context::handle)
        .def_property_readonly("users", &Context::users)
        .def("set_engine", &Context::set_engine)
        .def("activate", &Context::activate)
        .def("retain", &Context::retain)
        .def("release",
             [](Context& self) {
                 const ReleasedGil release;
                 return self.release();
             })
        .def("reset",
             [](Context& self) {
                 const ReleasedGil release;
                 return self.reset();
             })
        .def(
            "on_end",
            [](Context& self, py::object end) {
                self.on_end([end = kept(std::move(end))] {
                    const cpython::HeldGil acquire;
                    (*end)();
                });
            },
            "Calls end() whenever the context ends, before anything in it is freed.")
        .def("attribute", &driver::device_get_attribute, py::arg("number"),
             "cuDeviceGetAttribute, by the number of CUdevice_attribute.")
        .def("can_access_peer", &Context::can_access_peer)
        .def("enable_peer_access", &Context::enable_peer_access)
        .def("may_use_memory_of", &Context::may_use_memory_of)
        .def_static("with_handle", [](std::uint64_t handle, const std::string& call) {
            return Context::with_handle(handle, call.c_str());
        });
    module.add_object("current_context_id", py::reinterpret_steal<py::object>(
                                                PyCFunction_New(&current_context_id_method, nullptr)));
    const auto here = &ContextStack::of_this_thread;
    module.def("current_context", [here] { return here().current(); });
    module.def("require_current_context",
               [here](const std::string& call) { return here().require_current(call.c_str()); });
    module.def("push_context", [here](std::shared_ptr<Context> context) { here().push(std::move(context)); });
    module.def("pop_context", [here] { return here().pop(); });
    module.def("set_current_context",
               [here](std::shared_ptr<Context> context) { here().set_current(std::move(context)); });
    module.def("exchange_contexts", [here](std::vector<std::shared_ptr<Context>> contexts) {
        return here().exchange(std::move(contexts));
    });
    module.def("require_calls_allowed", [here] { here().require_calls_allowed(); });
    module.def("used_before_fork", &driver::used_before_fork);
    module.def("allow_use_after_fork", &driver::allow_use_after_fork);

    module.def("device_uuid", &driver::device_uuid, py::arg("key"), py::arg("position"));
    module.def("visible_devices",
               [](const std::optional<std::string>& value, const std::vector<std::string>& keys) {
                   return driver::require_visible_devices(value, keys);
               });
    module.def(
        "exchange_devices",
        [](std::vector<std::shared_ptr<Context>> devices) {
            return driver::Devices::of_this_process().exchange(std::move(devices));
        },
        "The program sees the devices of these contexts from now on; returns those before.");
    module.def(
        "device_get",
        [](const py::int_& ordinal, const std::string& call) {
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(ordinal.ptr(), &overflow);
            return driver::Devices::of_this_process()
                .get(overflow == 0 ? number : -1, call.c_str())
                ->device();
        },
        "cuDeviceGet: the ordinal of a device that there is.");
}

}  // namespace cudasim::bindings
