// Inspection's part for memory (inspection.h).
#include <llvm/Support/Base64.h>

#include <charconv>
#include <mutex>

#include "debugger/dap/inspection.h"
#include "debugger/dap/thread_memory.h"
#include "debugger/values/number_text.h"
#include "simulator/memory/arena.h"

namespace cudasim::debugger {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20;

std::uint64_t address_of(const Arguments& arguments) {
    const std::string text = arguments.text("memoryReference");
    std::string_view digits = text;
    const int base = digits.starts_with("0x") ? 16 : 10;
    if (base == 16) digits.remove_prefix(2);
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address, base);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw RequestError("'" + text + "' is no address");
    return address + static_cast<std::uint64_t>(arguments.number_if_there("offset").value_or(0));
}

/// The longest part from the beginning of which a property holds: it holds of what is shorter, too.
template <typename Holds>
std::uint64_t longest(std::uint64_t count, Holds&& holds) {
    if (count == 0 || holds(count)) return count;
    std::uint64_t low = 0, high = count;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (holds(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace

/// What cannot be read at the end is left out and counted.
json::Value Inspection::read_memory(Control& control, const Arguments& arguments) {
    const std::uint64_t address = address_of(arguments), count = arguments.count_or("count", 0);
    if (count > most_bytes)
        throw RequestError("at most " + std::to_string(most_bytes) + " bytes are read at a time");
    const execution::StoppedLaunch& launch = control.launch();
    const auto readable = [&](std::uint64_t size) {
        return launch.accessible(control.focus(), address, size, false);
    };
    std::vector<std::byte> bytes(longest(count, readable));
    if (!bytes.empty() && !launch.read(control.focus(), address, bytes)) bytes.clear();
    json::Object result{{"address", hexadecimal(address)}};
    if (bytes.size() < count) result["unreadableBytes"] = json_number(count - bytes.size());
    if (!bytes.empty())
        result["data"] =
            llvm::encodeBase64(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return result;
}

/// The memory of the device that the program has allocated, and who of the frame's variables lies in it.
json::Value Inspection::allocations(Control& control, const Arguments& arguments) {
    forget_what_is_over(control);
    const Frame here = frame_of(control, arguments);
    std::vector<memory::Allocation> all;
    const execution::Launch& launch = control.launch().launch();
    if (launch.arena != nullptr) {
        const std::lock_guard lock(*launch.arena_mutex);
        launch.arena->for_each_live([&](const memory::Allocation& each) { all.push_back(each); });
    }
    std::vector<std::pair<std::uint64_t, std::string>> arrays;
    const ThreadMemory memory(control.launch(), here.thread);
    if (!here.is_host)
        for (const findings::VariableValue& each : control.launch().variables(here.thread))
            if (each.frame == here.index && !each.is_static)
                if (const Value value = value_of(types_, each, memory); value.array)
                    arrays.emplace_back(value.array->address, each.name);
    json::Array list;
    for (const memory::Allocation& each : all) {
        json::Object described{{"address", hexadecimal(each.address)}, {"bytes", json_number(each.bytes)}};
        if (!each.label.empty()) described["label"] = json_text(each.label);
        if (each.read_only) described["readOnly"] = true;
        if (each.adopted) described["host"] = true;
        json::Array names;
        for (const auto& [address, name] : arrays)
            if (address >= each.address && address - each.address < std::max<std::uint64_t>(each.bytes, 1))
                names.push_back(json_text(name));
        if (!names.empty()) described["variables"] = std::move(names);
        list.push_back(std::move(described));
    }
    return json::Object{{"allocations", std::move(list)}};
}

json::Value Inspection::write_memory(Control& control, const Arguments& arguments) {
    const std::uint64_t address = address_of(arguments);
    std::vector<char> data;
    if (llvm::Error error = llvm::decodeBase64(arguments.text("data"), data)) {
        llvm::consumeError(std::move(error));
        throw RequestError("the data is not base64");
    }
    const execution::StoppedLaunch& launch = control.launch();
    const auto writable = [&](std::uint64_t bytes) {
        return launch.accessible(control.focus(), address, bytes, true);
    };
    const std::uint64_t whole = data.size();
    if (arguments.flag("allowPartial")) data.resize(longest(whole, writable));
    if ((data.empty() && whole != 0) ||
        (!data.empty() && !control.launch().write(control.focus(), address, std::as_bytes(std::span(data)))))
        throw RequestError("the thread may not write " + std::to_string(whole) + " bytes at " +
                           hexadecimal(address));
    return json::Object{{"offset", 0}, {"bytesWritten", json_number(data.size())}};
}

}  // namespace cudasim::debugger
