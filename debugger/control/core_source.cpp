// See core_source.h.
#include "debugger/control/core_source.h"

#include <utility>

namespace cudasim::debugger {
namespace {

thread_local const CoreSource* offered = nullptr;

}  // namespace

const CoreSource* CoreSource::of_this_thread() {
    return offered;
}

CoreSource::OfThisThread::OfThisThread(const CoreSource& source) : before_(std::exchange(offered, &source)) {}

CoreSource::OfThisThread::~OfThisThread() {
    offered = before_;
}

}  // namespace cudasim::debugger
