// A number that a loop of generated code changes from round to round: a sum, the best so far.
#pragma once

#include "frontend/pykernel/emission.h"

namespace cudasim::pykernel {

class Accumulator {
  public:
    Accumulator(FunctionEmitter& emitter, const Emitted& first)
        : emitter_(emitter),
          type_(first.type),
          place_(emitter.entry_alloca(emitter.module.memory_type(first.type), "accumulated")) {
        set(first);
    }

    [[nodiscard]] Emitted get() const {
        llvm::Value* loaded = emitter_.builder.CreateLoad(place_->getAllocatedType(), place_);
        return emitter_.number(emitter_.from_memory(loaded, type_), type_);
    }
    /// Converts to the type of the first value.
    void set(const Emitted& value) {
        llvm::Value* converted = emitter_.convert(value, type_).value();
        emitter_.builder.CreateStore(emitter_.to_memory(converted, type_), place_);
    }

  private:
    FunctionEmitter& emitter_;
    TypeRef type_;
    llvm::AllocaInst* place_;
};

/// A whole number as a number of the type.
inline Emitted known(FunctionEmitter& emitter, TypeRef type, std::int64_t value) {
    return emitter.convert(emitter.number(emitter.int64(value), emitter.types().int64), type);
}

}  // namespace cudasim::pykernel
