// See program_journal.h.
#include "simulator/driver/program_journal.h"

#include <fcntl.h>
#include <llvm/Support/JSON.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "simulator/findings/writers.h"

namespace cudasim::driver {
namespace {

namespace json = llvm::json;

json::Value extents(const execution::Dim3& dim) {
    return json::Array{dim.x, dim.y, dim.z};
}

/// Text in quotes.
std::string quoted(std::string_view text) {
    const llvm::StringRef bytes(text.data(), text.size());
    std::string result;
    llvm::raw_string_ostream stream(result);
    json::OStream(stream).value(json::isUTF8(bytes) ? bytes.str() : json::fixUTF8(bytes));
    return result;
}

/// A finding beside its report, as an element of an array.
std::string with_report(const findings::Finding& finding, const std::string& text) {
    return "[" + findings::json_text(finding) + "," + quoted(text) + "]";
}

}  // namespace

ProgramJournal& ProgramJournal::of_this_process() {
    static ProgramJournal& journal = *new ProgramJournal;
    return journal;
}

void ProgramJournal::open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) throw std::runtime_error(path + ": " + std::generic_category().message(errno));
    descriptor_ = descriptor;
}

void ProgramJournal::write(std::string line) const {
    if (!is_open()) return;
    line += "\n";
    // Whoever reads leaves out a line that was cut off.
    (void)!::write(descriptor_, line.data(), line.size());
}

void ProgramJournal::launch_begins(const Launch& launch) const {
    json::Array frames;
    for (const auto& frame : launch.host_frames)
        frames.push_back(json::Array{frame.file, frame.function, frame.line, frame.column});
    std::string line;
    llvm::raw_string_ostream stream(line);
    json::OStream(stream).value(json::Object{{"begins", launch.number},
                                             {"kernel", launch.kernel},
                                             {"grid", extents(launch.configuration.grid)},
                                             {"block", extents(launch.configuration.block)},
                                             {"shared_bytes", launch.configuration.dynamic_shared_bytes},
                                             {"recorded", launch.recorded},
                                             {"host_frames", std::move(frames)},
                                             {"process", static_cast<std::int64_t>(getpid())}});
    write(std::move(line));
}

void ProgramJournal::launch_ends(std::uint64_t number, std::span<const findings::Finding> findings,
                                 std::span<const image::SourceFile> sources) const {
    std::string found;
    for (const auto& finding : findings)
        found += (found.empty() ? "" : ",") + with_report(finding, findings::text_report(finding, sources));
    write("{\"ends\":" + std::to_string(number) + ",\"process\":" + std::to_string(getpid()) +
          ",\"findings\":[" + found + "]}");
}

void ProgramJournal::host_finding(const findings::Finding& finding, const std::string& text) const {
    write("{\"host\":" + with_report(finding, text) + ",\"process\":" + std::to_string(getpid()) + "}");
}

void ProgramJournal::program_ends() const {
    write("{\"program_ends\":true,\"process\":" + std::to_string(getpid()) + "}");
}

}  // namespace cudasim::driver
