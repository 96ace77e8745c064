// See result_writer.h.
#include "gpu_backend/launches/result_writer.h"

#include <utility>

#include "simulator/records/changes.h"

namespace cudasim::gpu_launches {

ResultWriter::ResultWriter(const std::filesystem::path& path)
    : blocks_(path, records::result_format, nullptr) {}

void ResultWriter::add(const driver::LaunchRecord& record, records::GpuResult result,
                       std::span<const std::optional<driver::Content>> after) {
    result.number = record.number;
    result.kernel = record.display_name;
    result.changes.clear();
    if (result.status == records::GpuStatus::ran) {
        std::vector<std::size_t> indices;
        const records::GpuLaunch launch = driver::gpu_launch_of(record, indices);
        for (const std::size_t i : indices) {
            const auto& range = record.memory[i];
            const auto& left = i < after.size() && after[i] ? after[i] : range.after;
            if (!left) throw driver::RecordError("the record does not have the memory after the launch");
            if (left->size() != range.before->size())
                throw driver::RecordError("the memory after the launch is not of its size before it");
            result.changes.push_back(records::changes_between(range.before->bytes(), left->bytes(), blocks_));
        }
    }
    blocks_.add('R', records::to_bytes(result));
}

}  // namespace cudasim::gpu_launches
