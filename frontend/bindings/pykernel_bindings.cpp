// The Python kernel compiler in Python: compile_python(), and SourceError for what it refuses.
// The Python side (compiler.py) prepares a dictionary for each function; see function_source().
#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/host_poll.h"
#include "frontend/bindings/python_syntax.h"
#include "frontend/pykernel/compile.h"
#include "frontend/pykernel/syntax/in_source.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/image/host_questions.h"
#include "simulator/libdevice/signatures.h"

namespace cudasim::bindings {
namespace {

namespace py = pybind11;
using namespace pykernel;

std::int64_t wrapped_integer(py::handle value) {
    const std::uint64_t bits = PyLong_AsUnsignedLongLongMask(value.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    return static_cast<std::int64_t>(bits);
}

/// Converts a tuple that resolve.py has made: (kind, fields...).
GlobalValue global_value(py::handle description) {
    const auto fields = py::reinterpret_borrow<py::tuple>(description);
    const auto kind = py::cast<std::string>(fields[0]);
    auto text = [&](std::size_t i) { return py::cast<std::string>(fields[i]); };
    if (kind == "integer")
        return {.kind = GlobalKind::integer, .type_name = text(2), .integer = wrapped_integer(fields[1])};
    if (kind == "real")
        return {.kind = GlobalKind::real, .type_name = text(2), .real = py::cast<double>(fields[1])};
    if (kind == "complex") {
        const auto value = py::cast<std::complex<double>>(fields[1]);
        return {.kind = GlobalKind::complex,
                .type_name = text(2),
                .real = value.real(),
                .imaginary = value.imag()};
    }
    if (kind == "date")
        return {.kind = GlobalKind::date, .type_name = text(2), .integer = wrapped_integer(fields[1])};
    if (kind == "boolean") return {.kind = GlobalKind::boolean, .integer = py::cast<bool>(fields[1])};
    if (kind == "none") return {.kind = GlobalKind::none};
    if (kind == "bytes")
        return {.kind = GlobalKind::bytes, .text = "bytes", .bytes = py::cast<std::string>(fields[1])};
    if (kind == "text") return {.kind = GlobalKind::text, .text = text(1)};
    if (kind == "data_type") return {.kind = GlobalKind::data_type, .text = text(1), .type_name = text(1)};
    if (kind == "intrinsic") return {.kind = GlobalKind::intrinsic, .text = text(1)};
    if (kind == "function")
        return {.kind = GlobalKind::function, .text = text(2), .integer = py::cast<std::int64_t>(fields[1])};
    if (kind == "foreign") {
        GlobalValue result{
            .kind = GlobalKind::foreign, .text = text(1), .integer = py::cast<bool>(fields[4])};
        for (py::handle type : fields[2])
            result.elements.push_back(
                {.kind = GlobalKind::data_type, .type_name = py::cast<std::string>(type)});
        result.elements.push_back({.kind = GlobalKind::data_type, .type_name = text(3)});
        return result;
    }
    if (kind == "exception") return {.kind = GlobalKind::exception, .text = text(1)};
    if (kind == "module") return {.kind = GlobalKind::module, .text = text(1)};
    if (kind == "undefined") return {.kind = GlobalKind::undefined};
    if (kind == "unsupported") return {.kind = GlobalKind::unsupported, .text = text(1)};
    if (kind == "not_yet") return {.kind = GlobalKind::unsupported, .text = text(1), .integer = 1};
    if (kind == "record")
        return {.kind = GlobalKind::record,
                .text = text(1),
                .type_name = text(2),
                .bytes = py::cast<std::string>(fields[3])};
    if (kind == "tuple") {
        GlobalValue result{.kind = GlobalKind::tuple};
        for (py::handle element : fields[1]) result.elements.push_back(global_value(element));
        if (fields.size() > 2)
            result.text = text(2), result.names = py::cast<std::vector<std::string>>(fields[3]);
        return result;
    }
    if (kind == "tuple_class")
        return {.kind = GlobalKind::tuple_class,
                .text = text(1),
                .names = py::cast<std::vector<std::string>>(fields[2])};
    if (kind == "member")
        return {.kind = GlobalKind::member, .type_name = text(1), .elements = {global_value(fields[2])}};
    if (kind == "enumeration") {
        GlobalValue result{.kind = GlobalKind::enumeration, .text = text(1)};
        for (const auto& [name, member] : py::cast<py::dict>(fields[2])) {
            result.names.push_back(py::cast<std::string>(name));
            result.elements.push_back(global_value(member));
        }
        return result;
    }
    if (kind == "device_array") {
        return {.kind = GlobalKind::device_array,
                .text = text(1),
                .type_name = text(2),
                .integer = wrapped_integer(fields[3]),
                .shape = py::cast<std::vector<std::int64_t>>(fields[4]),
                .strides = py::cast<std::vector<std::int64_t>>(fields[5])};
    }
    if (kind == "array") {
        return {.kind = GlobalKind::array,
                .text = text(1),
                .type_name = text(2),
                .shape = py::cast<std::vector<std::int64_t>>(fields[3]),
                .bytes = py::cast<std::string>(fields[4])};
    }
    throw std::invalid_argument("compile_python: unknown kind of global '" + kind + "'");
}

/// (number of the function, whether it takes literals), or (symbol in linked code, (types of its parameters,
/// of its result), bytes of its frame).
Choice choice(const py::tuple& fields) {
    Choice result;
    if (py::isinstance<py::str>(fields[0])) {
        result.symbol = py::cast<std::string>(fields[0]);
        auto [parameters, returned] = py::cast<std::pair<std::vector<std::string>, std::string>>(fields[1]);
        result.signature = {std::move(parameters), std::move(returned)};
        result.frame_bytes = py::cast<std::uint64_t>(fields[2]);
    } else {
        result.function = py::cast<std::uint32_t>(fields[0]);
        result.takes_literals = py::cast<bool>(fields[1]);
    }
    return result;
}

/// node: ast.FunctionDef or ast.Lambda; line_offset; file; first_line and lines of the source; globals:
/// dotted name → description; defaults: descriptions; signatures: (argument types, result type or "").
FunctionSource function_source(const py::dict& function, const image::Cancellation* cancellation) {
    FunctionSource source;
    source.file = py::cast<std::string>(function["file"]);
    source.first_line = py::cast<int>(function["first_line"]);
    source.lines = py::cast<std::vector<std::string>>(function["lines"]);
    source.syntax = in_source(source, [&] {
        return function_from_python(function["node"], py::cast<int>(function["line_offset"]), cancellation);
    });
    for (const auto& [name, value] : py::cast<py::dict>(function["globals"])) {
        source.globals.emplace(py::cast<std::string>(name), global_value(value));
    }
    for (py::handle value : function["defaults"]) source.defaults.push_back(global_value(value));
    for (py::handle item : function["signatures"]) {
        auto [arguments, result] = py::cast<std::pair<std::vector<std::string>, std::string>>(item);
        source.signatures.push_back({std::move(arguments), std::move(result)});
    }
    source.library_name = py::cast<std::string>(function["library_name"]);
    source.exact_signatures = py::cast<bool>(function["exact_signatures"]);
    source.is_overloaded = py::cast<bool>(function["is_overloaded"]);
    source.binds_arguments = py::cast<bool>(function["binds_arguments"]);
    return source;
}

/// Whether the kernel, or a function that it calls, asks for the group of the grid: then it calls this one,
/// whose name is in the bitcode's table of strings.
bool names_the_grid(const image::KernelImage& image) {
    return image.bitcode().find("cudaCGGetIntrinsicHandle") != std::string::npos;
}

/// What compile_python() is given: _Program of compiler.py. Its methods are called on the host's thread,
/// which is the user's; what they add to the program is read on the thread with the large stack.
class PythonProgram final : public Resolver {
  public:
    /// @param request gets what the program consists of
    PythonProgram(const py::object& program, Request& request, image::HostQuestions& host,
                  bool ends_interpreter)
        : program_(program), request_(request), host_(host), ends_interpreter_(ends_interpreter) {
        read();
    }

    [[nodiscard]] std::uint32_t library_function(std::string_view name) override {
        std::uint32_t number = 0;
        ask([&] { number = py::cast<std::uint32_t>(program_.attr("library_function")(name)); });
        return number;
    }

    [[nodiscard]] std::optional<Choice> overload(std::uint32_t function,
                                                 const std::vector<std::string>& arguments,
                                                 std::vector<std::string>& reasons) override {
        std::optional<Choice> answer;
        ask_program([&](std::string& failed) {
            const py::tuple found = program_.attr("overload")(function, arguments);
            if (!found[0].is_none()) answer = choice(found[0]);
            reasons = py::cast<std::vector<std::string>>(found[1]);
            failed = py::cast<std::string>(found[2]);
        });
        return answer;
    }

    [[nodiscard]] std::optional<Extension> attribute(const std::string& type,
                                                     const std::string& name) override {
        std::optional<Extension> answer;
        ask_program([&](std::string& failed) {
            const py::tuple found = program_.attr("attribute")(type, name);
            if (!found[0].is_none())
                answer = {.function = py::cast<std::uint32_t>(found[0]),
                          .is_method = py::cast<bool>(found[1])};
            failed = py::cast<std::string>(found[2]);
        });
        return answer;
    }

    [[nodiscard]] std::optional<std::uint32_t> operation(const std::string& name) override {
        std::optional<std::uint32_t> answer;
        ask([&] { answer = py::cast<std::optional<std::uint32_t>>(program_.attr("operation")(name)); });
        return answer;
    }

    [[nodiscard]] GlobalValue member(const std::string& module, const std::string& name) override {
        GlobalValue answer;
        ask([&] { answer = global_value(program_.attr("member")(module, name)); });
        return answer;
    }

  private:
    template <typename Question>
    void ask(const Question& question) {
        host_.ask([&] {
            const cpython::HeldGil held;
            question();
            read_libraries();
        });
        read();
    }

    /// @param question says why what the program has written for it fails, or nothing
    template <typename Question>
    void ask_program(const Question& question) {
        std::string failed;
        ask([&] { question(failed); });
        if (failed.empty()) return;
        SourceError error(ErrorClass::lowering, failed, {});
        error.standing = Standing::never;
        error.is_final = true;
        throw error;
    }

    /// At the interpreter's end no thread but the host's gets the GIL.
    void read() {
        const auto with_gil = [&] {
            const cpython::HeldGil held;
            read_functions();
            read_sources();
        };
        if (ends_interpreter_)
            host_.ask(with_gil);
        else
            with_gil();
    }

    void read_functions() {
        const py::list functions = program_.attr("functions");
        for (std::size_t i = request_.functions.size(); i < functions.size(); ++i)
            request_.functions.push_back(
                function_source(py::reinterpret_borrow<py::dict>(functions[i]), request_.cancellation));
        if (request_.functions.empty()) throw std::invalid_argument("compile_python: no function to compile");
    }

    void read_sources() {
        const py::dict sources = program_.attr("sources");
        if (sources.size() == request_.sources.size()) return;
        request_.sources.clear();
        for (const auto& [path, text] : sources)
            request_.sources.push_back({py::cast<std::string>(path), py::cast<std::string>(text)});
        std::ranges::sort(request_.sources, {}, &image::SourceFile::path);
    }

    void read_libraries() {
        request_.libraries = py::cast<std::vector<image::KernelImage>>(program_.attr("libraries")());
    }

    const py::object& program_;
    Request& request_;
    image::HostQuestions& host_;
    bool ends_interpreter_;
};

/// Everything that recurses over the program has the large stack: reading the syntax tree, compiling,
/// forgetting it.
Result compile_on_large_stack(const py::object& program, Request& request, const image::HostPoll& poll) {
    const bool ends_interpreter = interpreter_is_ending();
    std::optional<Result> result;
    image::on_asking_large_stack(
        [&](const image::Cancellation& cancellation, image::HostQuestions& host) {
            Request own = std::move(request);
            own.cancellation = &cancellation;
            PythonProgram resolver(program, own, host, ends_interpreter);
            own.resolver = &resolver;
            result = pykernel::compile(own);
        },
        poll);
    return std::move(*result);
}

py::dict compile_python(const py::object& program, std::vector<std::string> argument_types, bool fastmath,
                        bool fma, bool variable_reads, const std::string& entry, std::string entry_name,
                        std::string result_type, const py::object& progress, double progress_after_seconds) {
    Request request;
    request.entry = entry == "c"       ? Entry::c_function
                    : entry == "numba" ? Entry::numba_function
                                       : Entry::kernel;
    request.entry_name = std::move(entry_name);
    request.result_type = std::move(result_type);
    request.argument_types = std::move(argument_types);
    request.fastmath = fastmath;
    request.fma = fma;
    request.variable_reads = variable_reads;
    request.old_messages = PY_VERSION_HEX < 0x030B0000;
    request.libraries = py::cast<std::vector<image::KernelImage>>(program.attr("libraries")());
    driver::in_call("cuModuleLoadData", [] { execution::require_memory_to_compile(); });
    const Progress shown{progress, progress_after_seconds};
    const Result result = while_compiling(
        shown, [&](const image::HostPoll& poll) { return compile_on_large_stack(program, request, poll); });
    py::dict answer;
    answer["image"] = result.image;
    answer["kernel_name"] = result.kernel_name;
    answer["typed_ir"] = result.typed_ir;
    answer["cooperative"] = names_the_grid(result.image);
    py::list notes;
    for (const Note& note : result.notes) notes.append(py::make_tuple(note.message, note.file, note.line));
    answer["notes"] = notes;
    py::list overloads;
    for (const Overload& overload : result.overloads)
        overloads.append(
            py::make_tuple(overload.function, py::tuple(py::cast(overload.arguments)), overload.result));
    answer["overloads"] = overloads;
    return answer;
}

/// CPython's parser recurses as deeply as the text is nested, too.
py::object call_on_large_stack(const py::function& function, const py::args& arguments) {
    if (interpreter_is_ending()) return function(*arguments);
    py::object result;
    const ReleasedGil release(/*in_engine=*/false);
    image::on_large_stack([&](const image::Cancellation&) {
        const cpython::HeldGil acquire;
        result = function(*arguments);
    });
    return result;
}

std::vector<std::string> half_functions() {
    return {
#define HALF_OF_FLOATS(module, name, function, after) #module "." #name,
#define HALF_TEST(module, name, predicate) #module "." #name,
#define HALF_FROM(module, name, type, rounding) #module "." #name,
#define HALF_TO(module, name, type, function) #module "." #name,
#define HALF_SAME_BITS(module, name, from, to) #module "." #name,
#define HALF_CLASS(module, name, type, finding) #module "." #name,
#define HALF_NEGATED(module, name) #module "." #name,
#define HALF_TO_FLOAT(module, name) #module "." #name,
#include "simulator/libdevice/half_functions.def"
    };
}

const char* type_name(libdevice::ValueKind kind) {
    constexpr const char* names[] = {"none", "int16", "int32", "int64", "float32", "float64"};
    return names[static_cast<int>(kind)];
}

py::list libdevice_functions() {
    py::list functions;
    for (const auto& function : libdevice::signatures()) {
        py::list parameters, results;
        if (function.result != libdevice::ValueKind::none) results.append(type_name(function.result));
        for (const auto& [kind, is_result] : function.parameters)
            (is_result ? results : parameters).append(type_name(kind));
        functions.append(py::make_tuple(py::cast(function.name), parameters, results));
    }
    return functions;
}

PyObject* source_error_class = nullptr;

void raise_source_error(const SourceError& error) {
    py::object exception = py::reinterpret_borrow<py::object>(source_error_class)(error.text());
    exception.attr("error_class") = error_class_name(error.error_class);
    exception.attr("reason") = error.what();
    exception.attr("standing") = standing_name(error.standing);
    exception.attr("file") = error.file;
    exception.attr("line") = error.location.line;
    exception.attr("column") = error.location.column;
    PyErr_SetObject(source_error_class, exception.ptr());
}

}  // namespace

void bind_pykernel(py::module_& module) {
    source_error_class = PyErr_NewExceptionWithDoc(
        "cudasim._native.SourceError",
        "A Python kernel cannot be compiled; compiler.py turns it into numba's class.", PyExc_ValueError,
        nullptr);
    module.add_object("SourceError", py::reinterpret_borrow<py::object>(source_error_class));
    py::register_local_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (const SourceError& error) {
            raise_source_error(error);
        }
    });
    module.def("call_on_large_stack", &call_on_large_stack, py::arg("function"),
               "function(*arguments), on a thread that has a large stack.");
    module.def("half_functions", &half_functions,
               "Names of numba.cuda's functions of fp16 and bf16: 'fp16.hadd'.");
    module.def("libdevice_functions", &libdevice_functions,
               "[(name, types of its parameters, types of its results)]");
    module.def(
        "compile_python", &compile_python, py::arg("program"), py::arg("argument_types"), py::kw_only(),
        py::arg("fastmath") = false, py::arg("fma") = false, py::arg("variable_reads") = true,
        py::arg("entry") = "kernel", py::arg("entry_name") = "", py::arg("result_type") = "",
        py::arg("progress") = py::none(), py::arg("progress_after_seconds") = 0.0,
        "Compiles the first function of a program (compiler.py's _Program, which is asked for what it "
        "turns out to need) for the argument types, linked with its libraries, as a kernel or as a device "
        "function with the ABI \"c\" or \"numba\": {image, kernel_name, typed_ir, cooperative, notes: "
        "[(message, file, line)], overloads: [(index of the function, argument types, result type)]}. "
        "Raises SourceError.");
    module.def("kernel_knows", &knows_callable,
               "Whether kernels can call what has this name: \"cuda.grid\".");
}

}  // namespace cudasim::bindings
