#include "compiler/transform/raise_plan.h"

#include <numeric>

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace pyasc {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

LinearForm varyingPart(const Nest &nest, ArrayRef<unsigned> inner, const LinearForm &form) {
  return form.restrictedTo([&](unsigned v) { return nest.varies(v, inner); });
}

// Divides by the common factor of the coefficients; returns it.
int64_t makePrimitive(LinearForm &form) {
  int64_t gcd = 0;
  for (int64_t coefficient : form.coefficients)
    gcd = std::gcd(gcd, coefficient);
  if (gcd > 1)
    for (int64_t &coefficient : form.coefficients)
      coefficient /= gcd;
  return gcd;
}

// Writes `target` as an integer combination of `basis` by elimination on coefficients +-1.
std::optional<SmallVector<int64_t>> solve(ArrayRef<LinearForm> basis, LinearForm target) {
  struct Pivot {
    LinearForm form;                  // a combination of the basis
    SmallVector<int64_t> combination; // which one
    unsigned variable;
  };
  std::vector<Pivot> pivots;
  SmallVector<int64_t> none(basis.size(), 0);
  auto reduce = [&](LinearForm &form, SmallVector<int64_t> &combination) {
    for (const Pivot &pivot : pivots) {
      int64_t factor = form[pivot.variable] * pivot.form[pivot.variable];
      if (factor == 0)
        continue;
      auto reduced = form.plus(pivot.form, -factor);
      if (!reduced)
        return false;
      form = *reduced;
      for (size_t i = 0; i < combination.size(); ++i)
        combination[i] -= factor * pivot.combination[i];
    }
    return true;
  };
  for (size_t b = 0; b < basis.size(); ++b) {
    LinearForm form = basis[b];
    SmallVector<int64_t> combination = none;
    combination[b] = 1;
    if (!reduce(form, combination))
      return std::nullopt;
    for (unsigned v = 0; v < form.coefficients.size(); ++v)
      if (form[v] == 1 || form[v] == -1) {
        pivots.push_back({form, combination, v});
        break;
      }
  }
  // Later pivots may bring earlier variables back: repeat until nothing changes.
  SmallVector<int64_t> combination = none;
  for (size_t round = 0; round <= pivots.size() && !target.isConstant(); ++round)
    if (!reduce(target, combination))
      return std::nullopt;
  if (!target.isConstant())
    return std::nullopt;
  for (int64_t &factor : combination)
    factor = -factor;
  return combination;
}

SmallVector<LinearForm> formsOf(const RaisePlan &plan) {
  SmallVector<LinearForm> forms;
  for (const RaisedDimension &dimension : plan.dimensions)
    forms.push_back(dimension.form);
  return forms;
}

// Builds one plan; the members are what its steps share.
class Planner {
public:
  // `windows`: an index that is read may be a sum of dimensions, as in x[h + i] * w[i].
  Planner(const Nest &nest, RaisePlan &plan, ProofCache &cache, std::string &reason, bool windows)
      : nest(nest), statement(nest.statements[plan.statement]), plan(plan), cache(cache),
        reason(reason), windows(windows), inner(innerLoops(nest, plan)) {}

  // Whether the plan failed for an index that a window could be.
  bool mayBeWindow = false;

  bool run(const std::optional<Update> &update) {
    if (!statement.obstacle.empty())
      return fail(statement.obstacle);
    if (statement.pinnedDepth && *statement.pinnedDepth < plan.depth)
      return fail("a value read before a loop is overwritten in it");
    return collectDimensions(update) && collectConstraints() && checkBox(update);
  }

private:
  bool fail(const std::string &why) {
    reason = why;
    return false;
  }

  bool addRow(const Access &access, const LinearForm &row, bool isDestination,
              SmallVector<unsigned> &used) {
    LinearForm form = varyingPart(nest, inner, row);
    if (form.isConstant())
      return true;
    makePrimitive(form);
    LinearForm reversed = *form.times(-1);
    std::optional<unsigned> found;
    for (auto [index, dimension] : llvm::enumerate(plan.dimensions)) {
      if (dimension.form == form)
        found = index;
      else if (dimension.form == reversed)
        return fail("the index of " + describeBuffer(access.memref) + " runs backwards");
    }
    if (!found) {
      if (auto combination = solve(formsOf(plan), form)) {
        if (windows && !isDestination &&
            llvm::all_of(*combination, [](int64_t factor) { return factor >= 0; }))
          return true;
        mayBeWindow = true;
        return fail("the index of " + describeBuffer(access.memref) +
                    " combines several loop variables");
      }
      found = plan.dimensions.size();
      plan.dimensions.push_back({form, {}, !isDestination});
    }
    if (llvm::is_contained(used, *found))
      return fail("two indices of " + describeBuffer(access.memref) + " run together");
    used.push_back(*found);
    return true;
  }

  // Loop variables that index a read operand alone are dimensions, before sums of them are looked
  // at.
  void addLoneVariables() {
    for (const Access &access : statement.accesses)
      for (const LinearForm &row : access.rows) {
        LinearForm form = varyingPart(nest, inner, row);
        if (access.isWrite ||
            llvm::count_if(form.coefficients, [](int64_t c) { return c != 0; }) != 1)
          continue;
        makePrimitive(form);
        if (llvm::none_of(plan.dimensions,
                          [&](const RaisedDimension &known) { return known.form == form; }) &&
            !solve(formsOf(plan), form))
          plan.dimensions.push_back({form, {}, true});
      }
  }

  bool collectDimensions(const std::optional<Update> &update) {
    bool isFirst = true;
    for (const Access &access : statement.accesses) {
      if (!access.isWrite && std::exchange(isFirst, false) && windows)
        addLoneVariables();
      SmallVector<unsigned> used;
      for (const LinearForm &row : access.rows)
        if (!addRow(access, row, access.isWrite, used))
          return false;
    }
    if (!collectLeaves(bodyRoots(statement, update)))
      return false;
    if (!plan.hasReduction())
      return true;
    if (!update)
      return fail("the value written in " + describeBuffer(statement.accesses[0].memref) +
                  " depends on a loop that its index does not");
    plan.update = update;
    return true;
  }

  // Loop variables that are computed with.
  bool collectLeaves(SmallVector<mlir::Value> worklist) {
    llvm::SmallPtrSet<mlir::Operation *, 16> seen;
    while (!worklist.empty()) {
      mlir::Value value = worklist.pop_back_val();
      if (const LinearForm *form = nest.formOf(value)) {
        LinearForm part = varyingPart(nest, inner, *form);
        if (part.isConstant() || solve(formsOf(plan), part))
          continue;
        // The shape of no operand would tell how far this dimension runs.
        return fail("a loop variable is computed with that indexes nothing");
      }
      mlir::Operation *definition = value.getDefiningOp();
      if (!definition) {
        if (nest.loopOf(value.getParentBlock()->getParentOp()))
          return fail("a loop variable is used in a way that is not affine");
        continue;
      }
      bool isLoad = llvm::isa<mlir::affine::AffineLoadOp, mlir::memref::LoadOp>(definition);
      if (statement.slice.contains(definition) && !isLoad && seen.insert(definition).second)
        llvm::append_range(worklist, definition->getOperands());
    }
    return true;
  }

  bool collectConstraints() {
    System domain(nest.getNumVariables());
    nest.addDomain(domain, statement.loops, statement.guards);
    nest.addDivisions(domain, formsOf(plan));
    for (const Constraint &constraint : domain.getConstraints()) {
      bool isInner = !varyingPart(nest, inner, constraint.form).isConstant();
      (isInner ? constraints : fixed).push_back(constraint);
    }
    // What the kept loops around establish may be assumed; a guard on them has to be repeated.
    System around(nest.getNumVariables());
    nest.addDomain(around, ArrayRef<unsigned>(statement.loops).take_front(plan.depth), {});
    nest.addDivisions(around);
    for (const Constraint &constraint : around.getConstraints())
      context.push_back(constraint);
    for (const Constraint &guard : statement.guards)
      if (varyingPart(nest, inner, guard.form).isConstant())
        addGuard(guard);
    plan.firstDimension = nest.getNumVariables();
    return true;
  }

  void addGuard(const Constraint &guard) {
    System system(totalVariables());
    for (const Constraint &constraint : context)
      system.add(constraint);
    bool isImplied = system.implies(guard.form, cache);
    if (guard.isEquality)
      isImplied &= system.implies(*guard.form.times(-1), cache);
    if (!isImplied)
      plan.guards.push_back(guard);
  }

  unsigned totalVariables() const { return nest.getNumVariables() + plan.dimensions.size(); }
  unsigned variableOf(unsigned dimension) const { return nest.getNumVariables() + dimension; }

  struct Component {
    SmallVector<unsigned> variables;  // inner ones
    SmallVector<unsigned> dimensions; // indices
    std::vector<Constraint> constraints;
  };

  std::vector<Component> components() {
    llvm::EquivalenceClasses<unsigned> classes;
    for (unsigned v = 0; v < nest.getNumVariables(); ++v) {
      bool isUsed = llvm::any_of(inner, [&](unsigned l) { return nest.loops[l].variable == v; }) ||
                    llvm::any_of(constraints, [&](auto &c) { return c.form.mentions(v); });
      if (isUsed && nest.varies(v, inner))
        classes.insert(v);
    }
    auto connect = [&](const LinearForm &form) {
      std::optional<unsigned> first;
      for (unsigned v = 0; v < form.coefficients.size(); ++v)
        if (form.mentions(v) && nest.varies(v, inner)) {
          if (!first)
            classes.insert(*(first = v));
          else
            classes.unionSets(*first, v);
        }
    };
    for (const Constraint &constraint : constraints)
      connect(constraint.form);
    for (const RaisedDimension &dimension : plan.dimensions)
      connect(dimension.form);
    std::vector<Component> result;
    for (auto leader = classes.begin(); leader != classes.end(); ++leader) {
      if (!leader->isLeader())
        continue;
      Component component;
      component.variables.assign(classes.member_begin(leader), classes.member_end());
      llvm::sort(component.variables);
      auto touches = [&](const LinearForm &form) {
        return llvm::any_of(component.variables, [&](unsigned v) { return form.mentions(v); });
      };
      for (const Constraint &constraint : constraints)
        if (touches(constraint.form))
          component.constraints.push_back(constraint);
      for (auto [index, dimension] : llvm::enumerate(plan.dimensions))
        if (touches(dimension.form))
          component.dimensions.push_back(index);
      result.push_back(std::move(component));
    }
    return result;
  }

  bool checkBox(const std::optional<Update> &update) {
    // An instance must run exactly once only if running it again would be seen.
    bool readsDestination = llvm::any_of(statement.accesses, [&](const Access &access) {
      return !access.isWrite && !areDistinctBuffers(access.memref, statement.accesses[0].memref);
    });
    for (const Component &component : components()) {
      if (component.dimensions.empty()) {
        if (!checkIdle(component, readsDestination))
          return false;
      } else if (!checkComponent(component, readsDestination)) {
        return false;
      }
    }
    return guardViews();
  }

  // An operation with a dimension that has no elements does nothing, but the views that it is given
  // are made, and those of other dimensions may lie outside of their buffers then: a guard keeps
  // such an operation from running.
  bool guardViews() {
    std::vector<LinearForm> sizes; // of all dimensions, less one
    bool mayHaveNone = false;
    for (unsigned d = 0; d < plan.dimensions.size(); ++d) {
      unsigned y = variableOf(d);
      std::vector<LinearForm> lowers, uppers;
      for (const Constraint &constraint : plan.dimensions[d].interval) {
        (constraint.form[y] > 0 ? lowers : uppers).push_back(constraint.form);
        if (constraint.isEquality)
          (constraint.form[y] > 0 ? uppers : lowers).push_back(*constraint.form.times(-1));
      }
      for (const LinearForm &lower : lowers)
        for (const LinearForm &upper : uppers) {
          auto size = lower.plus(upper);
          if (!size || lower[y] != 1 || upper[y] != -1)
            return viewsLieInside() ||
                   fail("a loop that may have no iterations is around an index");
          mayHaveNone |= !isImplied(*size);
          sizes.push_back(*size);
        }
    }
    if (mayHaveNone && !viewsLieInside())
      for (const LinearForm &size : sizes)
        addGuard({size, false});
    return true;
  }

  bool isImplied(const LinearForm &form) {
    System system(totalVariables());
    for (const Constraint &constraint : context)
      system.add(constraint);
    return system.implies(form, cache);
  }

  // Whether the view of each operand lies inside of its buffer, whatever dimensions it does not
  // have.
  bool viewsLieInside() {
    for (const Access &access : statement.accesses) {
      auto type = llvm::cast<mlir::MemRefType>(access.memref.getType());
      for (auto [axis, row] : llvm::enumerate(access.rows)) {
        if (type.isDynamicDim(axis))
          return false;
        System system(totalVariables());
        for (const Constraint &constraint : context)
          system.add(constraint);
        for (const Constraint &constraint : plan.guards)
          system.add(constraint);
        DimensionUse use = useOf(nest, plan, row);
        if (use.dimension)
          use.window.push_back({*use.dimension, use.stride});
        std::optional<LinearForm> index = use.offset;
        for (auto [d, factor] : use.window) {
          for (const Constraint &constraint : plan.dimensions[d].interval)
            system.add(constraint);
          index = index->plus(LinearForm::ofVariable(variableOf(d)), factor);
          if (!index)
            return false;
        }
        auto rest = LinearForm::ofConstant(type.getDimSize(axis) - 1).plus(*index, -1);
        if (!rest || !system.implies(*index, cache) || !system.implies(*rest, cache))
          return false;
      }
    }
    return true;
  }

  // Loops that the statement does not depend on: they must run, and only once if it is seen.
  bool checkIdle(const Component &component, bool mustBeOnce) {
    if (component.variables.size() != 1)
      return fail("a loop repeats the statement");
    int64_t lower = INT64_MIN, upper = INT64_MAX;
    unsigned v = component.variables[0];
    for (const Constraint &constraint : component.constraints) {
      int64_t unit = constraint.form[v];
      LinearForm rest = constraint.form;
      rest.set(v, 0);
      if (!rest.isConstant() || (unit != 1 && unit != -1) || constraint.isEquality)
        return fail("a loop repeats the statement");
      if (unit == 1)
        lower = std::max(lower, -rest.constant);
      else
        upper = std::min(upper, rest.constant);
    }
    if (lower == INT64_MIN || upper == INT64_MAX || lower > upper)
      return fail("a loop repeats the statement");
    if (mustBeOnce && lower != upper)
      return fail("a loop repeats the update of " + describeBuffer(statement.accesses[0].memref));
    return true;
  }

  std::vector<Constraint> withDimensions(const Component &component) {
    std::vector<Constraint> rows = component.constraints;
    for (unsigned d : component.dimensions)
      rows.push_back(
          {*plan.dimensions[d].form.plus(LinearForm::ofVariable(variableOf(d)), -1), true});
    return rows;
  }

  bool checkComponent(const Component &component, bool mustBeOnce) {
    std::vector<Constraint> rows = withDimensions(component);
    SmallVector<bool> isParameter(totalVariables(), false);
    for (unsigned v = 0; v < nest.getNumVariables(); ++v)
      isParameter[v] = !nest.varies(v, inner);
    std::vector<Constraint> box = context;
    for (unsigned d : component.dimensions) {
      auto projected = projectOnto(rows, totalVariables(), variableOf(d), isParameter);
      if (!projected)
        return fail("the loop bounds are too complex");
      bool hasLower = false, hasUpper = false;
      for (const Constraint &constraint : *projected) {
        int64_t coefficient = constraint.form[variableOf(d)];
        box.push_back(constraint);
        if (coefficient == 0) {
          addGuard(constraint);
          continue;
        }
        hasLower |= coefficient > 0 || constraint.isEquality;
        hasUpper |= coefficient < 0 || constraint.isEquality;
        plan.dimensions[d].interval.push_back(constraint);
      }
      if (!hasLower || !hasUpper)
        return fail("a loop has no bound");
      plan.dimensions[d].mayBeEmpty = !isNeverEmpty(d);
    }
    const std::string noBox = whyNoBox(component);
    SmallVector<LinearForm> basis;
    for (unsigned d : component.dimensions)
      basis.push_back(plan.dimensions[d].form);
    // With as many independent dimensions as variables, iterations and points correspond.
    SmallVector<LinearForm> inverse(nest.getNumVariables());
    bool isInvertible = component.dimensions.size() == component.variables.size();
    for (unsigned v : component.variables) {
      auto combination = isInvertible ? solve(basis, LinearForm::ofVariable(v)) : std::nullopt;
      if (!combination) {
        isInvertible = false;
        break;
      }
      for (auto [index, factor] : llvm::enumerate(*combination))
        inverse[v].set(variableOf(component.dimensions[index]), factor);
    }
    if (isInvertible)
      return boxSatisfies(box, component, inverse) || fail(noBox);

    if (!isCovered(box, rows, totalVariables(), component.variables, cache))
      return fail(noBox);
    return !mustBeOnce || isInjective(component) ||
           fail("an element of " + describeBuffer(statement.accesses[0].memref) +
                " may be updated twice for one combination of indices");
  }

  // Two dimensions may move with one loop variable, as g * 4 + c and g: then what is missing is no
  // bound of a loop.
  std::string whyNoBox(const Component &component) const {
    for (unsigned d : component.dimensions) {
      const LinearForm &joined = plan.dimensions[d].form;
      for (unsigned other : component.dimensions)
        for (unsigned v : component.variables)
          if (other != d && joined.mentions(v) && plan.dimensions[other].form.mentions(v) &&
              llvm::count_if(component.variables, [&](unsigned w) { return joined.mentions(w); }) >
                  1)
            return "the index of " + describeBuffer(firstWith(joined)) +
                   " combines loop variables that index something else by themselves";
    }
    return "the iterations do not fill a rectangle";
  }

  // What the dimension was first met in.
  mlir::Value firstWith(const LinearForm &dimension) const {
    for (const Access &access : statement.accesses)
      for (const LinearForm &row : access.rows) {
        LinearForm form = varyingPart(nest, inner, row);
        makePrimitive(form);
        if (form == dimension)
          return access.memref;
      }
    return statement.accesses[0].memref;
  }

  // True when each lower bound is proven to lie at most one above each upper bound.
  bool isNeverEmpty(unsigned d) {
    System system(totalVariables());
    for (const Constraint &constraint : context)
      system.add(constraint);
    unsigned y = variableOf(d);
    for (const Constraint &lower : plan.dimensions[d].interval)
      for (const Constraint &upper : plan.dimensions[d].interval) {
        if (lower.isEquality || upper.isEquality)
          continue;
        if (lower.form[y] < 0 || upper.form[y] > 0)
          continue;
        auto size = lower.form.plus(upper.form);
        if (!size || lower.form[y] != 1 || upper.form[y] != -1)
          return false;
        size->constant += 1;
        if (!system.implies(*size, cache))
          return false;
      }
    return true;
  }

  bool boxSatisfies(const std::vector<Constraint> &box, const Component &component,
                    ArrayRef<LinearForm> inverse) {
    System system(totalVariables());
    for (const Constraint &constraint : box)
      system.add(constraint);
    for (const Constraint &constraint : component.constraints) {
      LinearForm form = LinearForm::ofConstant(constraint.form.constant);
      for (unsigned v = 0; v < constraint.form.coefficients.size(); ++v) {
        if (!constraint.form.mentions(v))
          continue;
        bool isOwn = llvm::is_contained(component.variables, v);
        auto sum = form.plus(isOwn ? inverse[v] : LinearForm::ofVariable(v), constraint.form[v]);
        if (!sum)
          return false;
        form = *sum;
      }
      if (!system.implies(form, cache) ||
          (constraint.isEquality && !system.implies(*form.times(-1), cache)))
        return false;
    }
    return true;
  }

  bool isInjective(const Component &component) {
    unsigned offset = totalVariables();
    System twice(2 * offset);
    auto rename = [&](const LinearForm &form) {
      LinearForm renamed = LinearForm::ofConstant(form.constant);
      for (unsigned v = 0; v < form.coefficients.size(); ++v)
        if (form.mentions(v))
          renamed.set(llvm::is_contained(component.variables, v) ? v + offset : v, form[v]);
      return renamed;
    };
    for (const Constraint &constraint : withDimensions(component)) {
      twice.add(constraint);
      twice.add({rename(constraint.form), constraint.isEquality});
    }
    for (const Constraint &constraint : context)
      twice.add(constraint);
    return llvm::all_of(component.variables, [&](unsigned v) {
      System different = twice;
      LinearForm advance = LinearForm::ofConstant(-1);
      advance.set(v, -1);
      advance.set(v + offset, 1);
      different.addNonNegative(advance);
      return different.isProvablyEmpty(cache);
    });
  }

  const Nest &nest;
  const Statement &statement;
  RaisePlan &plan;
  ProofCache &cache;
  std::string &reason;
  bool windows;
  ArrayRef<unsigned> inner;
  std::vector<Constraint> constraints; // that mention inner variables
  std::vector<Constraint> fixed;
  std::vector<Constraint> context;
};

} // namespace

bool RaisePlan::hasReduction() const {
  return llvm::any_of(dimensions, [](const RaisedDimension &d) { return d.isReduction; });
}

ArrayRef<unsigned> innerLoops(const Nest &nest, const RaisePlan &plan) {
  return ArrayRef<unsigned>(nest.statements[plan.statement].loops).drop_front(plan.depth);
}

SmallVector<mlir::Value> bodyRoots(const Statement &statement,
                                   const std::optional<Update> &update) {
  SmallVector<mlir::Value> roots;
  if (update) {
    for (const UpdateTerm &term : update->terms)
      roots.push_back(term.value);
  } else if (auto store = llvm::dyn_cast<mlir::affine::AffineStoreOp>(statement.op)) {
    roots.push_back(store.getValueToStore());
  } else {
    roots.push_back(llvm::cast<mlir::memref::StoreOp>(statement.op).getValueToStore());
  }
  return roots;
}

std::optional<RaisePlan> planRaise(const Nest &nest, unsigned statement, unsigned depth,
                                   const std::optional<Update> &update, ProofCache &cache,
                                   std::string &reason) {
  for (bool windows : {false, true}) {
    RaisePlan plan{statement, depth, nest.getNumVariables(), {}, {}, {}};
    std::string why;
    Planner planner(nest, plan, cache, why, windows);
    if (planner.run(update))
      return plan;
    if (!windows || reason.empty())
      reason = why; // of the plan without windows
    if (!planner.mayBeWindow)
      break;
  }
  return std::nullopt;
}

DimensionUse useOf(const Nest &nest, const RaisePlan &plan, const LinearForm &row) {
  ArrayRef<unsigned> inner = innerLoops(nest, plan);
  LinearForm form = varyingPart(nest, inner, row);
  DimensionUse use;
  use.offset = *row.plus(form, -1);
  if (form.isConstant())
    return use;
  LinearForm varying = form;
  use.stride = makePrimitive(form);
  for (auto [index, dimension] : llvm::enumerate(plan.dimensions))
    if (dimension.form == form)
      use.dimension = index;
  if (!use.dimension)
    for (auto [index, factor] : llvm::enumerate(*solve(formsOf(plan), varying)))
      if (factor != 0)
        use.window.push_back({index, factor});
  return use;
}

std::optional<SmallVector<int64_t>> coefficientsOver(const Nest &nest, const RaisePlan &plan,
                                                     const LinearForm &form) {
  return solve(formsOf(plan), varyingPart(nest, innerLoops(nest, plan), form));
}

} // namespace pyasc
