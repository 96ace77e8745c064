// How images and cached machine code are written to files: little-endian numbers, texts behind their length.
// Header only. A reader never believes a length: what is not there is a StreamError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::image {

/// The bytes end before what they announce.
struct StreamError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class ByteWriter {
  public:
    void number(std::uint64_t value, unsigned width) {
        for (unsigned i = 0; i < width; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
    void raw(const void* data, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    void text(std::string_view value) {
        number(value.size(), 8);
        raw(value.data(), value.size());
    }
    std::vector<std::byte>& bytes() { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    /// @throws StreamError
    std::span<const std::byte> take(std::uint64_t size) {
        if (size > bytes_.size()) throw StreamError("cut short");
        const auto part = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return part;
    }
    /// @throws StreamError
    std::uint64_t number(unsigned width) {
        std::uint64_t value = 0;
        const auto part = take(width);
        for (unsigned i = 0; i < width; ++i) value |= std::to_integer<std::uint64_t>(part[i]) << (8 * i);
        return value;
    }
    /// @throws StreamError
    std::string text() {
        const auto part = take(number(8));
        return {reinterpret_cast<const char*>(part.data()), part.size()};
    }
    [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace cudasim::image
