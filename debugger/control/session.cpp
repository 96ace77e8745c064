// See session.h.
#include "debugger/control/session.h"

#include <algorithm>
#include <set>

#include "debugger/control/control.h"

namespace cudasim::debugger {

bool Session::warnings_stop() const {
    const std::uint64_t kinds = error_kinds;
    for (std::size_t i = 0; i < findings::all_kinds().size(); ++i)
        if ((kinds >> i & 1) != 0 &&
            findings::info(static_cast<findings::FindingKind>(i)).severity == findings::Severity::warning)
            return true;
    return false;
}

void Session::pause() {
    pause_.store(true);
    tell_of_changes();
}

void Session::tell_of_changes() {
    const std::lock_guard lock(mutex_);
    for (Control* control : controls_) control->look_soon();
}

void Session::begin() {
    breakpoints.clear();
    pause_.store(false);
    errors_stop.store(true);
    error_kinds.store(0);
    calls_stop.store(true);
    client_is_there.store(true);
    tell_of_changes();
}

void Session::end() {
    client_is_there.store(false);
    breakpoints.clear();
    watchpoints.clear();
    pause_.store(false);
    tell_of_changes();
    (void)mailbox.post([](Control* control) {
        if (control != nullptr) control->go_on();
    });
}

std::shared_ptr<const KernelCode> Session::code_of(const std::shared_ptr<const jit::CompiledKernel>& kernel) {
    const std::lock_guard lock(mutex_);
    auto& [known, code] = codes_[kernel.get()];
    if (!code || known.lock() != kernel) {
        code = std::make_shared<const KernelCode>(*kernel);
        known = kernel;
    }
    return code;
}

std::shared_ptr<const KernelCode> Session::source_code_of(const image::KernelImage& image,
                                                          std::string_view kernel) {
    const std::string name(kernel);
    const std::lock_guard lock(mutex_);
    auto& code = source_codes_[{image.hash(), name}];
    if (!code) code = std::make_shared<const KernelCode>(name, jit::source_statements(image, kernel));
    return code;
}

namespace {

bool is_cplusplus(const execution::StoppedLaunch& launch) {
    const auto& kernel = launch.launch().kernel;
    return kernel && kernel->is_cplusplus;
}

}  // namespace

Evaluator* Session::evaluator_for(const execution::StoppedLaunch& launch) const {
    Evaluator* front_end = evaluator.load();
    return front_end == nullptr || is_cplusplus(launch) ? own_evaluator.load() : front_end;
}

ExpressionCompiler* Session::compiler_for(const execution::StoppedLaunch& launch) const {
    return compiler_for(is_cplusplus(launch));
}

ExpressionCompiler* Session::compiler_for(bool is_cplusplus) const {
    if (is_cplusplus || evaluator.load() == nullptr) return own_compiler.load();
    return expression_compiler.load();
}

void Session::interrupt_evaluation() {
    if (Evaluator* front_end = evaluator.load()) front_end->interrupt();
}

void Session::refuse_conditions(Control* stopped) {
    for (const Breakpoint& breakpoint : breakpoints.snapshot()) {
        const BreakpointRequest& request = breakpoint.request;
        if (request.condition.empty() || breakpoint.refused || request.function == "*") continue;
        for (const KernelWithCode& known : kernels_with_code()) {
            const std::string refusal = refusal_of(breakpoint, known, stopped);
            if (refusal.empty()) continue;
            (void)breakpoints.refuse(breakpoint.id, refusal);
            break;
        }
    }
}

/// Why the breakpoint cannot stop in a kernel; empty: it can, or it does not lie there.
std::string Session::refusal_of(const Breakpoint& breakpoint, const KernelWithCode& known, Control* stopped) {
    const auto& [kernel, code] = known;
    const BreakpointRequest& request = breakpoint.request;
    std::vector<std::uint32_t> sites;
    if (!request.function.empty()) {
        for (const KernelCode::Line* line : code->entries(request.function))
            sites.insert(sites.end(), line->sites.begin(), line->sites.end());
    } else if (const KernelCode::Line* line = code->line(request.file, request.line)) {
        sites = line->sites;
    }
    ExpressionCompiler* compiler = compiler_for(kernel->is_cplusplus);
    if (sites.empty() || compiler == nullptr) return {};
    const auto condition = conditions.in(kernel, request.condition, sites, *compiler);
    if (!condition->refusal().empty() || condition->doubt().empty()) return condition->refusal();
    if (stopped == nullptr || stopped->launch().launch().kernel != kernel) return {};
    return stopped->contradiction_of(*condition, request.condition);
}

void Session::keep_sources(const std::vector<image::SourceFile>& sources) {
    const std::lock_guard lock(mutex_);
    for (const image::SourceFile& source : sources) {
        std::string& known = sources_[source.path];
        if (known != source.text) known = source.text;
    }
}

std::optional<std::string> Session::source(const std::string& path) const {
    const std::string wanted = normalised_path(path);
    const std::lock_guard lock(mutex_);
    for (const auto& [known, text] : sources_)
        if (known == path || normalised_path(known) == wanted) return text;
    return std::nullopt;
}

std::vector<std::string> Session::source_paths() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> paths;
    for (const auto& [path, text] : sources_)
        if (!path.starts_with(findings::own_code)) paths.push_back(path);
    return paths;
}

/// Of all kernels that have been launched, of some twice.
std::vector<std::shared_ptr<const KernelCode>> Session::codes() const {
    std::vector<std::shared_ptr<const KernelCode>> found;
    const std::lock_guard lock(mutex_);
    for (const auto& [kernel, known] : codes_)
        if (known.second) found.push_back(known.second);
    for (const auto& [kernel, code] : source_codes_)
        if (code) found.push_back(code);
    return found;
}

/// Of those that can stop.
std::vector<Session::KernelWithCode> Session::kernels_with_code() const {
    std::vector<KernelWithCode> found;
    const std::lock_guard lock(mutex_);
    for (const auto& [address, known] : codes_)
        if (auto kernel = known.first.lock(); kernel && known.second)
            found.emplace_back(std::move(kernel), known.second);
    return found;
}

std::vector<std::pair<std::string, std::string>> Session::kernels() const {
    std::set<std::pair<std::string, std::string>> found;  // by file
    for (const auto& code : codes()) {
        const auto entries = code->entries("*");
        found.emplace(entries.empty() ? "" : entries.front()->file, code->name());
    }
    std::vector<std::pair<std::string, std::string>> kernels;
    for (const auto& [file, name] : found) kernels.emplace_back(name, file);
    return kernels;
}

std::vector<std::uint32_t> Session::lines_with_code(const std::string& path) const {
    std::set<std::uint32_t> lines;
    for (const auto& code : codes())
        for (const std::uint32_t line : code->lines(path)) lines.insert(line);
    return {lines.begin(), lines.end()};
}

void Session::enter(Control& control) {
    const std::lock_guard lock(mutex_);
    controls_.push_back(&control);
}

void Session::leave(Control& control) {
    const std::lock_guard lock(mutex_);
    std::erase(controls_, &control);
}

}  // namespace cudasim::debugger
