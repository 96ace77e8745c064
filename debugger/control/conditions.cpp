// See conditions.h.
#include "debugger/control/conditions.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "debugger/control/brief_evaluation.h"
#include "debugger/control/control.h"

namespace cudasim::debugger {

using execution::ThreadRef;

namespace {

/// Types that a condition's variables may have: combinations of them that are compiled.
constexpr std::size_t most_variants = 8;

std::byte byte_at(const jit::FrameRecord& record, std::uint64_t offset) {
    return reinterpret_cast<const std::byte*>(&record)[offset];
}

/// Where a variable lies; nothing where it is not in a record.
std::optional<VariablePlace> place_of(const jit::CapturedVariable& variable, const jit::Stops& stops) {
    if (variable.is_static)
        return VariablePlace{variable.name, stops.types[variable.type], variable.bytes,
                             variable.parts.front().source, variable.parts.front().value};
    if (variable.parts.size() != 2 || variable.parts.back().offset != jit::assigned_flag) return std::nullopt;
    for (const jit::CapturedPart& part : variable.parts)
        if (part.source != jit::PartSource::record) return std::nullopt;
    return VariablePlace{variable.name,           stops.types[variable.type],   variable.bytes,
                         jit::PartSource::record, variable.parts.front().value, variable.parts.back().value};
}

/// A statement of the function, whose variables are those of the frame.
findings::SourceLocation place_of(std::uint32_t frame, const jit::CompiledKernel& kernel) {
    for (const jit::StopPlace& place : kernel.stops.places)
        if (!place.frames.empty() && place.frames.front() == frame && place.site < kernel.sites.size() &&
            !kernel.sites[place.site].empty())
            return kernel.sites[place.site].front();
    return kernel.head;
}

std::string text_of(const findings::SourceLocation& place) {
    return place.function + " (" + place.file.substr(place.file.find_last_of('/') + 1) + ":" +
           std::to_string(place.line) + ")";
}

/// What a name stands for in a function: the variable's types.
struct NameInFunction {
    bool is_variable = false;
    std::vector<VariablePlace> types;
};

NameInFunction find_name(const std::string& name, std::uint32_t frame, const jit::Stops& stops) {
    NameInFunction found;
    for (const jit::CapturedVariable& variable : stops.frames[frame]) {
        if (variable.name != name) continue;
        found.is_variable = true;
        // What is declared further inside hides it.
        std::erase_if(found.types,
                      [](const VariablePlace& each) { return each.source != jit::PartSource::record; });
        if (auto place = place_of(variable, stops)) found.types.push_back(std::move(*place));
    }
    return found;
}

/// The descriptions of the types of a function's variables.
std::vector<std::string> types_in(std::uint32_t frame, const jit::Stops& stops) {
    std::vector<std::string> types;
    for (const jit::CapturedVariable& variable : stops.frames[frame])
        types.push_back(stops.types[variable.type]);
    return types;
}

/// One of the values of each list, in every combination; nothing where there are too many.
std::vector<std::vector<VariablePlace>> combinations(const std::vector<std::vector<VariablePlace>>& lists) {
    std::vector<std::vector<VariablePlace>> all{{}};
    for (const std::vector<VariablePlace>& list : lists) {
        std::vector<std::vector<VariablePlace>> longer;
        if (all.size() * list.size() > most_variants) return {};
        for (const auto& each : all) {
            for (const VariablePlace& variable : list) {
                longer.push_back(each);
                longer.back().push_back(variable);
            }
        }
        all = std::move(longer);
    }
    return all;
}

}  // namespace

// On simulated stacks --------------------------------------------------------------------------------------

const Condition::Place* Condition::place_at(const jit::FrameRecord* record) const noexcept {
    return record != nullptr && record->place < by_place_.size() ? &by_place_[record->place] : nullptr;
}

const Condition::Variant* Condition::variant_of(const InFunction& function,
                                                const jit::FrameRecord& record) noexcept {
    for (const Variant& variant : function.variants) {
        bool assigned = true;
        for (const std::uint64_t flag : variant.assigned) assigned &= byte_at(record, flag) != std::byte{0};
        if (assigned) return &variant;
    }
    return nullptr;
}

Condition::Answer Condition::test(const jit::BlockContext& block, std::uint32_t thread) const noexcept {
    const jit::FrameRecord* record = block.thread_stops[thread].innermost;
    const Place* place = place_at(record);
    if (place == nullptr || place->function == nullptr || place->function->variants.empty())
        return Answer::ask;
    const Predicate* predicate = place->predicate;
    if (predicate != nullptr) {
        for (std::uint32_t i = 0; i < place->flag_count; ++i)
            if (byte_at(*record, place->flags[i]) == std::byte{0}) return Answer::fails;
    } else {
        const Variant* variant = variant_of(*place->function, *record);
        if (variant == nullptr) return Answer::fails;
        predicate = variant->predicate.get();
    }
    switch (predicate->test(*record, block, thread)) {
        case Truth::no:
            return Answer::no;
        case Truth::yes:
            return Answer::yes;
        case Truth::ask:
            return Answer::ask;
        default:
            return Answer::fails;
    }
}

// On the launching thread ----------------------------------------------------------------------------------

std::string Condition::failure(const jit::BlockContext& block, std::uint32_t thread) const {
    const jit::FrameRecord* record = block.thread_stops[thread].innermost;
    const Place* place = place_at(record);
    const InFunction* function = place != nullptr ? place->function : nullptr;
    if (function == nullptr) return "its variables are not known here";
    if (const Variant* variant = variant_of(*function, *record))
        return variant->predicate->reason(*record, block, thread);
    std::string missing;
    for (const auto& [name, flag] : function->flags) {
        const bool has_value = std::ranges::any_of(function->flags, [&](const auto& each) {
            return each.first == name && byte_at(*record, each.second) != std::byte{0};
        });
        if (!has_value) missing = name;
    }
    return "the variable '" + missing + "' has not been assigned yet";
}

Condition::Place Condition::place_in(const InFunction& function) {
    Place place;
    place.function = &function;
    if (function.variants.size() != 1) return place;
    const Variant& only = function.variants.front();
    if (only.assigned.size() > Place::most_flags) return place;
    for (const std::uint64_t flag : only.assigned) {
        if (flag > std::numeric_limits<std::uint32_t>::max()) return place;
        place.flags[place.flag_count++] = static_cast<std::uint32_t>(flag);
    }
    place.predicate = only.predicate.get();
    return place;
}

Condition::Place Condition::at_site(const jit::Stops& stops, std::uint32_t site) const {
    Place found;
    for (std::size_t place = 0; place < stops.places.size(); ++place) {
        if (stops.places[place].site != site) continue;
        if (place >= by_place_.size() || by_place_[place].predicate == nullptr) return {};
        if (found.predicate != nullptr && found.function != by_place_[place].function) return {};
        found = by_place_[place];
    }
    return found;
}

bool Condition::is_for(const jit::BlockContext& block, std::uint32_t thread) const noexcept {
    const Place* place = place_at(block.thread_stops[thread].innermost);
    return place != nullptr && place->function != nullptr;
}

bool Condition::is_compiled() const {
    return !functions_.empty() &&
           std::ranges::none_of(functions_, [](const auto& each) { return each.second.variants.empty(); });
}

std::shared_ptr<const Condition> Conditions::in(const std::shared_ptr<const jit::CompiledKernel>& kernel,
                                                const std::string& expression,
                                                std::span<const std::uint32_t> sites,
                                                ExpressionCompiler& compiler, std::size_t most_functions) {
    const jit::Stops& stops = kernel->stops;
    std::vector<std::uint32_t> frames;
    for (const jit::StopPlace& place : stops.places)
        if (!place.frames.empty() && std::ranges::find(sites, place.site) != sites.end())
            frames.push_back(place.frames.front());
    std::ranges::sort(frames);
    frames.erase(std::ranges::unique(frames).begin(), frames.end());

    const Key key{kernel.get(), expression, frames};
    {
        const std::lock_guard lock(mutex_);
        if (const auto kept = kept_.find(key); kept != kept_.end() && kept->second.kernel.lock() == kernel)
            return kept->second.condition;
    }
    auto condition = std::make_shared<Condition>();
    std::string unknown;
    std::size_t functions_with_all = 0;
    for (const std::uint32_t frame : frames) {
        const findings::SourceLocation place = place_of(frame, *kernel);
        const ExpressionNames named = compiler.names(expression, place, types_in(frame, stops));
        if (!named.error.empty()) {
            condition->refusal_ = named.error;
            condition->is_expression_ = false;
            return condition;
        }
        Condition::InFunction& function = condition->functions_[frame];
        std::vector<std::vector<VariablePlace>> wanted;
        bool has_all = true;
        for (const ExpressionNames::Name& name : named.names) {
            auto [is_variable, types] = find_name(name.text, frame, stops);
            for (const VariablePlace& type : types)
                if (type.source == jit::PartSource::record)
                    function.flags.emplace_back(type.name, type.assigned);
            if (!types.empty()) wanted.push_back(std::move(types));
            if (is_variable || name.known) continue;
            if (unknown.empty())
                unknown = "there is no variable '" + name.text + "' here, in " + text_of(place);
            has_all = false;
        }
        if (!has_all) continue;
        ++functions_with_all;
        if (frames.size() > most_functions) continue;
        for (const std::vector<VariablePlace>& variables : combinations(wanted)) {
            auto predicate = compiler.compile(expression, variables, place, condition->doubt_);
            if (!predicate) {
                function.variants.clear();
                break;
            }
            Condition::Variant& variant = function.variants.emplace_back();
            variant.predicate = std::move(predicate);
            for (const VariablePlace& variable : variables)
                if (variable.source == jit::PartSource::record) variant.assigned.push_back(variable.assigned);
        }
    }
    if (!frames.empty() && functions_with_all == 0)
        condition->refusal_ =
            unknown + ", and nothing around it has that name: write one that `info locals` lists";
    condition->by_place_.resize(stops.places.size());
    for (std::size_t place = 0; place < stops.places.size(); ++place) {
        if (stops.places[place].frames.empty()) continue;
        const auto found = condition->functions_.find(stops.places[place].frames.front());
        if (found != condition->functions_.end())
            condition->by_place_[place] = Condition::place_in(found->second);
    }
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= most_kept) kept_.clear();
    kept_[key] = {kernel, condition};
    return condition;
}

ConditionResult evaluate_condition(Evaluator* evaluator, execution::StoppedLaunch& launch,
                                   execution::ThreadRef thread, const std::string& expression,
                                   std::uint32_t frame) {
    if (evaluator == nullptr) return {false, false, "this program has nobody to evaluate expressions"};
    Evaluation value = evaluator->evaluate(launch, thread, frame, expression);
    if (!value.ok) return {false, false, std::move(value.text)};
    if (!value.truth_doubt.empty()) return {false, false, std::move(value.truth_doubt)};
    return {true, value.truth, {}};
}

// Of a launch ----------------------------------------------------------------------------------------------

/// On simulated stacks. Of what cannot be evaluated one thread is enough.
bool Control::Armed::may_hold(const jit::BlockContext& block, std::uint32_t thread) const noexcept {
    const Condition::Answer answer = condition->test(block, thread);
    if (answer == Condition::Answer::fails) return !breakpoint.failure_told;
    return answer != Condition::Answer::no;
}

/// False where the breakpoint cannot stop: its condition means nothing here.
bool Control::compile_condition(Armed& armed, const std::vector<const KernelCode::Line*>& places) {
    const std::string& text = armed.breakpoint.request.condition;
    ExpressionCompiler* compiler = session_.compiler_for(*launch_);
    if (text.empty() || compiler == nullptr || !launch_->launch().kernel) return true;
    std::vector<std::uint32_t> sites;
    for (const KernelCode::Line* line : places)
        sites.insert(sites.end(), line->sites.begin(), line->sites.end());
    armed.condition = session_.conditions.in(launch_->launch().kernel, text, sites, *compiler);
    const std::string& refusal = armed.condition->refusal();
    if (refusal.empty()) return true;
    // Of all kernels some may have the variable.
    const bool may_mean_something = armed.condition->is_expression();
    if (may_mean_something && armed.breakpoint.request.function == "*") return false;
    if (const auto refused = session_.breakpoints.refuse(armed.breakpoint.id, refusal))
        session_.audience.breakpoint_changed(*refused);
    return false;
}

/// @param condition may be null: nobody compiles it
ConditionResult Control::result_of(const Condition* condition, const std::string& text,
                                   ThreadRef thread) const {
    const jit::BlockContext* block = launch_->context(thread.block);
    const BriefEvaluations brief(session_.pause_is_wanted());
    if (condition != nullptr && block != nullptr) {
        switch (condition->test(*block, thread.thread)) {
            case Condition::Answer::no:
                return {true, false, {}};
            case Condition::Answer::yes:
                return {true, true, {}};
            case Condition::Answer::fails:
                return {false, false, condition->failure(*block, thread.thread)};
            case Condition::Answer::ask:
                break;
        }
    }
    return evaluate_condition(session_.evaluator_for(*launch_), *launch_, thread, text);
}

std::string Control::contradiction_of(const Condition& condition, const std::string& expression) const {
    const jit::BlockContext* block = launch_->context(focus_.block);
    if (block == nullptr || !condition.is_for(*block, focus_.thread)) return {};
    const ConditionResult result =
        evaluate_condition(session_.evaluator_for(*launch_), *launch_, focus_, expression);
    const bool is_of_expression = result.text.starts_with("AttributeError") ||
                                  result.text.starts_with("TypeError") ||
                                  result.text.starts_with("The truth value");
    return !result.ok && is_of_expression ? condition.doubt() + " (Python says: " + result.text + ")" : "";
}

}  // namespace cudasim::debugger
