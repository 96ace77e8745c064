// JSON of a record, written and read by one description of its members.
#include "simulator/driver/record_text.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "simulator/driver/launch_options.h"

namespace cudasim::driver {

namespace {

namespace json = llvm::json;

constexpr unsigned deepest = 16;
constexpr std::uint64_t most_elements = 1 << 24;

RecordError wrong(const std::string& what) {
    return RecordError("a launch in the record is malformed: " + what);
}

// -- writing

json::Value text(std::string_view value) {
    const llvm::StringRef reference(value);
    if (json::isUTF8(reference)) return reference.str();
    return json::Object{{"base64", llvm::encodeBase64(reference)}};
}

json::Value extents(const execution::Dim3& dim) {
    return json::Array{dim.x, dim.y, dim.z};
}

json::Value chunk_list(const ChunkList& list) {
    json::Array runs;
    for (const auto& [first, count] : list.runs) runs.push_back(json::Array{first, count});
    return json::Object{{"bytes", list.bytes}, {"chunks", std::move(runs)}};
}

std::string hex(std::uint64_t value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string result;
    for (int shift = 60; shift >= 0; shift -= 4) result += digits[(value >> shift) & 15];
    return result;
}

using Store = std::function<ChunkList(std::span<const std::byte>)>;

json::Value memory_to_json(const RecordedMemory& range, const Store& store) {
    json::Object object{{"address", range.address},
                        {"bytes", range.bytes},
                        {"label", text(range.label)},
                        {"kind", llvm::StringRef(name_of(range.kind))}};
    if (range.read_only) object["read_only"] = true;
    if (range.globals) object["globals"] = true;
    if (range.before) object["before"] = chunk_list(store(range.before->bytes()));
    if (range.after) object["after"] = chunk_list(store(range.after->bytes()));
    if (range.after_hash) object["after_hash"] = hex((*range.after_hash)[1]) + hex((*range.after_hash)[0]);
    return object;
}

json::Value profile_to_json(execution::DeviceProfile profile) {
    json::Object object{{"compute_capability_major", profile.compute_capability_major},
                        {"compute_capability_minor", profile.compute_capability_minor}};
    execution::for_each_field(profile, [&](const char* name, auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<Member, std::string>)
            object[name] = text(member);
        else if constexpr (std::is_same_v<Member, execution::Dim3>)
            object[name] = extents(member);
        else
            object[name] = member;
    });
    return object;
}

json::Value options_to_json(const execution::LaunchOptions& options) {
    json::Object object;
    for (const auto& row : launch_option_table())
        object[llvm::StringRef(row.name)] =
            std::visit([](const auto& value) -> json::Value { return value; }, row.get(options));
    return object;
}

// -- reading

using Fetch = std::function<Content(const ChunkList&)>;

/// A JSON object whose members are asked for by name and type.
class Members {
  public:
    Members(const json::Value* value, std::string name) : name_(std::move(name)) {
        object_ = value != nullptr ? value->getAsObject() : nullptr;
        if (object_ == nullptr) throw wrong("'" + name_ + "' is not an object");
    }
    [[nodiscard]] const json::Value* find(const char* key) const { return object_->get(key); }
    [[nodiscard]] const json::Value& get(const char* key) const {
        if (const auto* value = find(key)) return *value;
        throw wrong("'" + path(key) + "' is missing");
    }
    [[nodiscard]] std::uint64_t number(const char* key, std::uint64_t most = ~std::uint64_t{0}) const {
        return number_in(get(key), path(key), most);
    }
    [[nodiscard]] bool flag(const char* key) const {
        const auto* value = find(key);
        if (value == nullptr) return false;
        if (const auto flag = value->getAsBoolean()) return *flag;
        throw wrong("'" + path(key) + "' is not a bool");
    }
    [[nodiscard]] std::string string(const char* key) const { return string_in(get(key), path(key)); }
    [[nodiscard]] execution::Dim3 extents(const char* key) const {
        const json::Array& parts = array(key);
        if (parts.size() != 3) throw wrong("'" + path(key) + "' has not three extents");
        const auto part = [&](std::size_t i) {
            return static_cast<std::uint32_t>(number_in(parts[i], path(key), ~std::uint32_t{0}));
        };
        return {part(0), part(1), part(2)};
    }
    [[nodiscard]] const json::Array& array(const char* key) const {
        const auto* parts = get(key).getAsArray();
        if (parts == nullptr || parts->size() > most_elements)
            throw wrong("'" + path(key) + "' is not an array");
        return *parts;
    }
    [[nodiscard]] ChunkList chunks(const char* key) const {
        const Members content(&get(key), path(key));
        ChunkList list;
        list.bytes = content.number("bytes", std::uint64_t{1} << 46);
        for (const auto& run : content.array("chunks")) {
            const auto* pair = run.getAsArray();
            if (pair == nullptr || pair->size() != 2)
                throw wrong("'" + path(key) + "' has no list of chunks");
            const auto part = [&](std::size_t i) {
                return static_cast<std::uint32_t>(number_in((*pair)[i], path(key), ~std::uint32_t{0}));
            };
            list.runs.emplace_back(part(0), part(1));
        }
        return list;
    }
    [[nodiscard]] std::string path(const char* key) const {
        return name_.empty() ? std::string(key) : name_ + "." + key;
    }
    static std::uint64_t number_in(const json::Value& value, const std::string& path, std::uint64_t most) {
        const auto number = value.getAsUINT64();
        if (!number || *number > most)
            throw wrong("'" + path + "' is not a number from 0 to " + std::to_string(most));
        return *number;
    }
    static std::string string_in(const json::Value& value, const std::string& path) {
        if (const auto string = value.getAsString()) return string->str();
        const auto* object = value.getAsObject();
        const auto encoded = object != nullptr ? object->getString("base64") : std::nullopt;
        std::vector<char> bytes;
        if (!encoded || errorToBool(llvm::decodeBase64(*encoded, bytes)))
            throw wrong("'" + path + "' is not text");
        return {bytes.begin(), bytes.end()};
    }

  private:
    const json::Object* object_ = nullptr;
    std::string name_;
};

Hash hash_from(const std::string& digits) {
    Hash hash{};
    if (digits.size() != 32) throw wrong("a hash has not 32 digits");
    for (std::size_t i = 0; i < 32; ++i) {
        const unsigned digit = llvm::hexDigitValue(digits[i]);
        if (digit > 15) throw wrong("a hash has other characters than digits");
        auto& half = hash[i < 16 ? 1 : 0];
        half = half << 4 | digit;
    }
    return hash;
}

RecordedMemory memory_from(const json::Value& value, bool with_memory, const Fetch& fetch) {
    const Members members(&value, "memory");
    RecordedMemory range;
    range.address = members.number("address");
    range.bytes = members.number("bytes");
    if (range.bytes == 0 || range.address + range.bytes < range.address)
        throw wrong("an allocation has no possible size");
    range.label = members.string("label");
    const std::string name = members.string("kind");
    const auto kind = memory_kind_of(name);
    if (!kind) throw wrong("memory of kind '" + name + "'");
    range.kind = *kind;
    range.read_only = members.flag("read_only");
    range.globals = members.flag("globals");
    const auto content = [&](const char* key) -> std::optional<Content> {
        if (members.find(key) == nullptr) return std::nullopt;
        const ChunkList list = members.chunks(key);
        if (list.bytes != range.bytes) throw wrong("an allocation's content is not of its size");
        return with_memory ? fetch(list) : Content();
    };
    range.before = content("before");
    range.after = content("after");
    if (members.find("after_hash") != nullptr) range.after_hash = hash_from(members.string("after_hash"));
    return range;
}

/// Limits that the engine divides by, or makes memory of, have to make sense.
void check(const execution::DeviceProfile& profile) {
    const bool sound =
        profile.warp_size == 32 && profile.multiprocessors >= 1 && profile.multiprocessors <= 4096 &&
        profile.max_threads_per_block >= 32 && profile.max_threads_per_block <= 1024 &&
        profile.max_threads_per_multiprocessor >= 32 && profile.max_threads_per_multiprocessor <= 4096 &&
        profile.max_blocks_per_multiprocessor >= 1 && profile.max_blocks_per_multiprocessor <= 4096 &&
        profile.max_block.volume() >= 1 && profile.max_grid.volume() >= 1 &&
        profile.total_memory >= (1 << 20) && profile.total_memory <= (std::uint64_t{1} << 42) &&
        profile.shared_per_block <= (64 << 20) && profile.shared_per_block_optin <= (64 << 20) &&
        profile.shared_per_multiprocessor <= (64 << 20) && profile.shared_reserved_per_block <= (64 << 20) &&
        profile.registers_per_multiprocessor >= 1 && profile.compute_capability_major <= 99 &&
        profile.compute_capability_minor <= 99;
    if (!sound) throw wrong("no device has the limits that 'device' says");
}

execution::DeviceProfile profile_from(const Members& members) {
    execution::DeviceProfile profile;
    profile.compute_capability_major = static_cast<int>(members.number("compute_capability_major", 99));
    profile.compute_capability_minor = static_cast<int>(members.number("compute_capability_minor", 99));
    execution::for_each_field(profile, [&](const char* name, auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        if constexpr (std::is_same_v<Member, std::string>)
            member = members.string(name);
        else if constexpr (std::is_same_v<Member, execution::Dim3>)
            member = members.extents(name);
        else if constexpr (std::is_same_v<Member, bool>)
            member = members.flag(name);
        else
            member = static_cast<Member>(members.number(name, std::numeric_limits<Member>::max()));
    });
    check(profile);
    return profile;
}

execution::LaunchOptions options_from(const json::Value& value) {
    const auto* object = value.getAsObject();
    if (object == nullptr) throw wrong("'options' is not an object");
    execution::LaunchOptions options;
    for (const auto& [key, given] : *object) {
        OptionValue option;
        if (const auto flag = given.getAsBoolean())
            option = *flag;
        else if (const auto whole = given.getAsUINT64())
            option = *whole;
        else if (const auto real = given.getAsNumber())
            option = *real;
        else if (const auto string = given.getAsString())
            option = string->str();
        else
            throw wrong("an option is neither number nor text");
        try {
            set_launch_option(options, std::string_view(llvm::StringRef(key)), option);
        } catch (const OptionError& error) {
            throw wrong(error.what());
        }
    }
    return options;
}

/// Whether brackets are nested deeper than any launch's are: LLVM's parser recurses.
bool too_deep(std::string_view text) {
    unsigned depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (quoted) {
            if (text[i] == '\\')
                ++i;
            else if (text[i] == '"')
                quoted = false;
        } else if (text[i] == '"') {
            quoted = true;
        } else if (text[i] == '{' || text[i] == '[') {
            if (++depth > deepest) return true;
        } else if (text[i] == '}' || text[i] == ']') {
            --depth;
        }
    }
    return false;
}

}  // namespace

std::string to_json(const LaunchRecord& record, const Store& store) {
    json::Array arguments, host_frames, memory;
    for (const auto& argument : record.arguments)
        arguments.push_back(json::Object{{"name", text(argument.name)}, {"type", text(argument.type)}});
    for (const auto& frame : record.host_frames)
        host_frames.push_back(json::Object{
            {"file", text(frame.file)}, {"function", text(frame.function)}, {"line", frame.line}});
    for (const auto& range : record.memory) memory.push_back(memory_to_json(range, store));
    const Outcome& outcome = record.outcome;
    const auto stored = [&](std::string_view content) {
        return chunk_list(store(std::as_bytes(std::span(content))));
    };
    json::Object object{{"version", text(record.version)},
                        {"number", record.number},
                        {"kernel", text(record.kernel)},
                        {"display_name", text(record.display_name)},
                        {"grid", extents(record.configuration.grid)},
                        {"block", extents(record.configuration.block)},
                        {"dynamic_shared_bytes", record.configuration.dynamic_shared_bytes},
                        {"options", options_to_json(record.options)},
                        {"arguments", std::move(arguments)},
                        {"parameters", chunk_list(store(record.parameters))},
                        {"device", profile_to_json(record.device)},
                        {"host_frames", std::move(host_frames)},
                        {"memory_base", record.memory_base},
                        {"memory", std::move(memory)},
                        {"outcome", json::Object{{"finished", outcome.finished},
                                                 {"findings", stored(outcome.findings)},
                                                 {"printed", stored(outcome.printed)},
                                                 {"blocks_run", outcome.blocks_run}}}};
    if (const auto& cluster = record.configuration.cluster) object["cluster"] = extents(*cluster);
    if (record.runs_in_front_end())
        object["front_end"] = chunk_list(store(record.front_end.bytes()));
    else
        object["image"] = chunk_list(store(record.image.bytes()));
    if (record.embedded_image.size() != 0)
        object["embedded_image"] = chunk_list(store(record.embedded_image.bytes()));
    if (record.gpu) object["gpu"] = chunk_list(store(records::to_bytes(*record.gpu)));
    std::string result;
    llvm::raw_string_ostream(result) << json::Value(std::move(object));
    return result;
}

LaunchRecord from_json(std::string_view given, bool with_memory, const Fetch& fetch) {
    if (too_deep(given)) throw wrong("brackets are nested too deeply");
    auto parsed = json::parse(given);
    if (!parsed) throw wrong(llvm::toString(parsed.takeError()));
    const Members members(&*parsed, "");
    LaunchRecord record;
    record.version = members.string("version");
    record.number = members.number("number");
    record.kernel = members.string("kernel");
    record.display_name = members.string("display_name");
    record.configuration = {members.extents("grid"), members.extents("block"),
                            members.number("dynamic_shared_bytes", 64 << 20)};
    if (members.find("cluster") != nullptr) record.configuration.cluster = members.extents("cluster");
    record.options = options_from(members.get("options"));
    for (const auto& each : members.array("arguments")) {
        const Members argument(&each, "arguments");
        record.arguments.push_back({argument.string("name"), argument.string("type")});
    }
    if (members.find("host_frames") != nullptr)  // records of earlier versions have none
        for (const auto& each : members.array("host_frames")) {
            const Members frame(&each, "host_frames");
            record.host_frames.push_back({frame.string("file"), frame.string("function"),
                                          static_cast<std::uint32_t>(frame.number("line", ~std::uint32_t{0})),
                                          0});
        }
    const ChunkList parameters = members.chunks("parameters");
    if (parameters.bytes > (1 << 20)) throw wrong("there are more parameters than a kernel can have");
    const Content bytes = fetch(parameters);
    record.parameters.assign(bytes.bytes().begin(), bytes.bytes().end());
    record.device = profile_from(Members(&members.get("device"), "device"));
    record.memory_base = members.number("memory_base");
    for (const auto& each : members.array("memory"))
        record.memory.push_back(memory_from(each, with_memory, fetch));
    const bool front_end = members.find("front_end") != nullptr;
    (front_end ? record.front_end : record.image) = fetch(members.chunks(front_end ? "front_end" : "image"));
    if (!front_end && record.image.size() == 0) throw wrong("the image is empty");
    if (members.find("embedded_image") != nullptr)
        record.embedded_image = fetch(members.chunks("embedded_image"));
    if (members.find("gpu") != nullptr) record.gpu = records::code_from(fetch(members.chunks("gpu")).bytes());
    const Members outcome(&members.get("outcome"), "outcome");
    record.outcome.finished = outcome.flag("finished");
    record.outcome.blocks_run = outcome.number("blocks_run");
    record.outcome.findings = fetch(outcome.chunks("findings")).text();
    record.outcome.printed = fetch(outcome.chunks("printed")).text();
    return record;
}

}  // namespace cudasim::driver
