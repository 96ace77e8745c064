// The readers of what goes to a GPU and comes back under libFuzzer: `make fuzz`. The first byte of an input
// chooses the reader, the rest is what is read: a launch, a kernel's code, a result, or a file of either
// kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "simulator/records/gpu_launch.h"

namespace {

using namespace cudasim::records;
using Bytes = std::vector<std::byte>;

/// What was read is written as it was.
template <typename Whole>
void expect_same(const Whole& whole, std::span<const std::byte> bytes) {
    const Bytes written = to_bytes(whole);
    if (!std::equal(written.begin(), written.end(), bytes.begin(), bytes.end())) std::abort();
}

void read_file(Bytes bytes, const FileFormat& format, char kind) {
    const BlockReader reader(std::move(bytes), format);
    for (std::size_t i = 0; i < reader.count(kind) && i < 4; ++i) {
        const Content block = reader.read(kind, i);
        if (kind == 'R') {
            for (const auto& changes : result_from(block.bytes()).changes)
                for (const GpuChange& change : changes)
                    if (change.content.bytes < (1 << 20)) (void)reader.content(change.content);
            continue;
        }
        const GpuLaunch launch = launch_from(block.bytes());
        if (launch.code.bytes < (1 << 20))
            check_together(launch, code_from(reader.content(launch.code).bytes()));
        for (const GpuMemory& range : launch.memory)
            if (range.before.bytes < (1 << 20)) (void)reader.content(range.before);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    try {
        switch (data[0]) {
            case 'l':
                expect_same(launch_from(bytes), bytes);
                break;
            case 'c':
                expect_same(code_from(bytes), bytes);
                break;
            case 'r':
                expect_same(result_from(bytes), bytes);
                break;
            case 'G':
                read_file(Bytes(bytes.begin(), bytes.end()), launch_format, 'G');
                break;
            case 'R':
                read_file(Bytes(bytes.begin(), bytes.end()), result_format, 'R');
                break;
            default:
                break;
        }
    } catch (const RecordError&) {
    }
    return 0;
}
