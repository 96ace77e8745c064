// Inspection's completions: names that an expression may have where the cursor stands.
#include <algorithm>
#include <set>

#include "debugger/dap/inspection.h"
#include "debugger/dap/special_registers.h"
#include "debugger/dap/thread_memory.h"

namespace cudasim::debugger {
namespace {

bool is_of_word(char c) {
    return llvm::isAlnum(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Where the last name of a text begins, "b.mass" and "x[3].ma" included: with what it is a part of.
std::size_t begin_of_path(llvm::StringRef text) {
    std::size_t begin = text.size();
    while (begin > 0) {
        const char c = text[begin - 1];
        if (c == ']') {
            const std::size_t open = text.take_front(begin).rfind('[');
            if (open == llvm::StringRef::npos) break;
            begin = open;
        } else if (is_of_word(c) || c == '.') {
            --begin;
        } else {
            break;
        }
    }
    return begin;
}

/// UTF-16 code units of the characters that begin in a text of UTF-8: what the protocol counts columns in.
std::int64_t units_in(llvm::StringRef text) {
    std::int64_t units = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

/// The part of the text in front of the cursor, in the line that the cursor is in.
llvm::StringRef before_cursor(llvm::StringRef text, std::int64_t line, std::int64_t column) {
    for (; line > 0 && text.contains('\n'); --line) text = text.split('\n').second;
    text = text.split('\n').first;
    std::size_t end = 0;
    while (end < text.size() && units_in(text.take_front(end + 1)) <= column) ++end;
    return text.take_front(end);
}

}  // namespace

json::Value Inspection::completions(Control& control, const Arguments& arguments) {
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    const std::string whole = arguments.text("text");
    const llvm::StringRef text =
        before_cursor(whole, arguments.number_if_there("line").value_or(first_line) - first_line,
                      arguments.number("column") - first_column);
    const llvm::StringRef path = text.drop_front(begin_of_path(text));
    const std::size_t dot = path.rfind('.');
    const llvm::StringRef word = dot == llvm::StringRef::npos ? path : path.drop_front(dot + 1);
    std::vector<std::pair<std::string, const char*>> names;
    if (dot != llvm::StringRef::npos) {
        const auto parent = place(control, here, path.take_front(dot).str());
        const ThreadMemory memory(control.launch(), here.thread);
        if (parent && member_count(parent->value) != 0)
            for (const Part& part : parts_of(parent->value, 0, member_count(parent->value), memory))
                names.emplace_back(part.name, "field");
    } else if (!here.is_host) {
        std::set<std::string> known;
        for (const findings::VariableValue& each : control.launch().variables(here.thread))
            if (each.frame == here.index && known.insert(each.name).second)
                names.emplace_back(each.name, "variable");
        for (const SpecialRegister& each : special_registers(control, here.thread))
            if (known.insert(each.name).second) names.emplace_back(each.name, "variable");
        names.emplace_back("np", "module");
        names.emplace_back("math", "module");
        if (Evaluator* evaluator = control.session().evaluator_for(control.launch()))
            for (const auto& [name, kind] :
                 evaluator->names_around(control.launch(), here.thread, here.index))
                if (known.insert(name).second)
                    names.emplace_back(name, kind == "function" ? "function"
                                             : kind == "module" ? "module"
                                                                : "value");
    }
    std::ranges::sort(names);
    const std::size_t begin = static_cast<std::size_t>(word.data() - whole.data());
    const std::int64_t start = units_in(llvm::StringRef(whole).take_front(begin)) + first_column;
    json::Array targets;
    for (const auto& [name, kind] : names)
        if (llvm::StringRef(name).starts_with(word))
            targets.push_back(json::Object{
                {"label", json_text(name)}, {"type", kind}, {"start", start}, {"length", units_in(word)}});
    return json::Object{{"targets", std::move(targets)}};
}

}  // namespace cudasim::debugger
