// NVTX for C++ (NVTX documentation, "C++ API"): what programs use of it most, doing nothing, as without a
// profiler.
#ifndef NVTX3_CPP_DEFINITIONS_V1_0
#define NVTX3_CPP_DEFINITIONS_V1_0

#include <cstdint>
#include <string>

#include "nvToolsExt.h"

namespace nvtx3 {
inline namespace v1 {

struct domain {
    struct global {};
};
struct rgb {
    constexpr rgb(std::uint8_t, std::uint8_t, std::uint8_t) noexcept {}
};
struct argb {
    constexpr argb(std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t) noexcept {}
};
struct color {
    constexpr explicit color(std::uint32_t) noexcept {}
    constexpr color(rgb) noexcept {}
    constexpr color(argb) noexcept {}
};
struct category {
    constexpr explicit category(std::uint32_t) noexcept {}
};
template <typename Domain = domain::global>
struct named_category_in {
    constexpr named_category_in(std::uint32_t, const char*) noexcept {}
};
using named_category = named_category_in<>;
template <typename Domain = domain::global>
struct registered_string_in {
    explicit registered_string_in(const char*) noexcept {}
    explicit registered_string_in(const std::string&) noexcept {}
};
using registered_string = registered_string_in<>;
struct payload {
    template <typename T>
    constexpr explicit payload(T) noexcept {}
};
struct message {
    message(const char*) noexcept {}
    message(const std::string&) noexcept {}
    template <typename Domain>
    message(const registered_string_in<Domain>&) noexcept {}
};
struct event_attributes {
    template <typename... Parts>
    explicit event_attributes(const Parts&...) noexcept {}
};
struct range_handle {};

template <typename Domain = domain::global>
class scoped_range_in {
  public:
    template <typename... Parts>
    explicit scoped_range_in(const Parts&...) noexcept {}
    scoped_range_in(const scoped_range_in&) = delete;
    scoped_range_in& operator=(const scoped_range_in&) = delete;
    ~scoped_range_in() {}
};
using scoped_range = scoped_range_in<>;
template <typename Domain = domain::global>
class unique_range_in {
  public:
    template <typename... Parts>
    explicit unique_range_in(const Parts&...) noexcept {}
    unique_range_in(unique_range_in&&) = default;
    unique_range_in& operator=(unique_range_in&&) = default;
    ~unique_range_in() {}
};
using unique_range = unique_range_in<>;

template <typename Domain, typename... Parts>
void mark_in(const Parts&...) noexcept {}
template <typename... Parts>
void mark(const Parts&...) noexcept {}
template <typename Domain, typename... Parts>
range_handle start_range_in(const Parts&...) noexcept {
    return {};
}
template <typename... Parts>
range_handle start_range(const Parts&...) noexcept {
    return {};
}
template <typename Domain>
void end_range_in(range_handle) noexcept {}
inline void end_range(range_handle) noexcept {}

}  // namespace v1
}  // namespace nvtx3

#define NVTX3_FUNC_RANGE() ((void)0)
#define NVTX3_FUNC_RANGE_IN(domain) ((void)0)
#define NVTX3_FUNC_RANGE_IF(condition) ((void)(condition))
#define NVTX3_FUNC_RANGE_IF_IN(domain, condition) ((void)(condition))

#endif
