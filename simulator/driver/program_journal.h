// What a program tells the process that started it of its launches and their findings: `cudasim check`
// reports them when the program has ended, whichever way it did.
//
//   ProgramJournal& journal = ProgramJournal::of_this_process();
//   journal.open(path);
//   journal.launch_begins({.number = 1, .kernel = "add(float*, int)", ...});
//   journal.launch_ends(1, findings, sources);
//
// The file has one JSON object on each line. A line is written by one call, so that those of several
// processes and threads do not mix. docs/cuda_cpp.md does not describe it: its one reader is
// frontend/python/cudasim/cuda_cpp/checked_program.py.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "simulator/execution/device.h"
#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::driver {

class ProgramJournal {
  public:
    struct Launch {
        std::uint64_t number = 0;  ///< from 1
        std::string kernel;        ///< as reports call it
        execution::LaunchConfiguration configuration;
        bool recorded = false;            ///< it is in the file of records
        findings::CallChain host_frames;  ///< of the program's line that launches it; empty: not known
    };

    ProgramJournal() = default;
    ProgramJournal(const ProgramJournal&) = delete;
    ProgramJournal& operator=(const ProgramJournal&) = delete;
    [[nodiscard]] static ProgramJournal& of_this_process();

    /// Appends to the file from now on. @throws std::runtime_error when it cannot be written
    void open(const std::string& path);
    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

    void launch_begins(const Launch& launch) const;
    /// @param sources that the texts of reports quote
    void launch_ends(std::uint64_t number, std::span<const findings::Finding> findings,
                     std::span<const image::SourceFile> sources) const;
    /// What the host has done. @param text the report
    void host_finding(const findings::Finding& finding, const std::string& text) const;
    /// The program has come to its end.
    void program_ends() const;

  private:
    void write(std::string line) const;

    std::atomic<int> descriptor_{-1};
};

}  // namespace cudasim::driver
