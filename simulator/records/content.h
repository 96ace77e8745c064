// Bytes of records, and what is said of records that are wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cudasim::records {

/// The user's error: the launch cannot be recorded, or these bytes are not a record; says why.
struct RecordError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Bytes that several may share; never changed once they are in a record.
class Content {
  public:
    Content() = default;
    /// Allocates `size` bytes without initialising them. @throws std::bad_alloc
    explicit Content(std::uint64_t size);
    explicit Content(std::string_view text);
    /// Shares the bytes, which nobody changes any more.
    Content(std::shared_ptr<std::byte[]> bytes, std::uint64_t size) : data_(std::move(bytes)), size_(size) {}
    [[nodiscard]] std::byte* data() { return data_.get(); }
    [[nodiscard]] const std::byte* data() const { return data_.get(); }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
    [[nodiscard]] std::string_view text() const {
        return {reinterpret_cast<const char*>(data_.get()), size_};
    }

  private:
    std::shared_ptr<std::byte[]> data_;
    std::uint64_t size_ = 0;
};

/// 128 bits of XXH3, low half first.
using Hash = std::array<std::uint64_t, 2>;

}  // namespace cudasim::records
