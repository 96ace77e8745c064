// What the stand-in driver is told to be, and to fail at.
//
// The variable CUDASIM_TEST_LIBCUDA has entries separated by semicolons; it is read at every call, so that
// tests in one process can change it. `@FILE` in its place names a file with the entries, separated by
// semicolons or lines, for tests of programs with a child process. It is read again when its inode, size or
// time has changed, so tests had better rename a new file over it.
//
// What the driver and its devices are:
//
//   version=10020            what cuDriverGetVersion tells; 13000 otherwise
//   missing=cuMemMap         the library has no such symbol; missing=all: it has none
//   devices=2                how many there are; 1 otherwise
//   capabilities=6.1,9.0     compute capabilities of the devices, the last one of all further ones;
//                            9.0 otherwise
//   memory=268435456         bytes of each device; 24 GiB otherwise
//   virtual_memory=0         whether devices have virtual memory management; 1 otherwise
//   refuse_hints=1           cuMemAddressReserve succeeds at other addresses than those asked for
//   order=reverse            threads and blocks get their turn in this order: forward (otherwise), reverse,
//                            random:SEED
//   shared=poison            shared memory starts as in the simulator, and not as zeros
//   watchdog=500             launches may take so many milliseconds, then they are CUDA_ERROR_LAUNCH_TIMEOUT;
//                            no limit otherwise
//   explain=1                faults of kernels are described on standard error
//
// Failures of calls. Symbols are those of the library: cuMemAlloc_v2. `call` in the place of a symbol is any
// of them. `@N` chooses the N-th call since the entries were last changed; every call otherwise:
//
//   cuInit=100               this function does nothing and returns this code
//   cuMemMap@3=2             so does the third call of this function
//   call@17=999              so does the 17th call of the library
//   call@17=700!             and every later call returns the code, too
//   crash=cuInit             this function ends the process by SIGSEGV
//   hang=cuMemMap@3          this call does not return
//
// What goes wrong in launches. `@N` chooses the N-th launch since the entries were last changed; every launch
// otherwise:
//
//   hang_kernel=1            the kernel runs, and then never ends
//   flip=PLACE               a bit of the device's memory is inverted when the kernel has ended
//   flip@2=PLACE             the same after the second launch only
//   put=PLACE:BYTES          bytes, as pairs of hexadecimal digits, are written when the kernel has ended
//   print=TEXT               the kernel prints this line, too
//
// PLACE is ORIGIN[+BYTES|-BYTES][.BIT], BIT 0 to 7 of the byte (0 otherwise), ORIGIN one of
//
//   0x200000000100           an address
//   p4                       where the kernel's parameter of this index, from 0, points to
//   m0                       the beginning of a mapped range, numbered by ascending address; m0-1 is its last
//                            byte, because a place before a range's beginning counts from its end
//
// Another entry, and a place that is no memory of the device, end the process with a message: a test that is
// misspelt must not pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cudasim::stand_in {

enum class Order { forward, reverse, random };

/// A failure of calls.
struct PlantedCall {
    enum class What { code, crash, hang };
    std::string symbol;       ///< "call": any
    std::uint64_t which = 0;  ///< from 1; 0: every one
    What what = What::code;
    int code = 0;
    bool lasts = false;  ///< every later call returns the code, too
};

/// A byte of the device's memory.
struct Place {
    enum class Origin { address, parameter, mapping };
    Origin origin = Origin::address;
    std::uint64_t number = 0;  ///< the address, or the index
    std::int64_t offset = 0;   ///< bytes
    unsigned bit = 0;
    std::string text;  ///< for messages
};

/// Something that goes wrong in launches.
struct PlantedLaunch {
    enum class What { hang, flip, put, print };
    What what = What::hang;
    std::uint64_t which = 0;  ///< from 1; 0: every one
    Place place;              ///< of flip and put
    std::vector<std::byte> bytes;
    std::string text;
};

struct Settings {
    std::uint64_t edition = 0;  ///< differs for each text that was read
    std::vector<PlantedCall> calls;
    std::vector<PlantedLaunch> launches;
    std::set<std::string> missing;  ///< symbols; "all"
    int version = 13000;
    int devices = 1;
    std::vector<std::pair<int, int>> capabilities{{9, 0}};
    std::uint64_t memory = std::uint64_t{24} << 30;
    bool virtual_memory = true;
    bool refuse_hints = false;
    Order order = Order::forward;
    std::uint64_t seed = 0;  ///< of Order::random
    bool poison_shared = false;
    unsigned watchdog = 0;  ///< milliseconds; 0: none
    bool explain = false;

    [[nodiscard]] bool lacks(const char* symbol) const {
        return missing.contains(symbol) || missing.contains("all");
    }
};

/// As they are now. The reference stays good.
[[nodiscard]] const Settings& settings();

/// Ends the process with a message.
[[noreturn]] void refuse(const std::string& entry, const std::string& reason);

}  // namespace cudasim::stand_in
