// The reader of files of records under libFuzzer: `make fuzz`. Half of the inputs are files, half are the
// JSON of a launch, which compression would hide from the fuzzer.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simulator/driver/record_file.h"
#include "simulator/driver/record_text.h"

using cudasim::driver::ChunkList;
using cudasim::driver::Content;
using cudasim::driver::RecordError;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        if (text.starts_with('{')) {
            (void)cudasim::driver::from_json(text, true, [](const ChunkList& list) {
                if (list.bytes > (1 << 16)) throw RecordError("too long");
                return Content(std::string_view(std::string(list.bytes, 'x')));
            });
            return 0;
        }
        const auto bytes = std::as_bytes(std::span(data, size));
        const cudasim::driver::RecordReader reader(std::vector<std::byte>(bytes.begin(), bytes.end()));
        for (std::size_t i = 0; i < reader.launches() && i < 4; ++i) (void)reader.read(i);
    } catch (const RecordError&) {
    }
    return 0;
}
