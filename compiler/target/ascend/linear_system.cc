#include "compiler/target/ascend/linear_system.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pyasc::npu {

namespace {

// Larger systems cost more than the overlap that they may allow.
constexpr unsigned kMostVariables = 28;

using Row = LinearSystem::Row;
using Wide = __int128;

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Elimination, then bounds, then a short search. Every step keeps the set of solutions of the
// variables that are left, so that both answers are exact.
class Reducer {
public:
  Reducer(unsigned count, std::vector<Row> equalities, std::vector<Row> inequalities)
      : count(count), equalities(std::move(equalities)), inequalities(std::move(inequalities)),
        bounds(count) {}

  // nullopt: not found out.
  std::optional<bool> isEmpty() {
    // Splits first: elimination mixes rows with columns.
    do {
      do {
        if (!propagate(bounds))
          return true;
      } while (split());
      if (!eliminate() || !tighten())
        return overflown ? std::nullopt : std::optional(true);
      if (!propagate(bounds))
        return true;
    } while (split());
    steps = 0;
    return search(bounds);
  }

private:
  static constexpr int64_t kInfinite = int64_t{1} << 61;
  static constexpr int64_t kLargest = int64_t{1} << 55; // of a coefficient
  static constexpr int kMostSteps = 200;
  static constexpr int kMostRounds = 16;

  struct Bound {
    int64_t least = -kInfinite, most = kInfinite;
  };
  using Bounds = std::vector<Bound>;

  int64_t gcdOf(const Row &row) const {
    int64_t gcd = 0;
    for (unsigned i = 0; i < count; ++i)
      gcd = std::gcd(gcd, row[i]);
    return gcd;
  }
  // Both false when there is a contradiction, or a number is too large.
  bool eliminate();
  bool tighten();
  bool substitute(Row &row, const Row &equality, unsigned variable);
  // Whether an equality fell into two; see there.
  bool split();
  bool propagate(Bounds &bounds) const;
  static bool propagate(const Row &row, int sign, Bounds &bounds, bool &changed);
  std::optional<bool> search(Bounds bounds);

  unsigned count;
  std::vector<Row> equalities, inequalities;
  Bounds bounds;
  bool overflown = false;
  int steps = 0;
};

bool Reducer::substitute(Row &row, const Row &equality, unsigned variable) {
  // equality[variable] is 1 or -1.
  const int64_t factor = row[variable] * equality[variable];
  if (factor == 0)
    return true;
  for (unsigned i = 0; i <= count; ++i) {
    const Wide value = Wide(row[i]) - Wide(factor) * equality[i];
    if (value > kLargest || value < -kLargest) {
      overflown = true;
      return false;
    }
    row[i] = static_cast<int64_t>(value);
  }
  return true;
}

// Uses up the equalities that have a variable with coefficient 1 or -1.
bool Reducer::eliminate() {
  for (size_t e = 0; e < equalities.size();) {
    const int64_t gcd = gcdOf(equalities[e]);
    if (gcd == 0 ? equalities[e][count] != 0 : equalities[e][count] % gcd != 0)
      return false;
    if (gcd > 1)
      for (int64_t &value : equalities[e])
        value /= gcd;
    unsigned unit = 0;
    while (unit < count && std::abs(equalities[e][unit]) != 1)
      ++unit;
    if (unit == count && gcd != 0) {
      ++e;
      continue;
    }
    const Row equality = equalities[e];
    equalities.erase(equalities.begin() + static_cast<std::ptrdiff_t>(e));
    if (gcd == 0)
      continue;
    for (std::vector<Row> *rows : {&equalities, &inequalities})
      for (Row &row : *rows)
        if (!substitute(row, equality, unit))
          return false;
    bounds[unit] = {0, 0}; // in no constraint any more
    e = 0;
  }
  return true;
}

// Divides inequalities by common factors and keeps the stricter of two with the same coefficients.
bool Reducer::tighten() {
  std::map<Row, int64_t> least; // coefficients -> constant
  for (Row &row : inequalities) {
    const int64_t gcd = gcdOf(row);
    if (gcd == 0) {
      if (row[count] < 0)
        return false;
      continue;
    }
    for (unsigned i = 0; i < count; ++i)
      row[i] /= gcd;
    const int64_t constant = floorDivide(row[count], gcd);
    row[count] = 0;
    auto [entry, isNew] = least.try_emplace(row, constant);
    if (!isNew)
      entry->second = std::min(entry->second, constant);
  }
  inequalities.clear();
  bool found = false;
  for (auto &[coefficients, constant] : least) {
    Row opposite = coefficients, row = coefficients;
    for (int64_t &value : opposite)
      value = -value;
    row[count] = constant;
    auto other = least.find(opposite);
    if (other == least.end()) {
      inequalities.push_back(row);
      continue;
    }
    // -other <= coefficients . x + ... : c + constant >= 0 and -c + other >= 0
    if (constant + other->second < 0)
      return false;
    if (constant + other->second > 0) {
      inequalities.push_back(row);
    } else if (coefficients < opposite) {
      equalities.push_back(row);
      found = true;
    }
  }
  return !found || (eliminate() && tighten());
}

// row . x >= 0 for sign 1, <= 0 for sign -1.
bool Reducer::propagate(const Row &row, int sign, Bounds &bounds, bool &changed) {
  const unsigned count = bounds.size();
  Wide most = Wide(sign) * row[count];
  int infinite = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Wide factor = Wide(sign) * row[i];
    if (factor == 0)
      continue;
    const int64_t end = factor > 0 ? bounds[i].most : bounds[i].least;
    if (std::abs(end) >= kInfinite)
      ++infinite;
    else
      most += factor * end;
  }
  if (infinite > 1)
    return true;
  if (infinite == 0 && most < 0)
    return false;
  for (unsigned i = 0; i < count; ++i) {
    const Wide factor = Wide(sign) * row[i];
    if (factor == 0)
      continue;
    Bound &bound = bounds[i];
    const int64_t end = factor > 0 ? bound.most : bound.least;
    const bool isInfinite = std::abs(end) >= kInfinite;
    if (infinite == 1 && !isInfinite)
      continue;
    // factor * x >= -(what the others are at most)
    const Wide others = isInfinite ? most : most - factor * end;
    const Wide magnitude = factor > 0 ? factor : -factor;
    Wide limit = others >= 0 ? others / magnitude : -((-others + magnitude - 1) / magnitude);
    if (limit > kInfinite || limit < -kInfinite)
      continue;
    if (factor > 0 && -limit > bound.least) {
      bound.least = static_cast<int64_t>(-limit);
      changed = true;
    } else if (factor < 0 && limit < bound.most) {
      bound.most = static_cast<int64_t>(limit);
      changed = true;
    }
    if (bound.least > bound.most)
      return false;
  }
  return true;
}

bool Reducer::propagate(Bounds &bounds) const {
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (const Row &row : inequalities)
      if (!propagate(row, 1, bounds, changed))
        return false;
    for (const Row &row : equalities)
      if (!propagate(row, 1, bounds, changed) || !propagate(row, -1, bounds, changed))
        return false;
  }
  return true;
}

// When S * high + low = 0 and low lies between -S and S, both are 0: a place in memory has one row
// and one column.
bool Reducer::split() {
  for (size_t e = 0; e < equalities.size(); ++e) {
    std::set<int64_t> strides;
    for (unsigned i = 0; i < count; ++i)
      if (std::abs(equalities[e][i]) > 1)
        strides.insert(std::abs(equalities[e][i]));
    for (int64_t stride : strides) {
      Row high(count + 1, 0), low = equalities[e];
      Wide least = low[count], most = low[count];
      bool isBounded = true;
      for (unsigned i = 0; i < count; ++i) {
        if (low[i] % stride == 0) {
          high[i] = low[i] / stride;
          low[i] = 0;
        } else if (bounds[i].least <= -kInfinite || bounds[i].most >= kInfinite) {
          isBounded = false;
        } else {
          const Wide a = Wide(low[i]) * bounds[i].least, b = Wide(low[i]) * bounds[i].most;
          least += std::min(a, b);
          most += std::max(a, b);
        }
      }
      if (!isBounded || least <= -stride || most >= stride || (gcdOf(low) == 0 && low[count] == 0))
        continue;
      equalities[e] = high;
      equalities.push_back(low);
      return true;
    }
  }
  return false;
}

std::optional<bool> Reducer::search(Bounds bounds) {
  if (++steps > kMostSteps)
    return std::nullopt;
  if (!propagate(bounds))
    return true;
  // The variable with the fewest values left.
  std::optional<unsigned> chosen;
  auto room = [&](unsigned i) { return Wide(bounds[i].most) - bounds[i].least; };
  for (unsigned i = 0; i < count; ++i)
    if (room(i) > 0 && (!chosen || room(i) < room(*chosen)))
      chosen = i;
  if (!chosen) {
    auto valueOf = [&](const Row &row) {
      Wide value = row[count];
      for (unsigned i = 0; i < count; ++i)
        value += Wide(row[i]) * bounds[i].least;
      return value;
    };
    return llvm::any_of(inequalities, [&](const Row &row) { return valueOf(row) < 0; }) ||
           llvm::any_of(equalities, [&](const Row &row) { return valueOf(row) != 0; });
  }
  // One value first, at an end if there is one, then the values beside it.
  const Bound all = bounds[*chosen];
  const int64_t first = all.least > -kInfinite ? all.least : all.most < kInfinite ? all.most : 0;
  bool unknown = false;
  const Bound parts[] = {{first, first}, {first + 1, all.most}, {all.least, first - 1}};
  for (const Bound &part : parts) {
    if (part.least > part.most)
      continue;
    bounds[*chosen] = part;
    std::optional<bool> answer = search(bounds);
    if (answer && !*answer)
      return false;
    unknown |= !answer;
  }
  return unknown ? std::nullopt : std::optional(true);
}

// As Reducer::split, of a system of which only the hull is known.
std::optional<std::pair<Row, Row>> separate(const Row &equality, presburger::Simplex &simplex) {
  const size_t count = equality.size() - 1;
  std::set<int64_t> strides;
  for (size_t i = 0; i < count; ++i)
    if (std::abs(equality[i]) > 1)
      strides.insert(std::abs(equality[i]));
  for (int64_t stride : strides) {
    Row high(count + 1, 0), low = equality;
    for (size_t i = 0; i < count; ++i)
      if (low[i] % stride == 0) {
        high[i] = low[i] / stride;
        low[i] = 0;
      }
    if (llvm::all_of(low, [](int64_t value) { return value == 0; }))
      continue;
    SmallVector<llvm::DynamicAPInt> coefficients;
    for (int64_t coefficient : low)
      coefficients.emplace_back(coefficient);
    using Direction = presburger::Simplex::Direction;
    auto most = simplex.computeOptimum(Direction::Up, coefficients);
    auto least = simplex.computeOptimum(Direction::Down, coefficients);
    if (most.isBounded() && least.isBounded() &&
        *most < presburger::Fraction(llvm::DynamicAPInt(stride), llvm::DynamicAPInt(1)) &&
        *least > presburger::Fraction(llvm::DynamicAPInt(-stride), llvm::DynamicAPInt(1)))
      return std::pair{high, low};
  }
  return std::nullopt;
}

} // namespace

Linear &Linear::add(const Linear &other, int64_t factor) {
  constant += other.constant * factor;
  if (factor == 0)
    return *this;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> sum;
  auto a = terms.begin();
  auto b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      sum.push_back(*a++);
    } else if (a == terms.end() || b->first < a->first) {
      sum.emplace_back(b->first, b->second * factor);
      ++b;
    } else {
      if (int64_t coefficient = a->second + b->second * factor)
        sum.emplace_back(a->first, coefficient);
      ++a, ++b;
    }
  }
  terms = std::move(sum);
  return *this;
}

Row LinearSystem::rowOf(const Linear &expression) const {
  Row row(count + 1, 0);
  for (auto [variable, coefficient] : expression.terms)
    row[variable] = coefficient;
  row[count] = expression.constant;
  return row;
}

bool LinearSystem::isEmpty() const {
  if (count > kMostVariables)
    return false;
  if (std::optional<bool> answer = isEmptyByBounds())
    return *answer;
  return isEmptyByProgramming();
}

std::optional<bool> LinearSystem::isEmptyByBounds() const {
  std::vector<Row> rows[2];
  for (const Linear &expression : equalities)
    rows[0].push_back(rowOf(expression));
  for (const Linear &expression : inequalities)
    rows[1].push_back(rowOf(expression));
  return Reducer(count, std::move(rows[0]), std::move(rows[1])).isEmpty();
}

bool LinearSystem::isEmptyByProgramming() const {
  presburger::IntegerPolyhedron polyhedron(presburger::PresburgerSpace::getSetSpace(count));
  SmallVector<Row> pending;
  for (const Linear &expression : equalities) {
    pending.push_back(rowOf(expression));
    polyhedron.addEquality(pending.back());
  }
  for (const Linear &expression : inequalities)
    polyhedron.addInequality(rowOf(expression));
  presburger::Simplex simplex(polyhedron);
  if (simplex.isEmpty())
    return true;
  // Said so, integer programming is spared a search.
  while (!pending.empty()) {
    Row equality = pending.pop_back_val();
    if (auto parts = separate(equality, simplex)) {
      pending.push_back(parts->first);
      pending.push_back(parts->second);
    } else {
      polyhedron.addEquality(equality);
    }
  }
  return polyhedron.isIntegerEmpty();
}

std::vector<int64_t> LinearSystem::key() const {
  std::vector<int64_t> key{count, static_cast<int64_t>(equalities.size())};
  for (const auto *expressions : {&equalities, &inequalities})
    for (const Linear &expression : *expressions) {
      key.push_back(static_cast<int64_t>(expression.terms.size()));
      key.push_back(expression.constant);
      for (auto [variable, coefficient] : expression.terms) {
        key.push_back(variable);
        key.push_back(coefficient);
      }
    }
  return key;
}

bool LinearSystemMemo::isEmpty(const LinearSystem &system) {
  auto [entry, isNew] = known.try_emplace(system.key(), false);
  if (isNew)
    entry->second = system.isEmpty();
  return entry->second;
}

} // namespace pyasc::npu
