// Random numbers by counter: Philox4x32-10 (Salmon et al., SC 2011). An element depends on the seed
// and on its place alone, so that any core may make any part. docs/language.md has the mapping.
#include <array>
#include <numbers>

#include "compiler/sema/emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace pyasc::sema {

namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {

enum Kind : uint32_t { kUniform, kNormal }; // also the last counter word

constexpr int kRounds = 10;
constexpr uint32_t kMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr uint32_t kWeyl[2] = {0x9E3779B9u, 0xBB67AE85u};

using Words = std::array<mlir::Value, 4>;

// i32 arithmetic at one place.
struct Bits32 {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value Constant(uint32_t v) {
    return b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(v)));
  }
  mlir::Value Xor(mlir::Value x, mlir::Value y) { return b.create<arith::XOrIOp>(loc, x, y); }
  mlir::Value Low(mlir::Value wide) { return b.create<arith::TruncIOp>(loc, b.getI32Type(), wide); }
  mlir::Value High(mlir::Value wide) {
    mlir::Value by = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(32));
    return Low(b.create<arith::ShRUIOp>(loc, wide, by));
  }
  mlir::Value Product(mlir::Value x, uint32_t by) {
    mlir::Value wide = b.create<arith::ExtUIOp>(loc, b.getI64Type(), x);
    mlir::Value factor = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(by));
    return b.create<arith::MulIOp>(loc, wide, factor);
  }
  // The upper 24 bits plus `plus`, as a fraction of 2^24.
  mlir::Value Unit(mlir::Value word, uint32_t plus) {
    mlir::Value bits = b.create<arith::ShRUIOp>(loc, word, Constant(8));
    if (plus)
      bits = b.create<arith::AddIOp>(loc, bits, Constant(plus));
    mlir::Value f = b.create<arith::SIToFPOp>(loc, b.getF32Type(), bits);
    return Times(f, 0x1p-24f);
  }
  mlir::Value Times(mlir::Value f, float by) {
    return b.create<arith::MulFOp>(loc, f, b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(by)));
  }
};

Words Philox(Bits32 bits, Words c, const std::array<std::array<mlir::Value, 2>, kRounds> &keys) {
  for (const auto &key : keys) {
    mlir::Value p0 = bits.Product(c[0], kMultipliers[0]), p1 = bits.Product(c[2], kMultipliers[1]);
    c = {bits.Xor(bits.Xor(bits.High(p1), c[1]), key[0]), bits.Low(p1),
         bits.Xor(bits.Xor(bits.High(p0), c[3]), key[1]), bits.Low(p0)};
  }
  return c;
}

// Two numbers of the standard normal distribution (Box and Muller).
std::array<mlir::Value, 2> Normal(Bits32 bits, mlir::Value w0, mlir::Value w1) {
  auto &b = bits.b;
  mlir::Value log = b.create<math::LogOp>(bits.loc, bits.Unit(w0, 1));
  mlir::Value radius = b.create<math::SqrtOp>(bits.loc, bits.Times(log, -2));
  mlir::Value angle = bits.Times(bits.Unit(w1, 0), static_cast<float>(2 * std::numbers::pi));
  mlir::Value cos = b.create<math::CosOp>(bits.loc, angle),
              sin = b.create<math::SinOp>(bits.loc, angle);
  return {b.create<arith::MulFOp>(bits.loc, radius, cos),
          b.create<arith::MulFOp>(bits.loc, radius, sin)};
}

Value EmitRandom(Emitter &e, const BoundCall &call) {
  std::string name(call.entry->name);
  const SourceRange &range = call.range;
  auto kind = static_cast<Kind>(call.entry->tag);
  auto shape = e.NewShapeArgument(call.where[0], call.args[0]);
  if (!shape)
    return Value::Invalid();
  DType t = DType::Float32;
  if (!call.args[2].IsNone()) {
    auto asked = e.DTypeArgument(call.where[2], call.args[2]);
    if (!asked)
      return Value::Invalid();
    t = *asked;
  }
  if (!IsFloat(t))
    return e.Error("type-mismatch", call.where[2],
                   name + " gives floats, not " + std::string(Name(t)));
  const Value &seed = call.args[1];
  if (!seed.IsIntegral() || seed.dtype == DType::Bool)
    return e.Error("type-mismatch", call.where[1],
                   "the seed of " + name + " is an integer, not " + Describe(seed));
  int64_t count = 1;
  for (int64_t d : *shape)
    count *= d;
  if (count == 0)
    return e.NewTensor(range, t, *shape);
  int64_t blocks = (count + 3) / 4;
  Value numbers = e.NewTensor(range, DType::Float32, {blocks * 4});
  if (numbers.IsInvalid())
    return numbers;
  Bits32 bits{e.builder(), e.Loc(range)};
  mlir::Value key = e.SsaAs(seed, DType::Int64);
  std::array<mlir::Value, 2> k = {bits.Low(key), bits.High(key)};
  std::array<std::array<mlir::Value, 2>, kRounds> keys;
  for (auto &round : keys) {
    round = k;
    for (size_t i = 0; i < 2; ++i)
      k[i] = bits.b.create<arith::AddIOp>(bits.loc, k[i], bits.Constant(kWeyl[i]));
  }
  e.LoopNest(
      range, {blocks},
      [&](const std::vector<Value> &at) {
        mlir::Value block = e.Ssa(at[0]);
        Words w = Philox(
            bits, {bits.Low(block), bits.High(block), bits.Constant(0), bits.Constant(kind)}, keys);
        Words values;
        if (kind == kUniform) {
          for (size_t i = 0; i < 4; ++i)
            values[i] = bits.Unit(w[i], 0);
        } else {
          auto first = Normal(bits, w[0], w[1]), second = Normal(bits, w[2], w[3]);
          values = {first[0], first[1], second[0], second[1]};
        }
        Value first = e.Binary(range, BinaryOp::Mul, at[0], Value::WeakInt(4));
        for (size_t i = 0; i < 4; ++i) {
          Value place = e.Binary(range, BinaryOp::Add, first, Value::WeakInt(static_cast<Int>(i)));
          e.StoreElement(range, e.View(range, numbers, place),
                         Value::Scalar(DType::Float32, values[i]));
        }
      },
      /*parallel=*/true);
  numbers.tensor.dims[0].size = count;
  Value result = t == DType::Float32 ? numbers : e.Cast(range, numbers, t);
  if (result.IsInvalid())
    return result;
  return e.Reshape(range, result, *shape).value_or(Value::Invalid());
}

// clang-format off
const LibraryEntry kTable[] = {
    {"rand", kAsc, "shape, seed, dtype=None", DTypes::Float, ShapeRule::Argument, "uniform in [0, 1), by Philox4x32-10 from an integer seed; float32 unless said", "rand(shape, seed)", Lowering::Scalar, EmitRandom, nullptr, nullptr, kUniform},
    {"randn", kAsc, "shape, seed, dtype=None", DTypes::Float, ShapeRule::Argument, "standard normal, by Philox4x32-10 from an integer seed; float32 unless said", "randn(shape, seed)", Lowering::Scalar, EmitRandom, nullptr, nullptr, kNormal},
};
// clang-format on

} // namespace

std::span<const LibraryEntry> RandomTable() { return kTable; }

} // namespace pyasc::sema
