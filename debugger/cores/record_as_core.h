// What a debugger writes as a core file while a launch of a record stands, and what it knows of its program.
#pragma once

#include <string>
#include <vector>

#include "debugger/control/core_source.h"
#include "simulator/driver/core_files.h"
#include "simulator/driver/launch_record.h"

namespace cudasim::debugger {

class RecordAsCore final : public CoreSource {
  public:
    /// @param record outlives it
    explicit RecordAsCore(const driver::LaunchRecord& record) : record_(record) {}

    void write(const std::string& path, const std::vector<findings::Finding>& errors) const override {
        driver::write_core(path, record_, errors);
    }
    [[nodiscard]] bool is_recorded() const override { return true; }
    [[nodiscard]] std::vector<findings::SourceLocation> host_frames() const override {
        return record_.host_frames;
    }

  private:
    const driver::LaunchRecord& record_;
};

}  // namespace cudasim::debugger
