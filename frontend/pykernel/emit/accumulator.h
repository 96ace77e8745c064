// A value that a loop of generated code changes from round to round: a sum, the best so far.
#pragma once

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

class Accumulator {
  public:
    Accumulator(FunctionEmitter& emitter, const Emitted& first) : emitter_(emitter), type_(first.type) {
        for (llvm::Value* part : first.parts)
            places_.push_back(emitter.entry_alloca(stored(part->getType()), "accumulated"));
        set(first);
    }

    [[nodiscard]] Emitted get() const {
        Emitted result{type_, {}};
        for (llvm::AllocaInst* place : places_) {
            llvm::Value* loaded = emitter_.builder.CreateLoad(place->getAllocatedType(), place);
            result.parts.push_back(emitter_.from_memory(loaded, type_));
        }
        return result;
    }
    /// Converts to the type of the first value.
    void set(const Emitted& value) {
        const Emitted converted = emitter_.convert(value, type_);
        for (std::size_t i = 0; i < places_.size(); ++i)
            emitter_.builder.CreateStore(emitter_.to_memory(converted.parts[i], type_), places_[i]);
    }

  private:
    [[nodiscard]] llvm::Type* stored(llvm::Type* part) const {
        return part->isIntegerTy(1) ? emitter_.builder.getInt8Ty() : part;
    }

    FunctionEmitter& emitter_;
    TypeRef type_;
    llvm::SmallVector<llvm::AllocaInst*, 2> places_;
};

/// A whole number as a number of the type.
inline Emitted known(FunctionEmitter& emitter, TypeRef type, std::int64_t value) {
    return emitter.convert(emitter.number(emitter.int64(value), emitter.types().int64), type);
}

}  // namespace cudasim::pykernel
