// One description of the members for writing and reading (fields()), and the checks of what was read.
#include "simulator/records/gpu_launch.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "simulator/image/byte_stream.h"

namespace cudasim::records {
namespace {

/// Of one list or text. More elements than bytes are refused where they are read.
constexpr std::uint64_t most_elements = most_block_bytes;
constexpr std::uint64_t most_parameter_bytes = 1 << 20;
constexpr std::uint64_t most_shared_bytes = 64 << 20;
/// Of virtual memory, with five levels of pages; sums of addresses and sizes below it do not overflow.
constexpr std::uint64_t end_of_addresses = std::uint64_t{1} << 57;

RecordError wrong(const std::string& what) {
    return RecordError("a launch for a GPU is malformed: " + what);
}

class Writer {
  public:
    template <typename Number>
        requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    void operator()(const Number& value) {
        if constexpr (std::is_same_v<Number, double>)
            stream_.number(std::bit_cast<std::uint64_t>(value), 8);
        else
            stream_.number(static_cast<std::uint64_t>(value), sizeof value);
    }
    void operator()(const std::string& text) { stream_.text(text); }
    void operator()(const std::vector<std::byte>& bytes) {
        stream_.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    template <typename Element>
    void operator()(const std::vector<Element>& list) {
        stream_.number(list.size(), 8);
        for (const Element& each : list) (*this)(each);
    }
    template <typename Element, std::size_t count>
    void operator()(const std::array<Element, count>& list) {
        for (const Element& each : list) (*this)(each);
    }
    template <typename First, typename Second>
    void operator()(const std::pair<First, Second>& pair) {
        (*this)(pair.first);
        (*this)(pair.second);
    }
    template <typename Structure>
        requires std::is_class_v<Structure>
    void operator()(const Structure& structure) {
        fields(*this, structure);
    }
    std::vector<std::byte>& bytes() { return stream_.bytes(); }

  private:
    image::ByteWriter stream_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : stream_(bytes) {}

    template <typename Number>
        requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    void operator()(Number& value) {
        if constexpr (std::is_same_v<Number, double>) {
            value = std::bit_cast<double>(stream_.number(8));
        } else if constexpr (std::is_same_v<Number, bool>) {
            const auto flag = stream_.number(1);
            if (flag > 1) throw wrong("a flag is neither 0 nor 1");
            value = flag == 1;
        } else {
            value = static_cast<Number>(stream_.number(sizeof value));
        }
    }
    void operator()(std::string& text) { text = stream_.text(); }
    void operator()(std::vector<std::byte>& bytes) {
        const auto part = stream_.take(length());
        bytes.assign(part.begin(), part.end());
    }
    template <typename Element>
    void operator()(std::vector<Element>& list) {
        const std::uint64_t size = length();
        list.clear();
        for (std::uint64_t i = 0; i < size; ++i) (*this)(list.emplace_back());
    }
    template <typename Element, std::size_t count>
    void operator()(std::array<Element, count>& list) {
        for (Element& each : list) (*this)(each);
    }
    template <typename First, typename Second>
    void operator()(std::pair<First, Second>& pair) {
        (*this)(pair.first);
        (*this)(pair.second);
    }
    template <typename Structure>
        requires std::is_class_v<Structure>
    void operator()(Structure& structure) {
        fields(*this, structure);
    }
    void end() const {
        if (!stream_.rest().empty()) throw wrong("bytes follow its end");
    }

  private:
    /// Every element takes at least a byte.
    std::uint64_t length() {
        const std::uint64_t size = stream_.number(8);
        if (size > stream_.rest().size() || size > most_elements)
            throw wrong("a list is longer than the rest");
        return size;
    }
    image::ByteReader stream_;
};

template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, ChunkList>
void fields(Stream& stream, Each& list) {
    stream(list.bytes);
    stream(list.runs);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuParameter>
void fields(Stream& stream, Each& parameter) {
    stream(parameter.offset);
    stream(parameter.size);
    stream(parameter.is_address);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuCode>
void fields(Stream& stream, Each& code) {
    stream(code.ptx);
    stream(code.entry);
    stream(code.architecture);
    stream(code.parameters);
    stream(code.cooperative);
    stream(code.has_addresses);
    stream(code.fault_sites);
    stream(code.libdevice);
    stream(code.refusal);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuMemory>
void fields(Stream& stream, Each& range) {
    stream(range.address);
    stream(range.bytes);
    stream(range.label);
    stream(range.holds_addresses);
    stream(range.before);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuLaunch>
void fields(Stream& stream, Each& launch) {
    stream(launch.number);
    stream(launch.kernel);
    stream(launch.code);
    stream(launch.refusal);
    stream(launch.grid);
    stream(launch.block);
    stream(launch.dynamic_shared_bytes);
    stream(launch.parameters);
    stream(launch.memory);
    stream(launch.simulated_error);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuChange>
void fields(Stream& stream, Each& change) {
    stream(change.offset);
    stream(change.content);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, StrayWrite>
void fields(Stream& stream, Each& write) {
    stream(write.address);
    stream(write.bytes);
}
template <typename Stream, typename Each>
    requires std::is_same_v<std::remove_const_t<Each>, GpuResult>
void fields(Stream& stream, Each& result) {
    stream(result.number);
    stream(result.kernel);
    stream(result.status);
    stream(result.code);
    stream(result.function);
    stream(result.message);
    stream(result.gpu);
    stream(result.capability_major);
    stream(result.capability_minor);
    stream(result.driver_major);
    stream(result.driver_minor);
    stream(result.same_addresses);
    stream(result.milliseconds);
    stream(result.load_milliseconds);
    stream(result.printed);
    stream(result.faults);
    stream(result.changes);
    stream(result.stray);
    stream(result.stray_bytes);
}

template <typename Whole>
std::vector<std::byte> written(const Whole& whole) {
    Writer writer;
    fields(writer, whole);
    return std::move(writer.bytes());
}

template <typename Whole>
Whole read(std::span<const std::byte> bytes) {
    try {
        Whole whole;
        Reader reader(bytes);
        fields(reader, whole);
        reader.end();
        return whole;
    } catch (const image::StreamError& error) {
        throw wrong(error.what());
    }
}

void check(const GpuLaunch& launch) {
    for (const auto& extents : {launch.grid, launch.block})
        for (const std::uint32_t extent : extents)
            if (extent == 0) throw wrong("an extent of its grid or block is 0");
    if (launch.dynamic_shared_bytes > most_shared_bytes)
        throw wrong("its " + std::to_string(launch.dynamic_shared_bytes) + " bytes of shared memory");
    if (launch.parameters.size() > most_parameter_bytes)
        throw wrong("it has more parameters than a kernel can have");
    std::uint64_t end = 0;
    for (const GpuMemory& range : launch.memory) {
        if (range.bytes == 0 || range.bytes > end_of_addresses ||
            range.address > end_of_addresses - range.bytes)
            throw wrong("an allocation has no possible size or address");
        if (range.address < end) throw wrong("allocations overlap, or are not in order");
        if (range.before.bytes != 0 && range.before.bytes != range.bytes)
            throw wrong("an allocation's content is not of its size");
        end = range.address + range.bytes;
    }
}

void check(const GpuResult& result) {
    if (result.status > GpuStatus::lost) throw wrong("a result has no known status");
    if (!(result.milliseconds >= 0 && result.milliseconds < 1e15)) throw wrong("a result's time is no time");
    for (const auto& changes : result.changes) {
        std::uint64_t end = 0;
        for (const GpuChange& change : changes) {
            if (change.offset < end || change.offset + change.content.bytes < change.offset)
                throw wrong("changes of memory overlap, or are not in order");
            end = change.offset + change.content.bytes;
        }
    }
}

}  // namespace

std::string_view name_of(GpuStatus status) {
    switch (status) {
        case GpuStatus::ran:
            return "ran";
        case GpuStatus::refused:
            return "refused";
        case GpuStatus::failed:
            return "failed";
        case GpuStatus::faulted:
            return "faulted";
        case GpuStatus::timed_out:
            return "timed-out";
        case GpuStatus::lost:
            return "lost";
    }
    return "unknown";
}

std::vector<std::byte> to_bytes(const GpuCode& code) {
    return written(code);
}

GpuCode code_from(std::span<const std::byte> bytes) {
    auto code = read<GpuCode>(bytes);
    // The driver takes texts that end with 0.
    for (const std::string* text : {&code.ptx, &code.entry})
        if (text->find('\0') != std::string::npos) throw wrong("its code has a character 0");
    return code;
}

void check_together(const GpuLaunch& launch, const GpuCode& code) {
    for (const GpuParameter& parameter : code.parameters) {
        if (parameter.offset > launch.parameters.size() ||
            parameter.size > launch.parameters.size() - parameter.offset)
            throw wrong("a parameter lies outside of the parameters' bytes");
        if (parameter.is_address && parameter.size != 8) throw wrong("an address has not eight bytes");
    }
}

std::vector<std::byte> to_bytes(const GpuLaunch& launch) {
    return written(launch);
}

GpuLaunch launch_from(std::span<const std::byte> bytes) {
    auto launch = read<GpuLaunch>(bytes);
    check(launch);
    return launch;
}

std::vector<std::byte> to_bytes(const GpuResult& result) {
    return written(result);
}

GpuResult result_from(std::span<const std::byte> bytes) {
    auto result = read<GpuResult>(bytes);
    check(result);
    return result;
}

}  // namespace cudasim::records
