// The parts of the Python extension cudasim._native. Each converts between Python and one C++ interface and
// does nothing else: what a user sees is written in Python, what runs is written in simulator/.
//
//   module.cpp             the module, its functions that belong to no class
//   engine_bindings.cpp    KernelImage, Device, Allocation, LoadedImage
//   comparison_bindings.cpp results of the simulator and of a GPU, compared
//   context_bindings.cpp   contexts, which of them is current, which devices a program sees
//   memory_bindings.cpp    the driver's memory calls
//   contiguous_buffer.h    the memory of objects with the buffer protocol
//   module_bindings.cpp    the driver's modules and functions
//   text_caster.h          str and std::string
//   profile_bindings.cpp   what simulated devices are
//   host_memory.cpp        the buffer protocol for memory that the host may look at
//   options_bindings.cpp   the table of options
//   launch_bindings.cpp    LaunchPlan: the hot path; the GIL is released while kernels run
//   record_bindings.cpp    LaunchRecord: files of records, running one again
//   stop_bindings.cpp      stops: handlers in Python, and what they see of a launch (stop_view.h)
//   debugger_bindings.cpp  the debug server, and Python's evaluator of expressions for it
//   access_bindings.cpp    accesses of kernels in Python mode, as a list
//   findings_bindings.cpp  LaunchReport; findings as dictionaries
//   cache_bindings.cpp     the object cache: where it lies, what is in it
//   frameless_call.cpp     a callable that leaves no frame of the package in tracebacks
//   ptx_bindings.cpp       PTX text to images
//   gpu_launch_bindings.cpp   recorded launches on a real GPU
//   real_gpu_bindings.cpp  what NVIDIA's driver says of this machine's GPUs
//   host_language_bindings.cpp  what libraries in CUDA C++ need of Python
//   streams_bindings.cpp   streams: what is enqueued, and running it
//   trace_bindings.cpp     who wrote elements of memory in a recorded launch
//   pykernel_bindings.cpp  the Python kernel compiler; python_syntax.cpp: ast nodes to its syntax tree
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/bindings/text_caster.h"
#include "simulator/driver/core_files.h"
#include "simulator/driver/error.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/execution/device.h"
#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::bindings {

using driver::SimulatedDevice;

void bind_profiles(pybind11::module_& module);
void bind_engine(pybind11::module_& module);
void bind_contexts(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_modules(pybind11::module_& module);
void bind_host_memory(pybind11::module_& module);
void bind_options(pybind11::module_& module);
void bind_launch(pybind11::module_& module);
void bind_records(pybind11::module_& module);
void bind_stops(pybind11::module_& module);
void bind_debugger(pybind11::module_& module);
void bind_expression_kernel(pybind11::module_& module);
void bind_accesses(pybind11::module_& module);
void bind_cache(pybind11::module_& module);
void bind_findings(pybind11::module_& module);
void bind_frameless_call(pybind11::module_& module);
void bind_host_language(pybind11::module_& module);
void bind_streams(pybind11::module_& module);
void bind_traces(pybind11::module_& module);
void bind_pykernel(pybind11::module_& module);
void bind_ptx(pybind11::module_& module);
void bind_real_gpus(pybind11::module_& module);
void bind_gpu_launches(pybind11::module_& module);
void bind_comparison(pybind11::module_& module);

/// An image on a device; keeps the device. (execution::LoadedImage is what the engine itself keeps.)
struct LoadedImage {
    std::shared_ptr<SimulatedDevice> owner;
    std::shared_ptr<execution::LoadedImage> image;
};

/// What a launch had to say; made only when it had something to say.
struct LaunchReport {
    std::vector<findings::Finding> findings;
    std::vector<image::SourceFile> sources;
    std::uint64_t blocks_run = 0;
    pybind11::object host_exception;  ///< what a signal handler raised while the kernel ran, or None
    driver::CoreFile core = {};       ///< of a launch that failed, where core files are asked for
};

[[nodiscard]] pybind11::dict device_profile_to_python(const execution::DeviceProfile& profile);
[[nodiscard]] pybind11::dict finding_to_python(const findings::Finding& finding);
[[nodiscard]] pybind11::dict variable_to_python(const findings::VariableValue& value);
[[nodiscard]] pybind11::list call_chain_to_python(const findings::CallChain& chain);

}  // namespace cudasim::bindings
