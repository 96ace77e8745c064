// See statement_stops.h: where statements begin.
#include "simulator/jit/statement_stops.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <set>
#include <tuple>

#include "simulator/jit/hook_calls.h"
#include "simulator/jit/source_places.h"

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
        find_last_lines();
        SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> edges;
        FindFunctionBackedges(function_, edges);
        for (const auto& [from, to] : edges) loop_heads_.insert(to);
        std::vector<Instruction*> starts;
        for (BasicBlock& block : function_) {
            Line current{};
            bool known = known_before(block, current);
            for (Instruction& instruction : block) {
                const auto line = is_first_zero(instruction) ? std::nullopt : line_of(instruction);
                if (!line) continue;
                if (!known || *line != current) starts.push_back(&instruction);
                known = true;
                current = *line;
            }
        }
        for (Instruction* start : starts) insert(*start);
    }

  private:
    /// Blocks without a line of their own hand on what they get.
    void find_last_lines() {
        for (BasicBlock& block : function_) {
            for (const Instruction& instruction : block)
                if (const auto line = line_of(instruction)) last_[&block] = *line;
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

    static void insert(Instruction& start) {
        Instruction* before = isa<PHINode>(start) ? &*start.getParent()->getFirstInsertionPt() : &start;
        IRBuilder<> builder(before);
        builder.SetCurrentDebugLocation(start.getDebugLoc());
        call_hook(builder, Hook::stop, {ConstantPointerNull::get(builder.getPtrTy()), builder.getInt32(0)});
    }

    Function& function_;
    std::map<const BasicBlock*, Line> last_;
    std::set<const BasicBlock*> loop_heads_;
};

class StatementStops final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "statement_stops"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }

    void early(Compilation& compilation) const override {
        for (Function& function : *compilation.module) {
            if (!function.isDeclaration()) Statements(function).mark();
        }
    }
    void values(Compilation& compilation) const override { lay_out_records(compilation); }
};

}  // namespace

const Instrumentation& statement_stops() {
    static const StatementStops instrumentation;
    return instrumentation;
}

}  // namespace cudasim::jit
