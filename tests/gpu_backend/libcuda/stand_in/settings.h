// What the stand-in driver is told to be, and to fail at.
//
// The variable CUDASIM_TEST_LIBCUDA has entries separated by semicolons; it is read at every call, so that
// tests in one process can change it:
//
//   cuInit=100               this function does nothing and returns this code
//   missing=cuMemMap         the library has no such symbol; missing=all: it has none
//   version=10020            what cuDriverGetVersion tells; 13000 otherwise
//   devices=2                how many there are; 1 otherwise
//   capabilities=6.1,9.0     compute capabilities of the devices, the last one of all further ones;
//                            9.0 otherwise
//   virtual_memory=0         whether devices have virtual memory management; 1 otherwise
//   crash=cuInit             this function ends the process by SIGSEGV
//   hang=cuInit              this function does not return
//
// Another entry ends the process with a message: a test that is misspelt must not pass.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cudasim::stand_in {

struct Settings {
    std::map<std::string, int> results;  ///< symbol → CUresult
    std::set<std::string> missing;       ///< symbols; "all"
    std::set<std::string> crashing;
    std::set<std::string> hanging;
    int version = 13000;
    int devices = 1;
    std::vector<std::pair<int, int>> capabilities{{9, 0}};
    bool virtual_memory = true;

    [[nodiscard]] bool lacks(const char* symbol) const {
        return missing.contains(symbol) || missing.contains("all");
    }
};

/// From the environment, as it is now.
[[nodiscard]] Settings settings();

}  // namespace cudasim::stand_in
