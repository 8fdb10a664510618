// What is said while a kernel runs: asc.print, f-strings, asserts and their messages. All of it
// exists in debug mode only; without it, what would be said is checked and left out.

#include <bit>
#include <utility>

#include "compiler/ir/asc_dialect.h"
#include "compiler/sema/emitter.h"
#include "compiler/sema/library.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "proto/contract/python_format.h"
#include "proto/contract/tensor_type.h"

namespace pyasc::sema {

using namespace syntax;

namespace {

// Braces of a text, as a format has them.
std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '{' || c == '}')
      out += c;
  }
  return out;
}

contract::PrintNumber NumberOf(const Value &v) {
  contract::PrintNumber number;
  number.dtype = contract::ParseDType(std::string(Name(v.dtype))).value_or(v1::DTYPE_UNSPECIFIED);
  const Constant &c = *v.constant;
  if (v.dtype == DType::Float64)
    number.word = std::bit_cast<uint64_t>(c.f);
  else if (IsFloat(v.dtype))
    number.word = std::bit_cast<uint32_t>(static_cast<float>(c.f));
  else
    number.word = static_cast<uint64_t>(c.i);
  return number;
}

// A number that is known: by its own type, or as Python's when it has none yet.
absl::StatusOr<std::string> ConstantText(const Value &v, const std::string &spec) {
  if (!v.weak)
    return contract::FormatNumber(NumberOf(v), spec);
  if (IsFloat(v.dtype))
    return contract::FormatDouble(v.constant->f, spec);
  if (v.dtype != DType::Bool && spec.empty())
    return ToString(v.constant->i);
  const bool is_bool = v.dtype == DType::Bool;
  return contract::FormatNumber({is_bool ? v1::DTYPE_BOOL : v1::DTYPE_INT64,
                                 static_cast<uint64_t>(static_cast<int64_t>(v.constant->i))},
                                spec);
}

} // namespace

Value Emitter::CheckedText(const SourceRange &range, std::string text) {
  if (text.size() > kMaxText)
    return Error("kernel-too-large", range,
                 "a string of a kernel has at most " + std::to_string(kMaxText) + " bytes");
  return Value::StringOf(std::move(text));
}

bool Emitter::AppendShown(const SourceRange &range, const Value &v, const std::string &spec,
                          std::string &text, std::vector<Value> *values) {
  auto bad_format = [&](const absl::Status &why) {
    Error("unsupported-message", range, "format '" + spec + "': " + std::string(why.message()));
    return false;
  };
  switch (v.kind) {
  case Value::Kind::Invalid:
    return false;
  case Value::Kind::None:
    text += "None";
    return true;
  case Value::Kind::DType:
    text += Name(v.dtype);
    return true;
  case Value::Kind::String:
    if (!spec.empty()) {
      Error("unsupported-message", range, "texts take no format in kernels");
      return false;
    }
    text += values ? Escaped(v.text) : v.text;
    return true;
  case Value::Kind::Tuple:
    text += v.is_list ? "[" : "(";
    for (size_t i = 0; i < v.items->size(); ++i) {
      text += i ? ", " : "";
      if (!AppendShown(range, (*v.items)[i], "", text, values))
        return false;
    }
    text += v.is_list ? "]" : v.items->size() == 1 ? ",)" : ")";
    return true;
  default:
    break;
  }
  if (!v.IsNumber()) {
    Error("type-mismatch", range,
          "what is printed must be a number or a tensor, not " + Describe(v));
    return false;
  }
  if (v.IsConstant()) {
    absl::StatusOr<std::string> shown = ConstantText(v, spec);
    if (!shown.ok())
      return bad_format(shown.status());
    text += values ? Escaped(*shown) : *shown;
    return true;
  }
  if (!values) {
    Error("string-data", range, "strings made at run time exist only in asc.print and assert");
    return false;
  }
  Value strong = Strong(v);
  contract::PrintNumber zero{
      contract::ParseDType(std::string(Name(strong.dtype))).value_or(v1::DTYPE_UNSPECIFIED), 0};
  if (absl::StatusOr<std::string> tried = contract::FormatNumber(zero, spec); !tried.ok())
    return bad_format(tried.status());
  values->push_back(strong);
  text += spec.empty() ? "{}" : "{:" + spec + "}";
  return true;
}

Value Emitter::EvalString(const Expr *e, std::vector<Value> *values) {
  std::string text;
  if (auto *c = llvm::dyn_cast<syntax::Constant>(e); c && c->IsStr())
    return Value::StringOf(values ? Escaped(c->str_value) : std::string(c->str_value));
  if (auto *j = llvm::dyn_cast<JoinedStr>(e)) {
    for (const Expr *part : j->values) {
      Value v = EvalString(part, values);
      if (v.IsInvalid())
        return v;
      text += v.text;
      if (text.size() > kMaxText)
        return CheckedText(e->range, text);
    }
    return Value::StringOf(text);
  }
  if (auto *f = llvm::dyn_cast<FormattedValue>(e)) {
    std::string spec;
    if (f->format_spec) {
      Value s = EvalString(f->format_spec, nullptr);
      if (s.IsInvalid())
        return s;
      spec = s.text;
      if (spec.find('}') != std::string::npos)
        return Error("unsupported-message", f->format_spec->range, "a format cannot hold a brace");
    }
    if (!AppendShown(f->value->range, Eval(f->value), spec, text, values))
      return Value::Invalid();
    return Value::StringOf(text);
  }
  Value v = Eval(e);
  if (v.kind == Value::Kind::String)
    return Value::StringOf(values ? Escaped(v.text) : v.text);
  return v.IsInvalid() ? v
                       : Error("unsupported-message", e->range, "expected a string or an f-string");
}

void Emitter::Print(const SourceRange &range, const std::string &format,
                    const std::vector<Value> &values, int64_t code) {
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Attribute> dtypes;
  // Prints made from one place of the text share an id, however often it is unrolled or inlined.
  std::string key = std::to_string(range.file) + ":" + std::to_string(range.line) + ":" +
                    std::to_string(range.column) + ":" + std::to_string(code) + ":" + format;
  for (const Value &v : values) {
    dtypes.push_back(b_.getStringAttr(std::string(sema::Name(v.dtype))));
    if (v.IsTensor()) {
      Value whole = Materialize(range, v);
      if (whole.IsInvalid())
        return;
      operands.push_back(whole.tensor.root);
    } else {
      operands.push_back(Ssa(v));
    }
    key += ":" + std::string(sema::Name(v.dtype));
    if (v.IsTensor())
      for (int64_t extent : v.tensor.Shape())
        key += "," + std::to_string(extent);
  }
  auto [id, is_new] = prints_.try_emplace(key, static_cast<int64_t>(prints_.size()) + 1);
  b_.create<ir::PrintOp>(Loc(range), b_.getStringAttr(format), b_.getArrayAttr(dtypes), operands,
                         id->second, code);
}

void Emitter::Assertion(const SourceRange &range, const Value &condition,
                        const std::function<Value(std::vector<Value> *)> &message) {
  if ((condition.IsConstant() && condition.constant->i) || condition.proved == true)
    return;
  mlir::Location loc = Loc(range);
  mlir::Value ok = Ssa(condition);
  std::string text = "assertion failed";
  if (message) {
    // Made where the assertion has failed, and only there.
    auto branch = b_.create<mlir::scf::IfOp>(loc, Ops(range).Not(ok), /*withElseRegion=*/false);
    Environment saved = frame().env;
    bool shown = false;
    {
      mlir::OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(branch.thenYield());
      ++uncertain_;
      ++region_depth_;
      std::vector<Value> values;
      Value made = message(&values);
      if (!made.IsInvalid() && values.empty()) {
        text += ": " + contract::FormatText(made.text, {}, {});
      } else if (!made.IsInvalid()) {
        shown = true;
        Print(range, Escaped(text + ": ") + made.text, values,
              static_cast<int64_t>(errors_.size() + 1));
      }
      --region_depth_;
      --uncertain_;
    }
    frame().env = saved;
    if (!shown)
      branch.erase();
  }
  Check("assertion-failed", range, ok, nullptr, nullptr, text);
}

void Emitter::EvaluateInVain(const std::function<void()> &evaluate) {
  const size_t checks = errors_.size();
  // Loops, accesses and what folds them ask for the function around them, so that the code is made
  // where it would stand.
  auto scratch = b_.create<mlir::scf::ExecuteRegionOp>(b_.getUnknownLoc(), mlir::TypeRange{});
  mlir::OpBuilder::InsertPoint here = b_.saveInsertionPoint();
  b_.createBlock(&scratch.getRegion());
  Environment saved = frame().env;
  // What is not evaluated makes no earlier store superfluous.
  for (auto &[name, binding] : frame().env)
    binding.last_stores.clear();
  ++uncertain_;
  evaluate();
  --uncertain_;
  frame().env = saved;
  b_.restoreInsertionPoint(here);
  errors_.resize(checks);
  scratch.erase();
}

void Emitter::EmitAssert(const Assert *s) {
  auto message = [&](std::vector<Value> *values) { return EvalString(s->msg, values); };
  if (!debug_) {
    Value c;
    std::string text;
    EvaluateInVain([&] {
      c = EvalTest(s->test);
      std::vector<Value> values;
      if (s->msg)
        text = message(&values).text;
    });
    if (c.IsConstant() && !c.constant->i && uncertain_ == 0 && domain_.empty())
      Error("assertion-failed", s->range,
            "assertion failed" + (s->msg ? ": " + contract::FormatText(text, {}, {}) : ""));
    return;
  }
  Value c = EvalTest(s->test);
  if (c.IsInvalid())
    return;
  // Unconditional and false: it fails whenever the kernel runs.
  if (c.IsConstant() && !c.constant->i && uncertain_ == 0 && domain_.empty()) {
    std::vector<Value> values;
    Value made = s->msg ? message(&values) : Value::StringOf("");
    if (!made.IsInvalid())
      Error("assertion-failed", s->range,
            "assertion failed" + (s->msg ? ": " + contract::FormatText(made.text, {}, {}) : ""));
    return;
  }
  Assertion(s->range, c, s->msg ? std::function(message) : nullptr);
}

Value EmitPrint(Emitter &e, const BoundCall &call) {
  std::string separator = " ", end = "\n", format;
  for (auto [i, option] : {std::pair{0, &separator}, std::pair{1, &end}}) {
    const Value &v = call.args[i];
    if (v.kind == Value::Kind::String)
      *option = v.items ? contract::FormatText(v.text, {}, {}) : v.text;
    else if (!v.IsNone())
      return e.Error("type-mismatch", call.where[i],
                     std::string(i ? "end" : "sep") +
                         " of print() is a string known at compile "
                         "time, not " +
                         Describe(v));
    if (v.items && !v.items->empty())
      return e.Error("string-data", call.where[i],
                     "sep and end of print() are known at compile time");
  }
  std::vector<Value> values;
  bool first = true;
  for (const Value &v : call.rest) {
    if (!first)
      format += Escaped(separator);
    first = false;
    if (v.kind == Value::Kind::String && v.items) {
      // An f-string comes with its values and its braces in place.
      format += v.text;
      values.insert(values.end(), v.items->begin(), v.items->end());
    } else if (!e.AppendShown(call.range, v, "", format, &values)) {
      return Value::Invalid();
    }
  }
  if (e.debug())
    e.Print(call.range, format + Escaped(end), values, /*code=*/0);
  else
    e.WarnOfPrint(call.range);
  return Value::NoneValue();
}

void Emitter::WarnOfPrint(const SourceRange &range) {
  if (std::exchange(print_warned_, true))
    return;
  Warn("print-ignored", range,
       "the kernel's prints are left out, from this one on: it prints with "
       "@asc.kernel(debug=True), and `pyasc run --debug`");
}

Value EmitDeviceAssert(Emitter &e, const BoundCall &call) {
  Value c = e.Truth(call.where[0], call.args[0]);
  const Value &message = call.args[1];
  if (c.IsInvalid())
    return c;
  if (!message.IsNone() && message.kind != Value::Kind::String)
    return e.Error("unsupported-message", call.where[1], "expected a string or an f-string");
  if (!e.debug())
    return Value::NoneValue();
  std::function<Value(std::vector<Value> *)> made;
  if (!message.IsNone())
    made = [&](std::vector<Value> *values) {
      if (message.items)
        *values = *message.items;
      return Value::StringOf(message.items ? message.text : Escaped(message.text));
    };
  e.Assertion(call.range, c, made);
  return Value::NoneValue();
}

} // namespace pyasc::sema
