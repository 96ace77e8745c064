// What a launch with stops (simulator/execution/stop.h) asks of compiled code: before each statement a call
// of the hook `stop`, at which the thread can be held, and variables that lie in memory there.
//
//   early()    a call where a statement begins: where debug information's line changes, and where a loop
//              comes round again, as Python's own line events do. It is the only source of places: images of
//              every front end have statements where they have debug information. The program's own calls of
//              a debugger (image/checks.def: breakpoint) are calls already. And where a function returns a
//              value, a call of the hook `returned` (returned_values.cpp).
//   values()   after inlining: what is assigned at each call, for the table KernelFacts::stops; where each
//              variable is to lie in its function's frame record; the hooks `enter` and `leave` in functions
//              that were not inlined
//   late()     behind each access: whether it is watched (watched_accesses.h)
//   merge_variables()  after captures of faults are in place: the variables move into the record
//
// The record's address goes to the hook, so the optimiser has to store every variable, and all that the
// kernel has written elsewhere, in front of the call, and to load it again behind it. Code that is compiled
// without this has nothing of it.
#pragma once

#include "simulator/jit/lowering.h"

// simulator/execution/device.h includes this file, and with it half of the program, which needs nothing of
// LLVM.
namespace llvm {
class CallInst;
class Instruction;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace cudasim::jit {

[[nodiscard]] const Instrumentation& statement_stops();

/// A call of the hook stop for a statement that begins at the builder's place.
llvm::CallInst* insert_stop(llvm::IRBuilderBase& builder);

/// Where functions return values, a call of the hook `returned` with the address of a copy of the value,
/// which lies as debug information describes the type. Functions whose type it does not tell are left out.
void note_returned_values(Compilation& compilation);

/// The address of a thread's ThreadStop.
llvm::Value* thread_stop(llvm::IRBuilderBase& builder, llvm::Value* context, llvm::Value* thread);

/// A thread begins: its flags come into the context (ThreadContext::flags).
void take_stop_flags(llvm::IRBuilderBase& builder, llvm::Value* context, llvm::Value* thread);

/// What values() does (stop_variables.cpp).
void lay_out_records(Compilation& compilation);

/// Whether the instruction gives a frame record to the engine, by a call of a hook or in
/// ThreadStop::innermost. The engine accesses nothing of it but variables.
[[nodiscard]] bool takes_record(const llvm::Instruction& instruction);

/// Moves variables that values() has given a place into their functions' records. Without
/// the instrumentation: nothing.
void merge_variables(Compilation& compilation);

/// After site_numbering.h: tells the table the sites of the calls that are left.
void number_stop_places(Compilation& compilation);

/// When nothing optimises the code any more: notes in line where the thread is (FrameRecord::place), counts
/// the statement (StatementCount), and calls the hook where a flag says so (ThreadContext::flags) or the
/// count has come to its end. Until then the calls keep variables in memory.
void test_stops_in_line(Compilation& compilation);

}  // namespace cudasim::jit
