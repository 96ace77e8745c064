// See statement_stops.h: where statements begin.
#include "simulator/jit/statement_stops.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>
#include <set>
#include <tuple>

#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/source_statements.h"
#include "simulator/jit/watched_accesses.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// A line of a function, and of which inlined copy of it.
using Line = std::tuple<const DISubprogram*, const DILocation*, unsigned>;

/// The line whose statement the instruction belongs to; nothing where it is part of none.
std::optional<Line> line_of(const Instruction& instruction) {
    const DILocation* location = instruction.getDebugLoc().get();
    if (!location || location->getLine() == 0) return std::nullopt;
    if (isa<AllocaInst, DbgInfoIntrinsic>(instruction)) return std::nullopt;
    // Jumps back and out of branches carry the place of what they lead to or away from.
    const auto* branch = dyn_cast<BranchInst>(&instruction);
    if (branch && branch->isUnconditional()) return std::nullopt;
    const DISubprogram* function = location->getScope()->getSubprogram();
    if (StringRef(path_of(location->getFile())).starts_with(findings::own_code)) return std::nullopt;
    return Line{function, location->getInlinedAt(), location->getLine()};
}

/// The first zeros of variables that may be read before they are assigned belong to no statement: the front
/// end puts them into the entry block, at the line where the variable is declared.
bool is_first_zero(const Instruction& instruction) {
    const auto* store = dyn_cast<StoreInst>(&instruction);
    const auto* value = store ? dyn_cast<Constant>(store->getValueOperand()) : nullptr;
    return value && value->isNullValue() && isa<AllocaInst>(store->getPointerOperand()) &&
           store->getParent()->isEntryBlock();
}

class Statements {
  public:
    explicit Statements(Function& function) : function_(function) {}

    void mark() {
        find_prologue();
        find_lines_with_code();
        find_last_lines();
        FindFunctionBackedges(function_, back_edges_);
        for (const auto& [from, to] : back_edges_) loop_heads_.insert(to);
        std::vector<Instruction*> starts;
        for (BasicBlock& block : function_) {
            Line current{};
            bool known = known_before(block, current);
            for (Instruction& instruction : block) {
                const bool is_none = is_first_zero(instruction) || is_none_of_the_source(instruction);
                const auto line = is_none ? std::nullopt : line_of(instruction);
                if (!line) continue;
                const bool is_start = hook_called_by(instruction) == Hook::stop;
                if ((!known || *line != current) && !is_start) starts.push_back(&instruction);
                known = true;
                current = *line;
            }
        }
        std::vector<CallInst*> stops;
        for (Instruction* start : starts) stops.push_back(insert(*start));
        for (CallInst* stop : stops) leave_out_repeated(*stop);
        mark_entries();
    }

  private:
    /// The head of a `for` loop belongs to the statement that has evaluated the range, or to clang's
    /// increment, when the way there ends with the same line: a stop on that way would be a second one at one
    /// statement.
    void leave_out_repeated(CallInst& stop) {
        BasicBlock* head = stop.getParent();
        const auto line = line_of(stop);
        if (!loop_heads_.contains(head) || !line || !is_first_stop(stop)) return;
        SmallSetVector<BasicBlock*, 4> kept, left_out;
        for (BasicBlock* before : predecessors(head))
            (goes_on_with(before, head, *line) ? left_out : kept).insert(before);
        if (left_out.empty() || kept.empty()) return;
        IRBuilder<> builder(SplitBlockPredecessors(head, kept.getArrayRef(), ".statement")->getTerminator());
        builder.SetCurrentDebugLocation(stop.getDebugLoc());
        (void)insert_stop(builder);
        stop.eraseFromParent();
    }

    static bool is_first_stop(const CallInst& stop) {
        const auto first = find_if(*stop.getParent(), [](const Instruction& instruction) {
            return hook_called_by(instruction) == Hook::stop;
        });
        return &*first == &stop;
    }

    /// Whether a thread that comes from there has stopped at this line and at no other since. On the way
    /// round only a stop in that very block counts: a loop on one line stops in each of its rounds.
    bool goes_on_with(BasicBlock* before, const BasicBlock* head, const Line& line) const {
        const auto last = last_.find(before);
        if (last == last_.end() || last->second != line || before == head) return false;
        if (!is_contained(back_edges_, std::pair<const BasicBlock*, const BasicBlock*>(before, head)))
            return true;
        return any_of(*before, [](const Instruction& instruction) {
            return hook_called_by(instruction) == Hook::stop;
        });
    }

    /// Marks the first statement on every way through the function.
    void mark_entries() {
        std::vector<BasicBlock*> work{&function_.getEntryBlock()};
        std::set<const BasicBlock*> seen;
        std::vector<CallInst*> entries;
        while (!work.empty()) {
            BasicBlock* block = work.back();
            work.pop_back();
            if (!seen.insert(block).second) continue;
            const auto stop = find_if(*block, [](const Instruction& instruction) {
                return hook_called_by(instruction) == Hook::stop;
            });
            if (stop != block->end())
                entries.push_back(cast<CallInst>(&*stop));
            else
                work.insert(work.end(), succ_begin(block), succ_end(block));
        }
        for (CallInst* stop : entries) {
            CallInst* entry = loop_heads_.contains(stop->getParent()) ? split_head(*stop) : stop;
            entry->setMetadata(marks::entry, MDNode::get(function_.getContext(), {}));
        }
    }

    /// A loop's head that is the first statement: the way into the loop, and the way round, get a call each.
    /// @return the one on the way in
    CallInst* split_head(CallInst& stop) {
        BasicBlock* head = stop.getParent();
        SmallSetVector<BasicBlock*, 4> into, round;
        for (BasicBlock* before : predecessors(head)) {
            const bool is_round =
                is_contained(back_edges_, std::pair<const BasicBlock*, const BasicBlock*>(before, head));
            (is_round ? round : into).insert(before);
        }
        if (into.empty() || round.empty()) return &stop;
        const auto insert_at = [&](ArrayRef<BasicBlock*> edges, const char* name) {
            IRBuilder<> builder(SplitBlockPredecessors(head, edges, name)->getTerminator());
            builder.SetCurrentDebugLocation(stop.getDebugLoc());
            return insert_stop(builder);
        };
        CallInst* entry = insert_at(into.getArrayRef(), ".into");
        (void)insert_at(round.getArrayRef(), ".round");
        stop.eraseFromParent();
        return entry;
    }

    /// What puts arguments into their variables has the places where debug information declares them, on the
    /// line of the function's head. People expect no statement there.
    void find_prologue() {
        const auto add = [&](const DILocalVariable* variable, const DebugLoc& location) {
            if (variable->getArg() != 0) prologue_.insert(location.get());
        };
        for (Instruction& instruction : instructions(function_)) {
            if (const auto* declare = dyn_cast<DbgDeclareInst>(&instruction))
                add(declare->getVariable(), declare->getDebugLoc());
            for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
                if (record.isDbgDeclare()) add(record.getVariable(), record.getDebugLoc());
        }
    }

    void find_lines_with_code() {
        for (const Instruction& instruction : instructions(function_))
            if (!isa<ReturnInst>(instruction))
                if (const auto line = line_of(instruction)) lines_with_code_.insert(*line);
    }

    /// Arguments that are stored, and the return at the end of a function that has none in its source: front
    /// ends give that the line of the last statement, which is not executed again.
    [[nodiscard]] bool is_none_of_the_source(const Instruction& instruction) const {
        if (instruction.getDebugLoc() && prologue_.contains(instruction.getDebugLoc().get())) return true;
        const auto* end = dyn_cast<ReturnInst>(&instruction);
        if (end == nullptr || end->getReturnValue() != nullptr) return false;
        const auto line = line_of(instruction);
        return line && lines_with_code_.contains(*line);
    }

    /// Blocks without a line of their own hand on what they get.
    void find_last_lines() {
        for (BasicBlock& block : function_) {
            for (const Instruction& instruction : block) {
                if (is_first_zero(instruction) || is_none_of_the_source(instruction)) continue;
                if (const auto line = line_of(instruction)) last_[&block] = *line;
            }
        }
    }

    /// Whether the block goes on with the statement that all blocks before it end in; which one.
    bool known_before(const BasicBlock& block, Line& line) const {
        if (loop_heads_.contains(&block)) return false;
        bool first = true;
        for (const BasicBlock* before : predecessors(&block)) {
            const auto found = last_.find(before);
            if (found == last_.end() || (!first && found->second != line)) return false;
            line = found->second;
            first = false;
        }
        return !first;
    }

    static CallInst* insert(Instruction& start) {
        Instruction* before = isa<PHINode>(start) ? &*start.getParent()->getFirstInsertionPt() : &start;
        IRBuilder<> builder(before);
        builder.SetCurrentDebugLocation(start.getDebugLoc());
        return insert_stop(builder);
    }

    Function& function_;
    std::set<const DILocation*> prologue_;
    std::set<Line> lines_with_code_;
    std::map<const BasicBlock*, Line> last_;
    SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> back_edges_;
    std::set<const BasicBlock*> loop_heads_;
};

class StatementStops final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "statement_stops"; }
    [[nodiscard]] std::uint32_t version() const override { return 13; }

    void early(Compilation& compilation) const override {
        mark_statements(*compilation.module);
        note_returned_values(compilation);
    }
    void values(Compilation& compilation) const override { lay_out_records(compilation); }
    void late(Compilation& compilation) const override { test_watched_accesses(compilation); }
};

const StatementStops instrumentation;

}  // namespace

CallInst* insert_stop(IRBuilderBase& builder) {
    return call_hook(builder, Hook::stop,
                     {ConstantPointerNull::get(builder.getPtrTy()), builder.getInt32(0)});
}

void mark_statements(Module& module) {
    for (Function& function : module)
        if (!function.isDeclaration()) Statements(function).mark();
}

const Instrumentation& statement_stops() {
    return instrumentation;
}

}  // namespace cudasim::jit
