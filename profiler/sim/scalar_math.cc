#include "profiler/sim/scalar_math.h"

namespace pyasc::sim {

using sim_isa::Predicate;
using Fn = sim_isa::Function;

double UnaryFunction(Fn function, double x) {
  switch (function) {
  case Fn::kNeg:
    return -x;
  case Fn::kAbs:
    return std::fabs(x);
  case Fn::kSqrt:
    return std::sqrt(x);
  case Fn::kRsqrt:
    return 1 / std::sqrt(x);
  case Fn::kExp:
    return std::exp(x);
  case Fn::kExp2:
    return std::exp2(x);
  case Fn::kExpm1:
    return std::expm1(x);
  case Fn::kLog:
    return std::log(x);
  case Fn::kLog2:
    return std::log2(x);
  case Fn::kLog10:
    return std::log10(x);
  case Fn::kLog1p:
    return std::log1p(x);
  case Fn::kSin:
    return std::sin(x);
  case Fn::kCos:
    return std::cos(x);
  case Fn::kTan:
    return std::tan(x);
  case Fn::kSinh:
    return std::sinh(x);
  case Fn::kCosh:
    return std::cosh(x);
  case Fn::kTanh:
    return std::tanh(x);
  case Fn::kAsin:
    return std::asin(x);
  case Fn::kAcos:
    return std::acos(x);
  case Fn::kAtan:
    return std::atan(x);
  case Fn::kAsinh:
    return std::asinh(x);
  case Fn::kAcosh:
    return std::acosh(x);
  case Fn::kAtanh:
    return std::atanh(x);
  case Fn::kErf:
    return std::erf(x);
  case Fn::kErfc:
    return std::erfc(x);
  case Fn::kCbrt:
    return std::cbrt(x);
  case Fn::kFloor:
    return std::floor(x);
  case Fn::kCeil:
    return std::ceil(x);
  case Fn::kTrunc:
    return std::trunc(x);
  case Fn::kRound:
    return std::round(x);
  case Fn::kRoundEven:
    return std::nearbyint(x);
  default:
    return x;
  }
}

double BinaryFunction(Fn function, double x, double y) {
  switch (function) {
  case Fn::kPow:
    return std::pow(x, y);
  case Fn::kAtan2:
    return std::atan2(x, y);
  default:
    return std::copysign(x, y);
  }
}

double PowI(double x, int64_t n) { return std::pow(x, static_cast<double>(n)); }

bool Compare(Predicate predicate, double a, double b) {
  const bool unordered = a != a || b != b;
  switch (predicate) {
  case Predicate::kFalse:
    return false;
  case Predicate::kOeq:
    return a == b;
  case Predicate::kOgt:
    return a > b;
  case Predicate::kOge:
    return a >= b;
  case Predicate::kOlt:
    return a < b;
  case Predicate::kOle:
    return a <= b;
  case Predicate::kOne:
    return !unordered && a != b;
  case Predicate::kOrd:
    return !unordered;
  case Predicate::kUeq:
    return unordered || a == b;
  case Predicate::kUgt:
    return !(a <= b);
  case Predicate::kUge:
    return !(a < b);
  case Predicate::kUlt:
    return !(a >= b);
  case Predicate::kUle:
    return !(a > b);
  case Predicate::kUne:
    return a != b;
  case Predicate::kUno:
    return unordered;
  case Predicate::kTrue:
    return true;
  }
  return false;
}

} // namespace pyasc::sim
