// What the protocol's requests have in common. For this folder's files: everybody else need not know of
// LLVM's JSON.
#pragma once

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "simulator/findings/finding.h"

namespace cudasim::debugger {

namespace json = llvm::json;

/// A request that cannot be done: one sentence for the user.
class RequestError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Text as JSON takes it; what is no UTF-8 is replaced.
[[nodiscard]] inline json::Value json_text(std::string_view text) {
    const llvm::StringRef reference(text.data(), text.size());
    return json::isUTF8(reference) ? reference.str() : json::fixUTF8(reference);
}

[[nodiscard]] inline json::Value json_number(std::uint64_t number) {
    return static_cast<std::int64_t>(number);
}

[[nodiscard]] inline json::Value json_point(const findings::Dim3& point) {
    return json::Array{point.x, point.y, point.z};
}

/// The arguments of a request. What is missing or of another kind throws RequestError.
class Arguments {
  public:
    explicit Arguments(const json::Object* object) : object_(object) {}

    [[nodiscard]] const json::Value* find(llvm::StringRef name) const {
        return object_ != nullptr ? object_->get(name) : nullptr;
    }
    [[nodiscard]] Arguments object(llvm::StringRef name) const {
        return Arguments(object_ != nullptr ? object_->getObject(name) : nullptr);
    }
    [[nodiscard]] const json::Array* array(llvm::StringRef name) const {
        return object_ != nullptr ? object_->getArray(name) : nullptr;
    }
    [[nodiscard]] std::string text(llvm::StringRef name) const {
        const json::Value* value = find(name);
        if (value == nullptr || !value->getAsString())
            throw RequestError("the request needs a text '" + name.str() + "'");
        return value->getAsString()->str();
    }
    [[nodiscard]] std::string text_or(llvm::StringRef name, std::string_view otherwise = {}) const {
        const json::Value* value = find(name);
        if (value == nullptr || !value->getAsString()) return std::string(otherwise);
        return value->getAsString()->str();
    }
    [[nodiscard]] std::optional<std::int64_t> number_if_there(llvm::StringRef name) const {
        const json::Value* value = find(name);
        if (value == nullptr) return std::nullopt;
        if (!value->getAsInteger())
            throw RequestError("'" + name.str() + "' of the request is no whole number");
        return *value->getAsInteger();
    }
    [[nodiscard]] std::int64_t number(llvm::StringRef name) const {
        const auto value = number_if_there(name);
        if (!value) throw RequestError("the request needs a number '" + name.str() + "'");
        return *value;
    }
    /// Of something that is counted: negative numbers are 0.
    [[nodiscard]] std::uint64_t count_or(llvm::StringRef name, std::uint64_t otherwise) const {
        const auto value = number_if_there(name);
        if (!value) return otherwise;
        return *value < 0 ? 0 : static_cast<std::uint64_t>(*value);
    }
    [[nodiscard]] bool flag(llvm::StringRef name, bool otherwise = false) const {
        const json::Value* value = find(name);
        return value != nullptr ? value->getAsBoolean().value_or(otherwise) : otherwise;
    }

  private:
    const json::Object* object_;
};

}  // namespace cudasim::debugger
