// Special registers (PTX ISA, "Special Registers"): tid and the linear thread index are the kernel body's own
// parameters, elsewhere loads from the context; what is the same for a whole block is an invariant load. The
// optimiser is told that extents and indices are never negative: then fewer checks of indices are left.
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <functional>

#include "simulator/jit/abi.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

class Registers {
  public:
    /// @param stops the code is compiled for stops: a launch that goes back is told the same time again
    Registers(Function& function, bool kernel_body, bool stops)
        : function_(function), head_(function), kernel_(kernel_body), clock_is_hook_(stops) {}

    /// The register's value at `builder`; null for a register we do not know.
    Value* read(Intrinsic::ID id, IRBuilder<>& builder) {
        switch (id) {
            case Intrinsic::nvvm_read_ptx_sreg_tid_x:
                return index(1, offsetof(ThreadContext, tid));
            case Intrinsic::nvvm_read_ptx_sreg_tid_y:
                return index(2, offsetof(ThreadContext, tid) + 4);
            case Intrinsic::nvvm_read_ptx_sreg_tid_z:
                return index(3, offsetof(ThreadContext, tid) + 8);
            case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
                return below(largest_grid_extent, block(offsetof(BlockContext, ctaid)));
            case Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
                return below(largest_grid_extent, block(offsetof(BlockContext, ctaid) + 4));
            case Intrinsic::nvvm_read_ptx_sreg_ctaid_z:
                return below(largest_grid_extent, block(offsetof(BlockContext, ctaid) + 8));
            case Intrinsic::nvvm_read_ptx_sreg_ntid_x:
                return below(largest_block_extent + 1, block(offsetof(BlockContext, ntid)));
            case Intrinsic::nvvm_read_ptx_sreg_ntid_y:
                return below(largest_block_extent + 1, block(offsetof(BlockContext, ntid) + 4));
            case Intrinsic::nvvm_read_ptx_sreg_ntid_z:
                return below(largest_block_extent + 1, block(offsetof(BlockContext, ntid) + 8));
            case Intrinsic::nvvm_read_ptx_sreg_nctaid_x:
                return below(largest_grid_extent + 1, block(offsetof(BlockContext, nctaid)));
            case Intrinsic::nvvm_read_ptx_sreg_nctaid_y:
                return below(largest_grid_extent + 1, block(offsetof(BlockContext, nctaid) + 4));
            case Intrinsic::nvvm_read_ptx_sreg_nctaid_z:
                return below(largest_grid_extent + 1, block(offsetof(BlockContext, nctaid) + 8));
            case Intrinsic::nvvm_read_ptx_sreg_warpsize:
                return builder.getInt32(32);
            case Intrinsic::nvvm_read_ptx_sreg_laneid:
                return lane(builder);
            case Intrinsic::nvvm_read_ptx_sreg_warpid:
                return builder.CreateLShr(linear(), 5);
            case Intrinsic::nvvm_read_ptx_sreg_nwarpid:
                return warps(builder);
            case Intrinsic::nvvm_read_ptx_sreg_smid:
                return block(offsetof(BlockContext, multiprocessor));
            case Intrinsic::nvvm_read_ptx_sreg_nsmid:
                return block(offsetof(BlockContext, multiprocessors));
            case Intrinsic::nvvm_read_ptx_sreg_gridid:
                return block(offsetof(BlockContext, launch_number));
            // In units of clusters.
            case Intrinsic::nvvm_read_ptx_sreg_clusterid_x:
                return in_clusters(builder, offsetof(BlockContext, ctaid), 0);
            case Intrinsic::nvvm_read_ptx_sreg_clusterid_y:
                return in_clusters(builder, offsetof(BlockContext, ctaid), 1);
            case Intrinsic::nvvm_read_ptx_sreg_clusterid_z:
                return in_clusters(builder, offsetof(BlockContext, ctaid), 2);
            case Intrinsic::nvvm_read_ptx_sreg_nclusterid_x:
                return in_clusters(builder, offsetof(BlockContext, nctaid), 0);
            case Intrinsic::nvvm_read_ptx_sreg_nclusterid_y:
                return in_clusters(builder, offsetof(BlockContext, nctaid), 1);
            case Intrinsic::nvvm_read_ptx_sreg_nclusterid_z:
                return in_clusters(builder, offsetof(BlockContext, nctaid), 2);
            case Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_x:
                return block(offsetof(BlockContext, cluster_ctaid));
            case Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_y:
                return block(offsetof(BlockContext, cluster_ctaid) + 4);
            case Intrinsic::nvvm_read_ptx_sreg_cluster_ctaid_z:
                return block(offsetof(BlockContext, cluster_ctaid) + 8);
            case Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_x:
                return block(offsetof(BlockContext, cluster_nctaid));
            case Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_y:
                return block(offsetof(BlockContext, cluster_nctaid) + 4);
            case Intrinsic::nvvm_read_ptx_sreg_cluster_nctaid_z:
                return block(offsetof(BlockContext, cluster_nctaid) + 8);
            case Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank:
                return block(offsetof(BlockContext, cluster_rank));
            case Intrinsic::nvvm_read_ptx_sreg_cluster_nctarank:
                return block(offsetof(BlockContext, cluster_blocks));
            case Intrinsic::nvvm_is_explicit_cluster:
                return builder.CreateIsNotNull(block(offsetof(BlockContext, is_explicit_cluster)));
            case Intrinsic::nvvm_read_ptx_sreg_lanemask_eq:
                return bit(builder);
            case Intrinsic::nvvm_read_ptx_sreg_lanemask_lt:
                return lanes_below(builder);
            case Intrinsic::nvvm_read_ptx_sreg_lanemask_le:
                return builder.CreateOr(lanes_below(builder), bit(builder));
            case Intrinsic::nvvm_read_ptx_sreg_lanemask_ge:
                return builder.CreateNot(lanes_below(builder));
            case Intrinsic::nvvm_read_ptx_sreg_lanemask_gt:
                return builder.CreateNot(builder.CreateOr(lanes_below(builder), bit(builder)));
            case Intrinsic::nvvm_read_ptx_sreg_clock:
                return builder.CreateTrunc(cycles(builder), builder.getInt32Ty());
            case Intrinsic::nvvm_read_ptx_sreg_clock64:
            case Intrinsic::nvvm_read_ptx_sreg_globaltimer:
                return cycles(builder);
            default:
                return nullptr;
        }
    }

  private:
    Type* word() { return Type::getInt32Ty(function_.getContext()); }
    Value* thread(unsigned parameter, unsigned offset) {
        return kernel_ ? function_.getArg(parameter) : head_.thread_field(offset, word());
    }
    /// The index of the thread in its block.
    Value* index(unsigned parameter, unsigned offset) {
        if (!kernel_) return below(largest_block_extent, thread(parameter, offset));
        Argument* argument = function_.getArg(parameter);
        argument->addAttr(Attribute::get(function_.getContext(), Attribute::Range,
                                         ConstantRange(APInt(32, 0), APInt(32, largest_block_extent))));
        return argument;
    }
    /// The load's value is less than `end`.
    Value* below(std::uint32_t end, Value* load) {
        cast<LoadInst>(load)->setMetadata(
            LLVMContext::MD_range,
            MDBuilder(function_.getContext()).createRange(APInt(32, 0), APInt(32, end)));
        return load;
    }
    Value* linear() { return thread(4, offsetof(ThreadContext, thread)); }
    Value* block(unsigned offset) { return head_.block_field(offset, word()); }
    /// The field of an axis, by how many blocks a cluster has along it.
    Value* in_clusters(IRBuilder<>& builder, unsigned offset, unsigned axis) {
        return builder.CreateUDiv(block(offset + 4 * axis),
                                  block(offsetof(BlockContext, cluster_nctaid) + 4 * axis));
    }
    Value* lane(IRBuilder<>& builder) { return builder.CreateAnd(linear(), 31); }
    Value* bit(IRBuilder<>& builder) { return builder.CreateShl(builder.getInt32(1), lane(builder)); }
    Value* lanes_below(IRBuilder<>& builder) { return builder.CreateSub(bit(builder), builder.getInt32(1)); }
    Value* warps(IRBuilder<>& builder) {
        Value* threads = block(offsetof(BlockContext, thread_count));
        return builder.CreateLShr(builder.CreateAdd(threads, builder.getInt32(31)), 5);
    }
    Value* cycles(IRBuilder<>& builder) {
        Value* now = builder.CreateIntrinsic(Intrinsic::readcyclecounter, {}, {});
        return clock_is_hook_ ? call_hook(builder, Hook::clock, {now}) : now;
    }

    Function& function_;
    FunctionContext head_;
    bool kernel_, clock_is_hook_;
};

bool is_clock(Intrinsic::ID intrinsic) {
    return intrinsic == Intrinsic::nvvm_read_ptx_sreg_clock ||
           intrinsic == Intrinsic::nvvm_read_ptx_sreg_clock64 ||
           intrinsic == Intrinsic::nvvm_read_ptx_sreg_globaltimer;
}

}  // namespace

void lower_special_registers(Compilation& compilation) {
    const bool stops = compilation.options.instrumentations.contains(statement_stops());
    for (Function& function : *compilation.module) {
        if (function.isDeclaration()) continue;
        Registers registers(function, &function == compilation.kernel, stops);
        for (Instruction& instruction : make_early_inc_range(instructions(function))) {
            auto* call = dyn_cast<CallInst>(&instruction);
            if (!call || call->getIntrinsicID() == Intrinsic::not_intrinsic || call->arg_size() != 0)
                continue;
            IRBuilder<> builder(call);
            Value* value = registers.read(call->getIntrinsicID(), builder);
            if (!value) continue;
            compilation.reads_clock |= is_clock(call->getIntrinsicID());
            call->replaceAllUsesWith(value);
            call->eraseFromParent();
        }
    }
}

}  // namespace cudasim::jit
