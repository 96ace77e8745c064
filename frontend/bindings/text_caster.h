// How text crosses between Python and C++: std::string holds UTF-8 in which surrogates have the three bytes
// that UTF-8's scheme gives them, so every str comes back as it went in. Python has strings with surrogates
// in them: names of files that are not UTF-8 (surrogateescape) and literals such as "\ud800". pybind11's own
// caster refuses those with a message about argument types.
//
// A path for the file system is not passed as text: os.fsencode() it, and pass the bytes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace pybind11::detail {

/// Chosen before pybind11's own partial specialisation. bindings.h includes this file, so all of the
/// extension sees it.
template <>
class type_caster<std::string> : public string_caster<std::string> {
  public:
    bool load(handle source, bool convert) {
        if (string_caster::load(source, convert)) return true;
        if (!source || PyUnicode_Check(source.ptr()) == 0) return false;
        const auto bytes =
            reinterpret_steal<object>(PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogatepass"));
        if (!bytes) {
            PyErr_Clear();
            return false;
        }
        value.assign(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
        return true;
    }

    /// Bytes that are not text at all, as in a path that was passed as bytes, become surrogates as
    /// os.fsdecode() makes them.
    static handle cast(const std::string& text, return_value_policy, handle) {
        const auto size = static_cast<Py_ssize_t>(text.size());
        for (const char* errors : {"strict", "surrogatepass", "surrogateescape"}) {
            if (PyObject* result = PyUnicode_DecodeUTF8(text.data(), size, errors)) return result;
            if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError) == 0) break;
            PyErr_Clear();
        }
        throw error_already_set();
    }
};

}  // namespace pybind11::detail
