// Findings as text for people and as JSON for programs. Writers only format.
#pragma once

#include <span>
#include <string>

#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::findings {

/// "error", "warning" or "note", in every format.
[[nodiscard]] std::string_view word(Severity severity);

/// Whether it is about what the host does, and no thread: is_of_host(), and kinds that only host code has.
[[nodiscard]] bool has_no_thread(const Finding& finding);

/// One finding as a report of several lines: kind, coordinates, message, the source line with a caret,
/// the call chain, the memory object, waiting threads, the command that repeats it. Ends with a newline.
/// @param sources source texts to quote from; a file not among them is read from disk if it is there.
[[nodiscard]] std::string text_report(const Finding& finding, std::span<const image::SourceFile> sources);

/// What a report has besides the exception's message and traceback, which name thread, place and call chain:
/// the kernel, how many other threads, the source line with a caret, the memory object, waiting threads of
/// other blocks.
[[nodiscard]] std::string note_report(const Finding& finding, std::span<const image::SourceFile> sources);

/// {"findings": [...]} with every field of every finding; documented in docs/findings.md.
[[nodiscard]] std::string json_report(std::span<const Finding> findings);
/// One of these objects, on one line.
[[nodiscard]] std::string json_text(const Finding& finding);

}  // namespace cudasim::findings
