// What reports call the memory of C++ programs: by the call that allocated it. An allocation is labelled
// with the function and its return address, "cudaMalloc@0x55d0c0de1234", which costs no look-up; when a
// report is written the line takes its place: "d_a (cudaMalloc at main.cu:12)".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"

namespace cudasim::cuda_cpp {

/// @param function of the runtime API, a word
[[nodiscard]] std::string call_label(std::string_view function, const void* return_address);

/// What a label is made of.
struct LabelledCall {
    std::string function;
    const void* return_address = nullptr;
};
/// nullopt for a text that is no label, or more than one.
[[nodiscard]] std::optional<LabelledCall> labelled_call(std::string_view label);

/// The text with the line in the place of every label in it.
[[nodiscard]] std::string with_lines(std::string_view text);
/// The same in the messages of findings and the names of their memory.
void put_lines(std::vector<findings::Finding>& findings);

/// The variable whose address is the first argument of a call in a line of source: "d_a" for
/// "CHECK(cudaMalloc((void**)&d_a, bytes));". Empty where there is no such call.
/// @param column where the call begins, or the macro around it, from 1; 0: not known, the first call counts
[[nodiscard]] std::string first_argument(std::string_view line, std::string_view function,
                                         std::uint32_t column = 0);

}  // namespace cudasim::cuda_cpp
