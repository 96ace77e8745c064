// See record_file.h.
#include "simulator/driver/record_file.h"

#include <utility>

#include "simulator/driver/record_text.h"

namespace cudasim::driver {

RecordWriter::RecordWriter(std::filesystem::path path)
    : blocks_(std::move(path), records::launch_format, &hash_of) {}

void RecordWriter::add(const LaunchRecord& record) {
    std::map<const std::byte*, ChunkList> stored;  // of memory, which both blocks name
    const std::string json = to_json(record, [&](std::span<const std::byte> bytes) {
        ChunkList list = blocks_.chunks(bytes);
        stored.insert_or_assign(bytes.data(), list);
        return list;
    });
    blocks_.add('L', std::as_bytes(std::span(json)));
    if (!record.gpu) return;
    std::vector<std::size_t> indices;
    records::GpuLaunch launch = gpu_launch_of(record, indices);
    for (std::size_t i = 0; i < indices.size(); ++i)
        launch.memory[i].before = stored.at(record.memory[indices[i]].before->data());
    launch.code = blocks_.chunks(records::to_bytes(*record.gpu));
    blocks_.add('G', records::to_bytes(launch));
}

void RecordWriter::close() {
    blocks_.close();
}

RecordReader::RecordReader(const std::filesystem::path& path) : blocks_(path, records::launch_format) {}

RecordReader::RecordReader(std::vector<std::byte> bytes)
    : blocks_(std::move(bytes), records::launch_format) {}

LaunchRecord RecordReader::read(std::size_t index, bool with_memory) const {
    const Content json = blocks_.read('L', index);
    return from_json(json.text(), with_memory, [&](const ChunkList& list) { return blocks_.content(list); });
}

}  // namespace cudasim::driver
