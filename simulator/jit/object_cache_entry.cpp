// The form of a cache entry. One function names the members of each struct, for writing and for reading; it
// binds them all, so a member that is added and not named here does not compile.
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/BLAKE3.h>

#include <concepts>
#include <cstring>

#include "simulator/image/byte_stream.h"
#include "simulator/jit/object_cache.h"

namespace cudasim::jit {
namespace {

constexpr std::string_view magic = "CUDASIMK";
constexpr std::uint32_t version = 5;
constexpr std::size_t checksum_bytes = 32;

/// Stream::operator() with each member of a struct in turn.
template <class Stream>
void members(Stream& stream, findings::SourceLocation& location) {
    auto& [file, function, line, column] = location;
    stream(file, function, line, column);
}

template <class Stream>
void members(Stream& stream, GlobalVariable& variable) {
    auto& [name, symbol, offset, bytes, constant, initialised, location] = variable;
    stream(name, symbol, offset, bytes, constant, initialised, location);
}

template <class Stream>
void members(Stream& stream, Relocation& relocation) {
    auto& [offset, target] = relocation;
    stream(offset, target);
}

template <class Stream>
void members(Stream& stream, GlobalsLayout& layout) {
    auto& [variables, initial, relocations, bytes] = layout;
    stream(variables, initial, relocations, bytes);
}

template <class Stream>
void members(Stream& stream, SharedVariable& variable) {
    auto& [name, offset, bytes, element_bytes, element_type, extents] = variable;
    stream(name, offset, bytes, element_bytes, element_type, extents);
}

template <class Stream>
void members(Stream& stream, ExceptionText& text) {
    auto& [type, message] = text;
    stream(type, message);
}

template <class Stream>
void members(Stream& stream, ResumePoint& point) {
    auto& [site, kind, in_warp, warp_kind] = point;
    stream(site, kind, in_warp, warp_kind);
}

template <class Stream>
void members(Stream& stream, CapturedPart& part) {
    auto& [offset, bytes, source, value] = part;
    stream(offset, bytes, source, value);
}

template <class Stream>
void members(Stream& stream, CapturedVariable& variable) {
    auto& [name, type, bytes, frame, argument, element_bytes, dimensions, is_static, is_global, parts] =
        variable;
    stream(name, type, bytes, frame, argument, element_bytes, dimensions, is_static, is_global, parts);
}

template <class Stream>
void members(Stream& stream, CapturePlace& place) {
    auto& [site, variables] = place;
    stream(site, variables);
}

template <class Stream>
void members(Stream& stream, Captures& captures) {
    auto& [types, variables, places] = captures;
    stream(types, variables, places);
}

template <class Stream>
void members(Stream& stream, StopPlace& place) {
    auto& [site, frames, is_breakpoint, is_entry] = place;
    stream(site, frames, is_breakpoint, is_entry);
}

template <class Stream>
void members(Stream& stream, Stops& stops) {
    auto& [types, frames, places, arguments, returns] = stops;
    stream(types, frames, places, arguments, returns);
}

template <class Stream>
void members(Stream& stream, ParameterUse& use) {
    auto& [unchecked, written] = use;
    stream(unchecked, written);
}

template <class Stream>
void members(Stream& stream, KernelFacts& facts) {
    auto& [name, head, is_cplusplus, waits, cooperative, prints, reads_clock, uses_shadow, recursive,
           frame_bytes, resume_points, coroutine_frame_bytes, parameter_bytes, static_shared_bytes,
           dynamic_shared_offset, shared_variables, sites, skippable_sites, exceptions, captures, stops,
           parameter_use, globals] = facts;
    stream(name, head, is_cplusplus, waits, cooperative, prints, reads_clock, uses_shadow, recursive,
           frame_bytes, resume_points, coroutine_frame_bytes, parameter_bytes, static_shared_bytes,
           dynamic_shared_offset, shared_variables, sites, skippable_sites, exceptions, captures, stops,
           parameter_use, globals);
}

class Save {
  public:
    explicit Save(image::ByteWriter& writer) : writer_(writer) {}
    template <class... Members>
    void operator()(Members&... each) {
        (save(each), ...);
    }

  private:
    void save(std::string& text) { writer_.text(text); }
    void save(std::shared_ptr<const GlobalsLayout>& globals) {
        GlobalsLayout copy = globals ? *globals : GlobalsLayout();
        save(copy);
    }
    void save(std::vector<std::byte>& bytes) {
        writer_.number(bytes.size(), 8);
        writer_.raw(bytes.data(), bytes.size());
    }
    template <class Element>
    void save(std::vector<Element>& list) {
        writer_.number(list.size(), 8);
        for (Element& element : list) save(element);
    }
    template <class Value>
    void save(Value& value) {
        if constexpr (std::unsigned_integral<Value>)
            writer_.number(value, sizeof value);
        else if constexpr (std::is_enum_v<Value>)
            writer_.number(static_cast<std::uint64_t>(value), sizeof value);
        else
            members(*this, value);
    }

    image::ByteWriter& writer_;
};

class Load {
  public:
    explicit Load(image::ByteReader& reader) : reader_(reader) {}
    template <class... Members>
    void operator()(Members&... each) {
        (load(each), ...);
    }

  private:
    void load(std::string& text) { text = reader_.text(); }
    void load(std::shared_ptr<const GlobalsLayout>& globals) {
        auto layout = std::make_shared<GlobalsLayout>();
        load(*layout);
        globals = std::move(layout);
    }
    void load(std::vector<std::byte>& bytes) {
        const auto part = reader_.take(reader_.number(8));
        bytes.assign(part.begin(), part.end());
    }
    template <class Element>
    void load(std::vector<Element>& list) {
        for (std::uint64_t count = reader_.number(8); count > 0; --count) load(list.emplace_back());
    }
    template <class Value>
    void load(Value& value) {
        if constexpr (std::unsigned_integral<Value> || std::is_enum_v<Value>)
            value = static_cast<Value>(reader_.number(sizeof value));
        else
            members(*this, value);
    }

    image::ByteReader& reader_;
};

std::array<std::uint8_t, checksum_bytes> checksum_of(std::span<const std::byte> payload) {
    return llvm::BLAKE3::hash(
        llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()));
}

}  // namespace

std::vector<std::byte> write_entry(const std::string& key, const KernelFacts& facts,
                                   std::string_view object) {
    image::ByteWriter payload;
    payload.text(key);
    KernelFacts copy = facts;
    Save save(payload);
    members(save, copy);
    payload.text(object);
    const auto checksum = checksum_of(payload.bytes());
    image::ByteWriter whole;
    whole.raw(magic.data(), magic.size());
    whole.number(version, 4);
    whole.number(0, 4);
    whole.raw(checksum.data(), checksum.size());
    whole.raw(payload.bytes().data(), payload.bytes().size());
    return std::move(whole.bytes());
}

std::optional<CachedKernel> read_entry(const std::string& key, std::span<const std::byte> bytes) try {
    image::ByteReader reader(bytes);
    if (std::memcmp(reader.take(magic.size()).data(), magic.data(), magic.size()) != 0) return std::nullopt;
    if (reader.number(4) != version || reader.number(4) != 0) return std::nullopt;
    const auto stored = reader.take(checksum_bytes);
    const auto actual = checksum_of(reader.rest());
    if (std::memcmp(stored.data(), actual.data(), checksum_bytes) != 0) return std::nullopt;
    if (reader.text() != key) return std::nullopt;
    CachedKernel kernel;
    Load load(reader);
    members(load, kernel.facts);
    const auto object = reader.take(reader.number(8));
    if (!reader.rest().empty()) return std::nullopt;
    const auto* first = reinterpret_cast<const char*>(object.data());
    kernel.object.assign(first, first + object.size());
    return kernel;
} catch (const image::StreamError&) {
    return std::nullopt;
}

}  // namespace cudasim::jit
