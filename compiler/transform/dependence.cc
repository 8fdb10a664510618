#include "compiler/transform/dependence.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace pyasc {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

SmallVector<unsigned> commonLoops(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
  SmallVector<unsigned> common;
  for (auto [left, right] : llvm::zip(a, b)) {
    if (left != right)
      break;
    common.push_back(left);
  }
  return common;
}

// The instances of two exact accesses that touch one element. Variables of `first` keep their
// numbers; those that vary in the loops of `second` are numbered from nest.getNumVariables() on.
struct ElementPairs {
  System system;
  unsigned offset;

  ElementPairs(const Nest &nest, const Access &first, const Access &second)
      : system(2 * nest.getNumVariables()), offset(nest.getNumVariables()) {
    auto domain = [&](const Access &access) {
      System side(offset);
      nest.addDomain(side, access.loops, access.guards);
      nest.addDivisions(side, access.rows);
      return side;
    };
    System firstDomain = domain(first), secondDomain = domain(second);
    for (const Constraint &constraint : firstDomain.getConstraints())
      system.add(constraint);
    auto rename = [&](const LinearForm &form) {
      LinearForm renamed = LinearForm::ofConstant(form.constant);
      for (unsigned v = 0; v < form.coefficients.size(); ++v)
        if (form.mentions(v))
          renamed.set(nest.varies(v, second.loops) ? v + offset : v, form[v]);
      return renamed;
    };
    for (const Constraint &constraint : secondDomain.getConstraints())
      system.add({rename(constraint.form), constraint.isEquality});
    for (auto [left, right] : llvm::zip(first.rows, second.rows)) {
      if (auto difference = left.plus(rename(right), -1))
        system.addZero(*difference);
      else
        system.poison();
    }
  }

  // second - first - slack, of one loop variable.
  LinearForm advance(unsigned variable, int64_t slack) const {
    LinearForm form = LinearForm::ofConstant(-slack);
    form.set(variable, -1);
    form.set(variable + offset, 1);
    return form;
  }
};

bool isOwnUpdate(const std::optional<Update> &update, const Statement &statement,
                 const Access &access) {
  return update && (access.isWrite || access.op == update->load) &&
         access.memref == statement.accesses[0].memref;
}

class Analysis {
public:
  Analysis(const Nest &nest, ArrayRef<std::optional<Update>> updates, ProofCache &cache)
      : nest(nest), updates(updates), cache(cache) {}

  std::vector<Dependence> run() {
    for (unsigned a = 0; a < nest.statements.size(); ++a)
      for (unsigned b = a; b < nest.statements.size(); ++b) {
        orderOpaque(a, b);
        for (const Access &first : nest.statements[a].accesses)
          for (const Access &second : nest.statements[b].accesses)
            if (first.isWrite || second.isWrite)
              relate(a, b, first, second);
      }
    return std::move(result);
  }

private:
  void add(unsigned from, unsigned to, unsigned depth, bool isIndependent, mlir::Value buffer) {
    for (const Dependence &known : result)
      if (known.from == from && known.to == to && known.depth == depth &&
          known.isIndependent == isIndependent)
        return;
    result.push_back({from, to, depth, isIndependent, buffer});
  }

  // Ops other than stores (checks, calls, inner control flow) keep their order among themselves.
  void orderOpaque(unsigned a, unsigned b) {
    auto isOpaque = [&](unsigned s) {
      return !llvm::isa<mlir::affine::AffineStoreOp, mlir::memref::StoreOp>(nest.statements[s].op);
    };
    if (!isOpaque(a) || !isOpaque(b))
      return;
    const Statement &left = nest.statements[a], &right = nest.statements[b];
    Access first{left.op, {}, true, false, {}, left.loops, {}, left.position};
    Access second{right.op, {}, true, false, {}, right.loops, {}, right.position};
    addAllDepths(a, b, first, second, {});
  }

  void addAllDepths(unsigned a, unsigned b, const Access &first, const Access &second,
                    mlir::Value buffer) {
    unsigned depth = commonLoops(first.loops, second.loops).size();
    for (unsigned d = 0; d < depth; ++d) {
      add(a, b, d, false, buffer);
      add(b, a, d, false, buffer);
    }
    addIndependent(a, b, first, second, depth, buffer);
  }

  void addIndependent(unsigned a, unsigned b, const Access &first, const Access &second,
                      unsigned depth, mlir::Value buffer) {
    if (a == b)
      return;
    if (first.position < second.position)
      add(a, b, depth, true, buffer);
    else
      add(b, a, depth, true, buffer);
  }

  void relate(unsigned a, unsigned b, const Access &first, const Access &second) {
    if (areDistinctBuffers(first.memref, second.memref))
      return;
    const Statement &left = nest.statements[a], &right = nest.statements[b];
    if (a == b && first.isWrite && second.isWrite && left.obstacle.empty())
      return;
    if (updates[a] && updates[b] && updates[a]->combine == updates[b]->combine &&
        updates[a]->type == updates[b]->type && isOwnUpdate(updates[a], left, first) &&
        isOwnUpdate(updates[b], right, second))
      return;
    if (a == b) {
      // A load outside of the inner loops is read again at each instance once it is raised.
      Access wideFirst = first, wideSecond = second;
      wideFirst.loops = wideSecond.loops = left.loops;
      relateElements(a, b, wideFirst, wideSecond);
    } else {
      relateElements(a, b, first, second);
    }
  }

  void relateElements(unsigned a, unsigned b, const Access &first, const Access &second) {
    if (first.memref != second.memref || !first.isExact || !second.isExact)
      return addAllDepths(a, b, first, second, first.memref);
    ElementPairs pairs(nest, first, second);
    if (pairs.system.isProvablyEmpty(cache))
      return;
    SmallVector<unsigned> common = commonLoops(first.loops, second.loops);
    for (unsigned depth = 0; depth < common.size(); ++depth) {
      unsigned variable = nest.loops[common[depth]].variable;
      System later = pairs.system, earlier = pairs.system;
      later.addNonNegative(pairs.advance(variable, 1)); // second runs after first
      if (!later.isProvablyEmpty(cache))
        add(a, b, depth, false, first.memref);
      LinearForm reversed = *pairs.advance(variable, 0).times(-1);
      reversed.constant = -1;
      earlier.addNonNegative(reversed);
      if (!earlier.isProvablyEmpty(cache))
        add(b, a, depth, false, first.memref);
      pairs.system.addZero(pairs.advance(variable, 0));
    }
    if (a != b && !pairs.system.isProvablyEmpty(cache))
      addIndependent(a, b, first, second, common.size(), first.memref);
  }

  const Nest &nest;
  ArrayRef<std::optional<Update>> updates;
  ProofCache &cache;
  std::vector<Dependence> result;
};

} // namespace

std::vector<Dependence>
computeDependences(const Nest &nest, ArrayRef<std::optional<Update>> updates, ProofCache &cache) {
  return Analysis(nest, updates, cache).run();
}

bool isOutermostParallel(const Nest &nest, llvm::function_ref<bool(mlir::Value)> isPrivate,
                         ProofCache &cache) {
  auto meet = [&](const Access &first, const Access &second) {
    if ((!first.isWrite && !second.isWrite) || areDistinctBuffers(first.memref, second.memref))
      return false;
    if (first.memref != second.memref)
      return true;
    if (isPrivate(first.memref))
      return false;
    if (!first.isExact || !second.isExact)
      return true;
    // `second` takes the part of the later iteration; it is asked for both ways round.
    ElementPairs pairs(nest, first, second);
    pairs.system.addNonNegative(pairs.advance(nest.loops[0].variable, 1));
    return !pairs.system.isProvablyEmpty(cache);
  };
  SmallVector<const Access *> accesses;
  for (const Statement &statement : nest.statements) {
    if (!llvm::isa<mlir::affine::AffineStoreOp, mlir::memref::StoreOp>(statement.op))
      return false;
    for (const Access &access : statement.accesses)
      accesses.push_back(&access);
  }
  return llvm::none_of(accesses, [&](const Access *first) {
    return llvm::any_of(accesses, [&](const Access *second) { return meet(*first, *second); });
  });
}

void computePins(Nest &nest, ProofCache &cache) {
  auto isOverwritten = [&](const Statement &user, const Access &load) {
    unsigned depth = load.loops.size();
    for (const Statement &other : nest.statements)
      for (const Access &write : other.accesses) {
        if (!write.isWrite || write.position < load.position ||
            areDistinctBuffers(write.memref, load.memref) ||
            commonLoops(load.loops, write.loops).size() < depth)
          continue;
        bool isAfterUse =
            write.position > user.position && commonLoops(user.loops, write.loops).size() == depth;
        if (isAfterUse)
          continue;
        if (write.memref != load.memref || !write.isExact || !load.isExact)
          return true;
        ElementPairs pairs(nest, load, write);
        for (unsigned loop : load.loops)
          pairs.system.addZero(pairs.advance(nest.loops[loop].variable, 0));
        if (!pairs.system.isProvablyEmpty(cache))
          return true;
      }
    return false;
  };
  for (Statement &statement : nest.statements)
    for (const Access &load : statement.accesses)
      if (!load.isWrite && load.op != statement.op && load.loops.size() < statement.loops.size() &&
          isOverwritten(statement, load))
        statement.pinnedDepth =
            std::min<unsigned>(statement.pinnedDepth.value_or(~0u), load.loops.size());
}

} // namespace pyasc
