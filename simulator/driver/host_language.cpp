// See host_language.h.
#include "simulator/driver/host_language.h"

#include <atomic>

namespace cudasim::driver {
namespace {

std::atomic<HostLanguage*> host{nullptr};

}  // namespace

HostLanguage* HostLanguage::of_this_process() {
    return host.load();
}

void HostLanguage::set(std::unique_ptr<HostLanguage> given) {
    host = given.release();
}

}  // namespace cudasim::driver
