// Writes what a GPU made of launches that it ran by itself, not through cudasim-gpu-run, in the form of that
// program's files.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "simulator/driver/launch_record.h"
#include "simulator/records/blocks.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::gpu_launches {

class ResultWriter {
  public:
    /// @throws driver::RecordError where the file cannot be written
    explicit ResultWriter(const std::filesystem::path& path);

    /// Adds the result of one launch. What is not known of the memory after it is taken from the record,
    /// as the simulator left it, so that it does not differ.
    /// @param record with memory after the launch
    /// @param result its number, kernel and changes are set here, from the record and `after`
    /// @param after for each of record.memory what the GPU left there; nullopt where that is not known.
    ///     Not used where the launch did not run to its end.
    /// @throws driver::RecordError where a content is not of the size of its allocation, the record has no
    ///     memory after the launch, or the file cannot be written
    void add(const driver::LaunchRecord& record, records::GpuResult result,
             std::span<const std::optional<driver::Content>> after);

    /// Ends the file. @throws driver::RecordError
    void close() { blocks_.close(); }

  private:
    records::BlockWriter blocks_;
};

}  // namespace cudasim::gpu_launches
