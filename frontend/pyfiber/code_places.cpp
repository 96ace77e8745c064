// See code_places.h.
#include "frontend/pyfiber/code_places.h"

#include "frontend/cpython/code_objects.h"
#include "frontend/pyfiber/reference.h"

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

}  // namespace cudasim::pyfiber
