// See code_places.h.
#include "frontend/pyfiber/code_places.h"

#include "frontend/cpython/code_objects.h"

namespace cudasim::pyfiber {

std::string text_of(PyObject* object) {
    Reference text(object == nullptr ? nullptr : PyObject_Str(object));
    Reference bytes(text ? PyUnicode_AsEncodedString(text.get(), "utf-8", "surrogatepass") : nullptr);
    if (!bytes) {
        PyErr_Clear();
        return {};
    }
    return {PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

findings::SourceLocation source_location(PyCodeObject* code, int instruction) {
    findings::SourceLocation location;
    location.file = text_of(code->co_filename);
    location.function = text_of(code->co_name);
    const cpython::CodeLocation place = cpython::location_in(code, instruction);
    location.line = static_cast<std::uint32_t>(place.line);
    location.column = static_cast<std::uint32_t>(place.column);
    return location;
}

bool is_own(PyCodeObject* code) {
    return text_of(code->co_filename).starts_with(findings::own_code);
}

std::vector<Reference> frames_from(Reference innermost) {
    std::vector<Reference> frames;
    for (Reference frame = std::move(innermost); frame;) {
        auto* here = reinterpret_cast<PyFrameObject*>(frame.get());
        const Reference code(reinterpret_cast<PyObject*>(PyFrame_GetCode(here)));
        Reference caller(reinterpret_cast<PyObject*>(PyFrame_GetBack(here)));
        if (!is_own(reinterpret_cast<PyCodeObject*>(code.get()))) frames.push_back(std::move(frame));
        frame = std::move(caller);
    }
    return frames;
}

findings::CallChain chain_of(const std::vector<Reference>& frames) {
    findings::CallChain chain;
    for (const Reference& frame : frames) {
        auto* here = reinterpret_cast<PyFrameObject*>(frame.get());
        const Reference code(reinterpret_cast<PyObject*>(PyFrame_GetCode(here)));
        chain.push_back(
            source_location(reinterpret_cast<PyCodeObject*>(code.get()), cpython::instruction_of(here)));
    }
    return chain;
}

}  // namespace cudasim::pyfiber
