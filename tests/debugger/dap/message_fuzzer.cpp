// What a client of the debugger may send, under libFuzzer: `make fuzz`. The bytes go through the framing.
// Where an input is one message of JSON without a header, it gets one, which random changes would hardly keep
// right.
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "debugger/dap/adapter.h"
#include "debugger/dap/framing.h"

using cudasim::debugger::Adapter;
using cudasim::debugger::framed;
using cudasim::debugger::MessageReader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto ignored = signal(SIGTERM, SIG_IGN);  // the request `terminate` sends it
    (void)ignored;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::size_t answers = 0;
    Adapter adapter([&](const std::string& message) { answers += message.size(); });
    adapter.begin();
    MessageReader reader;
    const std::string whole = bytes.starts_with('{') ? framed(bytes) : std::string(bytes);
    // In two parts, as a socket may give it.
    const std::size_t first = size == 0 ? 0 : data[size - 1] % (whole.size() + 1);
    for (const std::string_view part :
         {std::string_view(whole).substr(0, first), std::string_view(whole).substr(first)}) {
        reader.add(part);
        for (;;) {
            const MessageReader::Result result = reader.next();
            if (!result.complaint.empty()) adapter.complain(result.complaint);
            if (result.message) adapter.receive(*result.message);
            if (result.broken) return 0;
            if (!result.message && result.complaint.empty()) break;
        }
    }
    return 0;
}
