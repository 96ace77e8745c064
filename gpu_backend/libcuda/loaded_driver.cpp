// Copies in the context that owns the memory, which need not be the one that is current in the host thread.
#include "gpu_backend/libcuda/loaded_driver.h"

namespace cudasim::libcuda {

/// Makes the context that owns some memory current in this host thread, and the one before current again at
/// the end.
class LoadedDriver::OwningContext {
  public:
    OwningContext(const LoadedDriver& driver, DevicePointer address) : driver_(driver) {
        const Functions& call = driver.functions_;
        driver.require("cuCtxGetCurrent", call.cuCtxGetCurrent(&before_));
        Context owner = nullptr;
        const Result found = call.cuPointerGetAttribute(&owner, PointerAttribute::context, address);
        if (found != Result::invalid_value) driver.require("cuPointerGetAttribute", found);
        if (owner == nullptr) owner = primary_context_for(address);
        if (owner == before_) return;
        const Result result = call.cuCtxSetCurrent(owner);
        if (result != Result::success) release();
        driver.require("cuCtxSetCurrent", result);
        is_changed_ = true;
    }
    ~OwningContext() {
        if (is_changed_) (void)driver_.functions_.cuCtxSetCurrent(before_);
        release();
    }
    OwningContext(const OwningContext&) = delete;
    OwningContext& operator=(const OwningContext&) = delete;

  private:
    /// Memory that was mapped with cuMemMap, as by PyTorch's expandable segments, belongs to no context: any
    /// of its device does.
    Context primary_context_for(DevicePointer address) {
        const Functions& call = driver_.functions_;
        int ordinal = 0;
        driver_.require("cuPointerGetAttribute",
                        call.cuPointerGetAttribute(&ordinal, PointerAttribute::device_ordinal, address));
        DeviceOrdinal device = 0;
        driver_.require("cuDeviceGet", call.cuDeviceGet(&device, ordinal));
        Context primary = nullptr;
        driver_.require("cuDevicePrimaryCtxRetain", call.cuDevicePrimaryCtxRetain(&primary, device));
        retained_ = device;
        return primary;
    }

    void release() {
        if (retained_) (void)driver_.functions_.cuDevicePrimaryCtxRelease(*retained_);
        retained_.reset();
    }

    const LoadedDriver& driver_;
    Context before_ = nullptr;
    bool is_changed_ = false;
    std::optional<DeviceOrdinal> retained_;
};

LoadedDriver::LoadedDriver(Library library) : library_(std::move(library)) {
    for (const auto& row : function_rows()) row.set(functions_, library_.find(row.symbol));
}

std::optional<LoadedDriver> LoadedDriver::find() {
    auto library = Library::loaded("libcuda.so.1");
    if (!library) return std::nullopt;
    LoadedDriver driver(std::move(*library));
    const Functions& has = driver.functions_;
    const bool is_enough = has.cuPointerGetAttribute != nullptr && has.cuCtxGetCurrent != nullptr &&
                           has.cuCtxSetCurrent != nullptr && has.cuCtxSynchronize != nullptr &&
                           has.cuStreamSynchronize != nullptr && has.cuMemcpyDtoH != nullptr &&
                           has.cuMemcpyHtoD != nullptr && has.cuDeviceGet != nullptr &&
                           has.cuDevicePrimaryCtxRetain != nullptr &&
                           has.cuDevicePrimaryCtxRelease != nullptr;
    if (!is_enough) return std::nullopt;
    return driver;
}

bool LoadedDriver::knows(DevicePointer address) const {
    int device = 0;
    const Result result =
        functions_.cuPointerGetAttribute(&device, PointerAttribute::device_ordinal, address);
    if (result == Result::invalid_value) return false;
    require("cuPointerGetAttribute", result);
    return true;
}

void LoadedDriver::read(std::span<std::byte> to, DevicePointer from, std::span<const Stream> streams) const {
    const OwningContext context(*this, from);
    for (const Stream stream : streams)
        require("cuStreamSynchronize", functions_.cuStreamSynchronize(stream));
    if (streams.empty()) require("cuCtxSynchronize", functions_.cuCtxSynchronize());
    require("cuMemcpyDtoH", functions_.cuMemcpyDtoH(to.data(), from, to.size()));
}

void LoadedDriver::write(DevicePointer to, std::span<const std::byte> from) const {
    const OwningContext context(*this, to);
    require("cuMemcpyHtoD", functions_.cuMemcpyHtoD(to, from.data(), from.size()));
    require("cuCtxSynchronize", functions_.cuCtxSynchronize());
}

void LoadedDriver::require(const char* function, Result result) const {
    if (result == Result::success) return;
    throw CallFailed(result, std::string(function) + " fails with " + text_of(functions_, result));
}

}  // namespace cudasim::libcuda
