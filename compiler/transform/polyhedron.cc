#include "compiler/transform/polyhedron.h"

#include <numeric>

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

namespace pyasc {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::presburger::IntegerPolyhedron;
using mlir::presburger::PresburgerSpace;

namespace {

// Past these sizes a solver call may take seconds; the nest stays scalar instead.
constexpr unsigned kMaxVariables = 20;
constexpr unsigned kMaxConstraints = 80;
constexpr unsigned kMaxProjected = 60;
constexpr unsigned kMaxCases = 64;

// Coefficients of all variables, then the constant.
using Row = SmallVector<int64_t, 16>;

Row toRow(const LinearForm &form, unsigned numVariables) {
  Row row(numVariables + 1, 0);
  for (auto [variable, coefficient] : llvm::enumerate(form.coefficients))
    if (coefficient != 0)
      row[variable] = coefficient;
  row[numVariables] = form.constant;
  return row;
}

int64_t gcdOfCoefficients(const Row &row) {
  int64_t gcd = 0;
  for (int64_t coefficient : ArrayRef<int64_t>(row).drop_back())
    gcd = std::gcd(gcd, coefficient);
  return gcd;
}

int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

bool addScaled(Row &target, const Row &source, int64_t scale) {
  for (size_t i = 0; i < target.size(); ++i) {
    int64_t product;
    if (__builtin_mul_overflow(source[i], scale, &product) ||
        __builtin_add_overflow(target[i], product, &target[i]))
      return false;
  }
  return true;
}

enum class Verdict { Empty, Unknown };

// Equalities and inequalities of one system, being simplified.
struct Tableau {
  unsigned numVariables;
  std::vector<Row> equalities, inequalities;

  // Divides by common factors. Empty when a constraint can be seen to fail.
  Verdict tighten() {
    auto tightenAll = [&](std::vector<Row> &rows, bool areEqualities) {
      size_t kept = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        Row &row = rows[i];
        int64_t gcd = gcdOfCoefficients(row);
        int64_t &constant = row.back();
        if (gcd == 0) {
          if (areEqualities ? constant != 0 : constant < 0)
            return Verdict::Empty;
          continue;
        }
        if (gcd > 1) {
          if (areEqualities && constant % gcd != 0)
            return Verdict::Empty;
          for (int64_t &coefficient : row)
            if (&coefficient != &constant)
              coefficient /= gcd;
          constant = floorDivide(constant, gcd);
        }
        if (kept != i)
          rows[kept] = row;
        ++kept;
      }
      rows.resize(kept);
      return Verdict::Unknown;
    };
    if (tightenAll(equalities, true) == Verdict::Empty)
      return Verdict::Empty;
    return tightenAll(inequalities, false);
  }

  // Solves one equality for a variable with coefficient +-1 and substitutes. False: none left.
  // `overflow` is set when the arithmetic does not fit.
  bool substituteOne(bool &overflow) {
    for (size_t e = 0; e < equalities.size(); ++e) {
      for (unsigned v = 0; v < numVariables; ++v) {
        int64_t unit = equalities[e][v];
        if (unit != 1 && unit != -1)
          continue;
        Row pivot = equalities[e];
        equalities.erase(equalities.begin() + e);
        for (auto *rows : {&equalities, &inequalities})
          for (Row &row : *rows)
            if (row[v] != 0 && !addScaled(row, pivot, -row[v] * unit)) {
              overflow = true;
              return false;
            }
        return true;
      }
    }
    return false;
  }

  // Two opposite inequalities with nothing in between.
  bool hasOpposites() const {
    for (size_t i = 0; i < inequalities.size(); ++i)
      for (size_t j = i + 1; j < inequalities.size(); ++j) {
        const Row &a = inequalities[i], &b = inequalities[j];
        bool opposite = true;
        for (unsigned v = 0; v < numVariables && opposite; ++v)
          opposite = a[v] == -b[v];
        int64_t sum;
        if (opposite && !__builtin_add_overflow(a.back(), b.back(), &sum) && sum < 0)
          return true;
      }
    return false;
  }
};

bool solveComponent(ArrayRef<unsigned> variables, ArrayRef<const Row *> equalities,
                    ArrayRef<const Row *> inequalities, ProofCache &cache) {
  if (variables.size() > kMaxVariables || equalities.size() + inequalities.size() > kMaxConstraints)
    return false;
  auto compress = [&](const Row &row) {
    SmallVector<int64_t, 16> result;
    for (unsigned v : variables)
      result.push_back(row[v]);
    result.push_back(row.back());
    return result;
  };
  std::string key;
  auto appendKey = [&](char kind, ArrayRef<int64_t> row) {
    key += kind;
    for (int64_t value : row) {
      key += std::to_string(value);
      key += ',';
    }
  };
  for (const Row *row : equalities)
    appendKey('=', compress(*row));
  for (const Row *row : inequalities)
    appendKey('>', compress(*row));
  auto found = cache.known.find(key);
  if (found != cache.known.end())
    return found->second;
  if (cache.solverCalls >= cache.limit)
    return false;
  ++cache.solverCalls;
  IntegerPolyhedron polyhedron(PresburgerSpace::getSetSpace(variables.size()));
  for (const Row *row : equalities)
    polyhedron.addEquality(compress(*row));
  for (const Row *row : inequalities)
    polyhedron.addInequality(compress(*row));
  bool empty = polyhedron.isIntegerEmpty();
  cache.known[key] = empty;
  return empty;
}

} // namespace

LinearForm LinearForm::ofVariable(unsigned variable) {
  LinearForm form;
  form.set(variable, 1);
  return form;
}

LinearForm LinearForm::ofConstant(int64_t value) {
  LinearForm form;
  form.constant = value;
  return form;
}

void LinearForm::set(unsigned variable, int64_t coefficient) {
  if (variable >= coefficients.size())
    coefficients.resize(variable + 1, 0);
  coefficients[variable] = coefficient;
}

bool LinearForm::isConstant() const {
  return llvm::all_of(coefficients, [](int64_t c) { return c == 0; });
}

std::optional<LinearForm> LinearForm::plus(const LinearForm &other, int64_t scale) const {
  LinearForm result = *this;
  if (other.coefficients.size() > result.coefficients.size())
    result.coefficients.resize(other.coefficients.size(), 0);
  auto accumulate = [&](int64_t &target, int64_t value) {
    int64_t product;
    return !__builtin_mul_overflow(value, scale, &product) &&
           !__builtin_add_overflow(target, product, &target);
  };
  for (auto [variable, coefficient] : llvm::enumerate(other.coefficients))
    if (!accumulate(result.coefficients[variable], coefficient))
      return std::nullopt;
  if (!accumulate(result.constant, other.constant))
    return std::nullopt;
  return result;
}

std::optional<LinearForm> LinearForm::times(int64_t factor) const {
  return LinearForm().plus(*this, factor);
}

bool LinearForm::operator==(const LinearForm &other) const {
  if (constant != other.constant)
    return false;
  for (size_t v = 0; v < std::max(coefficients.size(), other.coefficients.size()); ++v)
    if ((*this)[v] != other[v])
      return false;
  return true;
}

bool System::isProvablyEmpty(ProofCache &cache) const {
  if (poisoned)
    return false;
  Tableau tableau{numVariables, {}, {}};
  for (const Constraint &constraint : constraints)
    (constraint.isEquality ? tableau.equalities : tableau.inequalities)
        .push_back(toRow(constraint.form, numVariables));
  bool overflow = false;
  do {
    if (tableau.tighten() == Verdict::Empty)
      return true;
  } while (tableau.substituteOne(overflow));
  if (overflow)
    return false;
  if (tableau.tighten() == Verdict::Empty || tableau.hasOpposites())
    return true;

  // Constraints that share no variable are independent: one empty part empties the whole.
  llvm::EquivalenceClasses<unsigned> classes;
  auto connect = [&](const Row &row) {
    std::optional<unsigned> first;
    for (unsigned v = 0; v < numVariables; ++v) {
      if (row[v] == 0)
        continue;
      if (first)
        classes.unionSets(*first, v);
      else
        classes.insert(*(first = v));
    }
  };
  llvm::for_each(tableau.equalities, connect);
  llvm::for_each(tableau.inequalities, connect);
  for (auto leader = classes.begin(); leader != classes.end(); ++leader) {
    if (!leader->isLeader())
      continue;
    SmallVector<unsigned> variables(classes.member_begin(leader), classes.member_end());
    llvm::sort(variables);
    auto belongs = [&](const Row &row) {
      return llvm::any_of(variables, [&](unsigned v) { return row[v] != 0; });
    };
    SmallVector<const Row *> equalities, inequalities;
    for (const Row &row : tableau.equalities)
      if (belongs(row))
        equalities.push_back(&row);
    for (const Row &row : tableau.inequalities)
      if (belongs(row))
        inequalities.push_back(&row);
    if (solveComponent(variables, equalities, inequalities, cache))
      return true;
  }
  return false;
}

bool System::implies(const LinearForm &form, ProofCache &cache) const {
  std::optional<LinearForm> negated = LinearForm::ofConstant(-1).plus(form, -1);
  if (!negated)
    return false;
  System counterexamples = *this;
  counterexamples.addNonNegative(*negated);
  return counterexamples.isProvablyEmpty(cache);
}

std::optional<std::vector<Constraint>> projectOnto(ArrayRef<Constraint> constraints,
                                                   unsigned numVariables, unsigned target,
                                                   const llvm::SmallVectorImpl<bool> &isParameter) {
  SmallVector<unsigned> kept{target}, eliminated;
  for (unsigned v = 0; v < numVariables; ++v) {
    bool used = llvm::any_of(constraints, [&](const Constraint &c) { return c.form.mentions(v); });
    if (v != target && used)
      (isParameter[v] ? kept : eliminated).push_back(v);
  }
  SmallVector<unsigned> order(kept);
  order.append(eliminated);
  if (order.size() > kMaxVariables || constraints.size() > kMaxConstraints)
    return std::nullopt;
  IntegerPolyhedron polyhedron(PresburgerSpace::getSetSpace(order.size()));
  for (const Constraint &constraint : constraints) {
    SmallVector<int64_t, 16> row;
    for (unsigned v : order)
      row.push_back(constraint.form[v]);
    row.push_back(constraint.form.constant);
    constraint.isEquality ? polyhedron.addEquality(row) : polyhedron.addInequality(row);
  }
  for (unsigned i = 0; i < eliminated.size(); ++i) {
    polyhedron.projectOut(polyhedron.getNumVars() - 1);
    if (polyhedron.getNumConstraints() > kMaxProjected)
      return std::nullopt;
  }
  polyhedron.removeTrivialRedundancy();
  polyhedron.removeRedundantConstraints();
  std::vector<Constraint> result;
  auto append = [&](auto row, bool isEquality) {
    Constraint constraint{{}, isEquality};
    for (auto [position, variable] : llvm::enumerate(kept))
      constraint.form.set(variable, int64_t(row[position]));
    constraint.form.constant = int64_t(row[kept.size()]);
    result.push_back(constraint);
  };
  for (unsigned i = 0; i < polyhedron.getNumEqualities(); ++i)
    append(polyhedron.getEquality(i), true);
  for (unsigned i = 0; i < polyhedron.getNumInequalities(); ++i)
    append(polyhedron.getInequality(i), false);
  return result;
}

// MLIR's set subtraction takes `10 t <= y <= 10 t + 7` for a definition of t at every y, and so
// finds that tiles with gaps cover everything. Hence witnesses: for each existential variable in
// turn the least value that its lower bounds allow, given those before it.
bool isCovered(ArrayRef<Constraint> box, ArrayRef<Constraint> constraints, unsigned numVariables,
               ArrayRef<unsigned> existential, ProofCache &cache) {
  auto isDetermined = [&](unsigned v) {
    return llvm::any_of(constraints, [&](const Constraint &c) {
      return c.isEquality && std::abs(c.form[v]) == 1 &&
             llvm::none_of(existential, [&](unsigned e) { return e != v && c.form.mentions(e); });
    });
  };
  SmallVector<unsigned> order(existential);
  llvm::stable_sort(order,
                    [&](unsigned a, unsigned b) { return isDetermined(a) > isDetermined(b); });

  System start(numVariables);
  for (const Constraint &constraint : box)
    start.add(constraint);
  std::vector<System> cases{start};
  SmallVector<bool> isKnown(numVariables, true);
  for (unsigned v : order)
    isKnown[v] = false;
  for (unsigned v : order) {
    auto bounds = projectOnto(constraints, numVariables, v, isKnown);
    isKnown[v] = true;
    if (!bounds)
      return false;
    llvm::erase_if(*bounds, [&](const Constraint &c) { return !c.form.mentions(v); });
    auto exact = llvm::find_if(
        *bounds, [&](const Constraint &c) { return c.isEquality && std::abs(c.form[v]) == 1; });
    if (exact != bounds->end()) {
      for (System &system : cases)
        system.add(*exact);
      continue;
    }
    // factor * v + rest >= 0 with factor > 0: the bounds from below.
    std::vector<LinearForm> lower;
    for (const Constraint &bound : *bounds) {
      if (bound.isEquality)
        return false;
      if (bound.form[v] > 0)
        lower.push_back(bound.form);
    }
    std::vector<System> split;
    for (const System &system : cases)
      for (const LinearForm &tight : lower) {
        System next = system;
        for (const LinearForm &bound : lower)
          next.addNonNegative(bound);
        // The least such v: one less would violate `tight`.
        next.addNonNegative(*LinearForm::ofConstant(tight[v] - 1).plus(tight, -1));
        split.push_back(std::move(next));
      }
    cases = std::move(split);
    if (cases.empty() || cases.size() > kMaxCases)
      return false;
  }
  return llvm::all_of(cases, [&](const System &system) {
    return llvm::all_of(constraints, [&](const Constraint &constraint) {
      if (!system.implies(constraint.form, cache))
        return false;
      auto negated = constraint.form.times(-1);
      return !constraint.isEquality || (negated && system.implies(*negated, cache));
    });
  });
}

} // namespace pyasc
