// Sources with small changes that let clang take what nvcc takes. The changes are in copies, which a virtual
// file system puts in the place of the user's files for one compilation; names of files and lines stay the
// same.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cuda_cpp/driver/processes.h"

namespace cudasim::nvcc {

/// The place at the start of a line of clang's messages: "a.cu:3:5: error: …".
struct MessagePlace {
    std::string file;
    std::size_t line = 0, column = 0;  ///< from 1
    std::string rest;                  ///< ": error: …"

    [[nodiscard]] static std::optional<MessagePlace> read(const std::string& line);
};

/// A message of clang's with its notes. Each place is the innermost one in a file: its own, or where a macro
/// is defined.
struct Message {
    MessagePlace place;
    std::vector<MessagePlace> notes;

    [[nodiscard]] bool is_error() const {
        return place.rest.starts_with(": error: ") || place.rest.starts_with(": fatal error: ");
    }
};

[[nodiscard]] std::vector<Message> messages_in(const std::string& messages);

enum class Expansions {
    innermost,  ///< one place for each message, the innermost in a file: its own, or where a macro is defined
    all         ///< the message's own place, and those of all macros it is expanded from
};

/// The places of messages with one of these texts ("error: …"), from the last to the first, so that what is
/// inserted at one moves none that comes.
[[nodiscard]] std::vector<MessagePlace> places_of(const std::vector<std::string>& texts,
                                                  const std::string& messages, Expansions expansions);

class PatchedSources {
  public:
    struct Copy {
        std::vector<std::string> original, lines;
        /// For each changed line what was inserted: columns (from 0, in the copy) and numbers of
        /// characters.
        std::map<std::size_t, std::map<std::size_t, std::size_t>> inserted;
        std::string path;

        void insert(std::size_t line, std::size_t column, const std::string& text);
        /// Another character in the place of one.
        void replace(std::size_t line, std::size_t column, char c);
    };

    /// @param folder for the copies
    /// @param name in front of the copies'
    explicit PatchedSources(std::filesystem::path folder, std::string name = "patched")
        : folder_(std::move(folder)), name_(std::move(name)) {}

    /// The same changes in copies of other names, for more changes that are not in these.
    [[nodiscard]] PatchedSources further(const std::string& name) const;

    /// @return the copy of a file as it is now, or nothing if there is no such file
    [[nodiscard]] Copy* copy_of(const std::string& file);

    /// The copy of a place's file; nullptr also where it has no such line.
    [[nodiscard]] Copy* copy_at(const MessagePlace& place);
    /// Writes the copies, for the next compilation.
    void write() const;
    /// What clang needs to read the copies.
    [[nodiscard]] Command options() const;
    /// Messages about the copies as they would be about the user's files: columns and quoted lines.
    [[nodiscard]] std::string of_the_files(const std::string& messages) const;

  private:
    [[nodiscard]] std::string path_of_copy(std::size_t number, const std::string& path) const;

    std::filesystem::path folder_;
    std::string name_;
    std::map<std::string, Copy> copies_;  ///< by their absolute paths
};

/// Whether a name is at a place of a copy, and not what a macro makes one of.
[[nodiscard]] bool is_at_a_name(const PatchedSources::Copy* copy, const MessagePlace& place);

/// Where "S<T>::" in front of a name begins, on its line.
[[nodiscard]] std::size_t start_of_qualified_name(std::string_view text, std::size_t name);

/// Inserts attributes in front of the name that is declared at each place: "int S::f()" has them behind
/// "int".
/// @return whether any place had not got them before
[[nodiscard]] bool add_attributes(PatchedSources& sources, const std::vector<MessagePlace>& places,
                                  const std::string& attributes);

[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

/// `asm("mov.u32 %0, %smid;" : …)`: nvcc takes a single percent sign before a name of PTX, clang needs two.
/// The sign is doubled where clang's messages say so. @return whether there was any
[[nodiscard]] bool double_percent_signs(PatchedSources& sources, const std::string& messages);

/// `__shared__ alignas(16) int a[4];`: `__shared__` is a GNU attribute for clang, behind which C++ allows no
/// `alignas`. C's `_Alignas`, which clang takes there and nvcc does not know, takes its place.
/// @return whether there was any
[[nodiscard]] bool respell_alignas(PatchedSources& sources, const std::string& messages);

/// `kernel<<<{1, 2}, {32, 2}>>>()`: clang takes no braces without a type there. `dim3` is put in front of
/// them. @return whether there was any
[[nodiscard]] bool name_type_of_extents(PatchedSources& sources, const std::string& messages);

/// A function may be declared `__host__ __device__` and defined without, or the other way round: for nvcc it
/// is what all its declarations say, for clang these are several functions. Each gets the attributes of the
/// others. @return whether there was any
[[nodiscard]] bool unite_declarations(PatchedSources& sources, const std::string& messages);

/// A `__host__ __device__` function may call a `__host__` function for nvcc, as long as that is not executed
/// on the device. clang says no if it has to emit the function, as it has to if the function can be called
/// from other files. Such a function is made inline, so that it is emitted only if a kernel needs it.
/// @return whether there was any
[[nodiscard]] bool make_functions_inline(PatchedSources& sources, const std::string& messages);

}  // namespace cudasim::nvcc
