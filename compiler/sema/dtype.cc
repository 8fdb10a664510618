#include "compiler/sema/dtype.h"

#include <algorithm>
#include <array>

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

namespace pyasc::sema {

namespace {

struct Info {
  std::string_view name;
  int bits;
  char kind; // b, i, u, f
};

constexpr std::array<Info, 13> kInfo = {{{"bool", 8, 'b'},
                                         {"int8", 8, 'i'},
                                         {"int16", 16, 'i'},
                                         {"int32", 32, 'i'},
                                         {"int64", 64, 'i'},
                                         {"uint8", 8, 'u'},
                                         {"uint16", 16, 'u'},
                                         {"uint32", 32, 'u'},
                                         {"uint64", 64, 'u'},
                                         {"float16", 16, 'f'},
                                         {"bfloat16", 16, 'f'},
                                         {"float32", 32, 'f'},
                                         {"float64", 64, 'f'}}};

const Info &Get(DType t) { return kInfo[static_cast<size_t>(t)]; }

} // namespace

bool IsFloat(DType t) { return Get(t).kind == 'f'; }
bool IsInteger(DType t) { return Get(t).kind == 'i' || Get(t).kind == 'u'; }
bool IsUnsigned(DType t) { return Get(t).kind == 'u' || t == DType::Bool; }
bool Is16BitFloat(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
int Bits(DType t) { return Get(t).bits; }
std::string_view Name(DType t) { return Get(t).name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name)
      return static_cast<DType>(i);
  if (name == "bool_")
    return DType::Bool;
  if (name == "half")
    return DType::Float16;
  if (name == "double")
    return DType::Float64;
  return std::nullopt;
}

std::optional<DType> DTypeFromProto(v1::DType t) {
  int i = static_cast<int>(t) - static_cast<int>(v1::DTYPE_BOOL);
  if (i < 0 || i >= static_cast<int>(kInfo.size()))
    return std::nullopt;
  return static_cast<DType>(i);
}

v1::DType DTypeToProto(DType t) {
  return static_cast<v1::DType>(static_cast<int>(t) + static_cast<int>(v1::DTYPE_BOOL));
}

__int128 MinInt(DType t) {
  if (IsUnsigned(t))
    return 0;
  return -(static_cast<__int128>(1) << (Bits(t) - 1));
}

__int128 MaxInt(DType t) {
  if (t == DType::Bool)
    return 1;
  return (static_cast<__int128>(1) << (IsUnsigned(t) ? Bits(t) : Bits(t) - 1)) - 1;
}

__int128 Wrap(__int128 v, DType t) {
  if (t == DType::Bool)
    return v != 0;
  unsigned __int128 mask = (static_cast<unsigned __int128>(1) << Bits(t)) - 1;
  __int128 low = static_cast<__int128>(static_cast<unsigned __int128>(v) & mask);
  return low > MaxInt(t) ? low - static_cast<__int128>(mask) - 1 : low;
}

double RoundTo(double v, DType t) {
  llvm::APFloat f(v);
  bool loses = false;
  switch (t) {
  case DType::Float16:
    f.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
    break;
  case DType::BFloat16:
    f.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
    break;
  case DType::Float32:
    return static_cast<double>(static_cast<float>(v));
  default:
    return v;
  }
  f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return f.convertToDouble();
}

std::string ToString(__int128 v) {
  if (v == 0)
    return "0";
  bool negative = v < 0;
  unsigned __int128 u = negative ? -static_cast<unsigned __int128>(v) : v;
  std::string out;
  for (; u; u /= 10)
    out.push_back(static_cast<char>('0' + static_cast<int>(u % 10)));
  if (negative)
    out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

mlir::Type ValueType(mlir::MLIRContext *context, DType t) {
  switch (t) {
  case DType::Bool:
    return mlir::IntegerType::get(context, 1);
  case DType::Float16:
    return mlir::FloatType::getF16(context);
  case DType::BFloat16:
    return mlir::FloatType::getBF16(context);
  case DType::Float32:
    return mlir::FloatType::getF32(context);
  case DType::Float64:
    return mlir::FloatType::getF64(context);
  default:
    return mlir::IntegerType::get(context, Bits(t));
  }
}

mlir::Type MemoryType(mlir::MLIRContext *context, DType t) {
  if (t == DType::Bool)
    return mlir::IntegerType::get(context, 8);
  return ValueType(context, t);
}

std::optional<DType> Promote(DType a, DType b) {
  if (a == b)
    return a;
  if (a == DType::Bool)
    return b;
  if (b == DType::Bool)
    return a;
  bool fa = IsFloat(a), fb = IsFloat(b);
  if (fa && fb) {
    if (Bits(a) == Bits(b))
      return DType::Float32; // float16 beside bfloat16
    return Bits(a) > Bits(b) ? a : b;
  }
  if (fa || fb) {
    DType f = fa ? a : b, i = fa ? b : a;
    // A 16-bit float cannot hold 16-bit integers.
    if (Bits(f) == 16 && Bits(i) > 8)
      return DType::Float32;
    return f;
  }
  bool ua = IsUnsigned(a), ub = IsUnsigned(b);
  if (ua == ub)
    return Bits(a) > Bits(b) ? a : b;
  DType u = ua ? a : b, s = ua ? b : a;
  if (Bits(s) > Bits(u))
    return s;
  switch (Bits(u)) {
  case 8:
    return DType::Int16;
  case 16:
    return DType::Int32;
  case 32:
    return DType::Int64;
  default:
    return std::nullopt;
  }
}

std::string WithArticle(DType t) {
  std::string name(Name(t));
  return (name[0] == 'i' ? "an " : "a ") + name; // a uint8, as it is spoken
}

} // namespace pyasc::sema
