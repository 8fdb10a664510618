#include "compiler/transform/distribute.h"

#include <functional>
#include <map>

#include "compiler/transform/cells.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

struct Group {
  SmallVector<unsigned> statements;
  std::optional<RaisePlan> raised;
  std::string reason;
};

class Distributor {
public:
  Distributor(const Nest &nest, ArrayRef<Dependence> dependences,
              ArrayRef<std::optional<Update>> updates, ProofCache &cache)
      : nest(nest), dependences(dependences), updates(updates), cache(cache) {}

  std::vector<PlanNode> plan(ArrayRef<unsigned> statements, unsigned depth) {
    std::vector<Group> groups = order(components(statements, depth), depth);
    // Neighbours that stay loops share them as they did before: merge them and look inside.
    std::vector<Group> merged;
    for (Group &group : groups) {
      bool joins = !merged.empty() && !merged.back().raised && !group.raised &&
                   loopAt(merged.back(), depth) == loopAt(group, depth);
      if (!joins) {
        merged.push_back(std::move(group));
        continue;
      }
      merged.back().statements.append(group.statements);
      if (merged.back().reason.empty())
        merged.back().reason = group.reason;
    }
    std::vector<PlanNode> nodes;
    for (Group &group : merged) {
      llvm::sort(group.statements);
      PlanNode node = makeNode(group, depth);
      if (node.kind == PlanNode::Kind::Scalar && !nodes.empty() &&
          nodes.back().kind == PlanNode::Kind::Scalar) {
        nodes.back().statements.append(node.statements);
        llvm::sort(nodes.back().statements);
        if (nodes.back().reason.empty())
          nodes.back().reason = node.reason;
      } else {
        nodes.push_back(std::move(node));
      }
    }
    return nodes;
  }

private:
  bool isLive(const Dependence &dependence, unsigned depth) const {
    return dependence.isIndependent || dependence.depth >= depth;
  }

  // The loop at `depth` that all statements of the group share.
  std::optional<unsigned> loopAt(const Group &group, unsigned depth) const {
    std::optional<unsigned> loop;
    for (unsigned s : group.statements) {
      const Statement &statement = nest.statements[s];
      if (statement.loops.size() <= depth || (loop && *loop != statement.loops[depth]))
        return std::nullopt;
      loop = statement.loops[depth];
    }
    return loop;
  }

  PlanNode makeNode(Group &group, unsigned depth) {
    PlanNode node{
        PlanNode::Kind::Scalar, depth, group.statements, std::nullopt, 0, {}, group.reason};
    if (group.raised) {
      node.kind = PlanNode::Kind::Raised;
      node.raised = std::move(group.raised);
      return node;
    }
    std::optional<unsigned> loop = loopAt(group, depth);
    bool isPinned = llvm::any_of(group.statements, [&](unsigned s) {
      return nest.statements[s].pinnedDepth && *nest.statements[s].pinnedDepth <= depth;
    });
    if (!loop || isPinned)
      return node;
    node.children = plan(group.statements, depth + 1);
    node.loop = *loop;
    if (node.containsRaised())
      node.kind = PlanNode::Kind::Kept;
    else
      node.children.clear();
    return node;
  }

  std::vector<Group> components(ArrayRef<unsigned> statements, unsigned depth) {
    // Tarjan's algorithm; statements are few and recursion is as deep as they are many.
    std::map<unsigned, unsigned> index, low;
    SmallVector<unsigned> stack;
    std::vector<Group> result;
    unsigned next = 0;
    auto isMember = [&](unsigned s) { return llvm::is_contained(statements, s); };
    std::function<void(unsigned)> connect = [&](unsigned s) {
      index[s] = low[s] = next++;
      stack.push_back(s);
      for (const Dependence &d : dependences) {
        if (d.from != s || d.to == s || !isLive(d, depth) || !isMember(d.to))
          continue;
        if (!index.count(d.to)) {
          connect(d.to);
          low[s] = std::min(low[s], low[d.to]);
        } else if (llvm::is_contained(stack, d.to)) {
          low[s] = std::min(low[s], index[d.to]);
        }
      }
      if (low[s] != index[s])
        return;
      Group group;
      unsigned member;
      do {
        member = stack.pop_back_val();
        group.statements.push_back(member);
      } while (member != s);
      llvm::sort(group.statements);
      result.push_back(std::move(group));
    };
    for (unsigned s : statements)
      if (!index.count(s))
        connect(s);
    for (Group &group : result)
      tryToRaise(group, depth);
    return result;
  }

  void tryToRaise(Group &group, unsigned depth) {
    // What can never be raised has no need of dependences to explain it: those on itself and on
    // its neighbours are assumed, not found.
    for (unsigned s : group.statements)
      if (group.reason.empty())
        group.reason = nest.statements[s].obstacle;
    if (!group.reason.empty())
      return;
    for (const Dependence &d : dependences) {
      bool isInside = llvm::is_contained(group.statements, d.from) &&
                      llvm::is_contained(group.statements, d.to);
      if (!isInside || !isLive(d, depth))
        continue;
      if (d.from == d.to || group.statements.size() > 1) {
        group.reason = explain(d);
        if (!d.isIndependent)
          return;
      }
    }
    if (group.statements.size() > 1)
      return;
    unsigned s = group.statements[0];
    group.raised = planRaise(nest, s, depth, updates[s], cache, group.reason);
    if (group.raised && group.raised->dimensions.empty())
      group.raised.reset();
  }

  // `if x > m: m = x` on floats is no maximum: it passes over a NaN.
  bool isComparedExtremum(unsigned statement) const {
    mlir::Operation *store = nest.statements[statement].op;
    if (!llvm::isa<mlir::affine::AffineStoreOp, mlir::memref::StoreOp>(store))
      return false;
    auto choice = storedValue(store).getDefiningOp<mlir::arith::SelectOp>();
    auto compare = choice ? choice.getCondition().getDefiningOp<mlir::arith::CmpFOp>() : nullptr;
    if (!compare)
      return false;
    mlir::Value yes = choice.getTrueValue(), no = choice.getFalseValue();
    return (compare.getLhs() == yes && compare.getRhs() == no) ||
           (compare.getLhs() == no && compare.getRhs() == yes);
  }

  std::string explain(const Dependence &d) const {
    if (d.from == d.to && isComparedExtremum(d.from))
      return "the comparison on line " + std::to_string(lineOf(nest.statements[d.from].op)) +
             " keeps a maximum or minimum without its NaNs; write max() or min() where NaNs may "
             "win";
    std::string text = d.isIndependent ? "dependence" : "loop-carried dependence";
    if (d.buffer)
      text += " on " + describeBuffer(d.buffer);
    unsigned from = lineOf(nest.statements[d.from].op), to = lineOf(nest.statements[d.to].op);
    if (from == 0 || to == 0)
      return text;
    if (from == to)
      return text + " on line " + std::to_string(from);
    return text + " between lines " + std::to_string(std::min(from, to)) + " and " +
           std::to_string(std::max(from, to));
  }

  // Topological order; among what is ready, first what is of the kind placed last, so that loops
  // that stay meet, then the textual order.
  std::vector<Group> order(std::vector<Group> groups, unsigned depth) {
    std::vector<Group> result;
    SmallVector<bool> placed(groups.size(), false);
    auto groupOf = [&](unsigned s) -> int {
      for (unsigned g = 0; g < groups.size(); ++g)
        if (llvm::is_contained(groups[g].statements, s))
          return g;
      return -1;
    };
    SmallVector<std::pair<int, int>> edges;
    for (const Dependence &d : dependences) {
      if (!isLive(d, depth))
        continue;
      int from = groupOf(d.from), to = groupOf(d.to);
      if (from >= 0 && to >= 0 && from != to)
        edges.push_back({from, to});
    }
    SmallVector<unsigned> sequence;
    while (sequence.size() < groups.size()) {
      std::optional<unsigned> best;
      auto isBetter = [&](unsigned candidate) {
        if (!best)
          return true;
        if (!sequence.empty()) {
          bool last = groups[sequence.back()].raised.has_value();
          bool mine = groups[candidate].raised.has_value() == last;
          bool other = groups[*best].raised.has_value() == last;
          if (mine != other)
            return mine;
        }
        return groups[candidate].statements[0] < groups[*best].statements[0];
      };
      for (unsigned g = 0; g < groups.size(); ++g) {
        bool isReady = !placed[g] && llvm::none_of(edges, [&](auto edge) {
          return edge.second == int(g) && !placed[edge.first];
        });
        if (isReady && isBetter(g))
          best = g;
      }
      placed[*best] = true;
      sequence.push_back(*best);
    }
    for (unsigned g : sequence)
      result.push_back(std::move(groups[g]));
    return result;
  }

  const Nest &nest;
  ArrayRef<Dependence> dependences;
  ArrayRef<std::optional<Update>> updates;
  ProofCache &cache;
};

} // namespace

bool PlanNode::containsRaised() const {
  return kind == Kind::Raised ||
         llvm::any_of(children, [](const PlanNode &child) { return child.containsRaised(); });
}

std::vector<PlanNode> distribute(const Nest &nest, ArrayRef<Dependence> dependences,
                                 ArrayRef<std::optional<Update>> updates, ProofCache &cache) {
  SmallVector<unsigned> all;
  for (unsigned s = 0; s < nest.statements.size(); ++s)
    all.push_back(s);
  return Distributor(nest, dependences, updates, cache).plan(all, 0);
}

} // namespace pyasc
