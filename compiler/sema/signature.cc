// What the kernel says of its arguments: decorators, annotations, and the arguments held against
// them.
#include "compiler/sema/signature.h"
#include "compiler/sema/emitter.h"

#include <algorithm>

namespace pyasc::sema {

using namespace syntax;
namespace {

// What a launch passes as a scalar is a number of Python.
std::string PythonKind(DType t) {
  if (t == DType::Bool)
    return "a bool";
  if (t == DType::Int64)
    return "an int";
  return t == DType::Float32 ? "a float" : std::string(sema::Name(t));
}

} // namespace

std::string_view LastName(const Expr *e) {
  if (auto *a = llvm::dyn_cast_or_null<syntax::Attribute>(e))
    return a->attr;
  if (auto *n = llvm::dyn_cast_or_null<syntax::Name>(e))
    return n->id;
  return "";
}

std::vector<std::pair<const Arg *, const Expr *>> ParametersOf(const Arguments &a) {
  std::vector<std::pair<const Arg *, const Expr *>> out;
  for (const Arg *p : a.posonlyargs)
    out.emplace_back(p, nullptr);
  for (const Arg *p : a.args)
    out.emplace_back(p, nullptr);
  for (size_t i = 0; i < a.defaults.size(); ++i)
    out[out.size() - a.defaults.size() + i].second = a.defaults[i];
  for (size_t i = 0; i < a.kwonlyargs.size(); ++i)
    out.emplace_back(a.kwonlyargs[i], a.kw_defaults[i]);
  return out;
}

Annotation ReadAnnotation(const Expr *annotation) {
  Annotation out;
  const Expr *base = annotation;
  if (auto *sub = llvm::dyn_cast_or_null<syntax::Subscript>(annotation)) {
    base = sub->value;
    out.has_dims = true;
    if (auto *t = llvm::dyn_cast<syntax::Tuple>(sub->slice))
      out.dims.assign(t->elts.begin(), t->elts.end());
    else
      out.dims = {sub->slice};
    auto *only = out.dims.size() == 1 ? llvm::dyn_cast<syntax::Constant>(out.dims[0]) : nullptr;
    out.any_rank = only && only->constant_kind == ConstantKind::Ellipsis;
  }
  out.type_name = LastName(base);
  out.is_constexpr = out.type_name == "constexpr";
  out.any_tensor = out.type_name == "tensor" || out.type_name == "Tensor" ||
                   out.type_name == "ndarray" || out.type_name == "array";
  out.python_scalar =
      llvm::isa_and_nonnull<syntax::Name>(base) &&
      (out.type_name == "int" || out.type_name == "float" || out.type_name == "bool");
  if (out.python_scalar)
    out.dtype = out.type_name == "int"     ? DType::Int64
                : out.type_name == "float" ? DType::Float32
                                           : DType::Bool;
  else if (annotation && !out.is_constexpr && !out.any_tensor)
    out.dtype = DTypeFromName(out.type_name);
  return out;
}

bool Emitter::ReadDecorators(const FunctionDef &kernel) {
  bool ok = true;
  // Those after the second are for launches from Python, and mean nothing here.
  const std::vector<std::string_view> options = {"precision", "debug",   "target",  "soc",
                                                 "server",    "timeout", "sanitize"};
  for (const Expr *d : kernel.decorator_list) {
    auto *call = llvm::dyn_cast<Call>(d);
    if (!IsKernelDecorator(d)) {
      Error("unknown-decorator", d->range,
            "a kernel has the decorator @asc.kernel alone; host decorators are not run");
      ok = false;
      continue;
    }
    if (!call)
      continue;
    for (const Expr *x : call->args) {
      Error("unknown-option", x->range, "@asc.kernel takes options by name: precision, debug");
      ok = false;
    }
    for (const Keyword *k : call->keywords) {
      Value v = FoldModuleExpr(kernel.range.file, k->value);
      if (k->arg == "precision" && v.kind == Value::Kind::String) {
        if (v.text != "mixed" && v.text != "auto" && !v.text.empty()) {
          Error("unknown-option", k->range,
                "unknown precision '" + v.text + "'; it is 'mixed' or 'auto'");
          ok = false;
        }
        if (request_.options().precision().empty())
          mixed_ = v.text == "mixed";
      } else if (k->arg == "debug" && v.IsConstantInt()) {
        debug_ = debug_ || v.constant->i;
      } else if (k->arg == "precision" || k->arg == "debug") {
        Error("unknown-option", k->range,
              "the option '" + std::string(k->arg) + "' needs a constant");
        ok = false;
      } else if (std::find(options.begin(), options.end(), k->arg) == options.end()) {
        Suggestion close = ClosestName(k->arg, options);
        SourceRange name = k->range;
        name.end_line = name.line;
        name.end_column = name.column + static_cast<uint32_t>(k->arg.size());
        ErrorWithFix("unknown-option", name,
                     "@asc.kernel has no option '" + std::string(k->arg) + "'" +
                         (close.empty() ? "; it has precision, debug, target, soc, server, "
                                          "timeout and sanitize"
                                        : "; did you mean '" + close.name + "'?"),
                     name, close.Fix());
        ok = false;
      }
    }
  }
  return ok;
}

// The symbolic size that a name of an annotation means: itself, unless `asc.dims` declared it as
// another one.
std::string_view Emitter::SymbolOf(std::string_view name) const {
  const ModuleName *global = scope_.Find(kernel_->range.file, name);
  return global && global->kind == ModuleName::Kind::Dim ? std::string_view(global->value.text)
                                                         : name;
}

std::optional<Emitter::LinearDim> Emitter::EvalDim(const Expr *e) {
  // A size beyond 64 bits is no size of anything.
  bool overflow = false;
  auto add = [&](int64_t a, int64_t b) {
    int64_t sum = 0;
    overflow |= __builtin_add_overflow(a, b, &sum);
    return sum;
  };
  auto multiply = [&](int64_t a, int64_t b) {
    int64_t product = 0;
    overflow |= __builtin_mul_overflow(a, b, &product);
    return product;
  };
  auto checked = [&](const LinearDim &d) {
    return overflow ? std::nullopt : std::optional<LinearDim>(d);
  };
  if (auto *n = llvm::dyn_cast<syntax::Name>(e)) {
    const ModuleName *global = scope_.Find(kernel_->range.file, n->id);
    if (global && global->value.IsConstantInt())
      return LinearDim{static_cast<int64_t>(global->value.constant->i), "", 0};
    std::string_view symbol = SymbolOf(n->id);
    if (auto it = symbols_.find(symbol); it != symbols_.end())
      return LinearDim{it->second.first, "", 0};
    return LinearDim{0, symbol, 1};
  }
  if (auto *c = llvm::dyn_cast<syntax::Constant>(e); c && c->IsInt())
    return c->int_fits && c->int_value <= INT64_MAX
               ? std::optional(LinearDim{static_cast<int64_t>(c->int_value), "", 0})
               : std::nullopt;
  if (auto *u = llvm::dyn_cast<UnaryOp>(e); u && u->op == UnaryOperator::USub) {
    auto x = EvalDim(u->operand);
    if (!x)
      return std::nullopt;
    return checked({multiply(x->constant, -1), x->unknown, multiply(x->factor, -1)});
  }
  auto *b = llvm::dyn_cast<BinOp>(e);
  if (!b) {
    // What does not fold is no size, whatever is wrong with it.
    Value v = TryFoldModuleExpr(kernel_->range.file, e);
    if (v.IsConstantInt())
      return LinearDim{static_cast<int64_t>(v.constant->i), "", 0};
    return std::nullopt;
  }
  auto x = EvalDim(b->left), y = EvalDim(b->right);
  if (!x || !y)
    return std::nullopt;
  bool both = !x->unknown.empty() && !y->unknown.empty();
  std::string_view unknown = x->unknown.empty() ? y->unknown : x->unknown;
  auto floor_div = [](int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
  };
  switch (b->op) {
  case Operator::Add:
  case Operator::Sub: {
    if (both && x->unknown != y->unknown)
      return LinearDim{0, unknown, 0}; // two unknowns: not yet
    int64_t sign = b->op == Operator::Add ? 1 : -1;
    return checked({add(x->constant, multiply(sign, y->constant)), unknown,
                    add(x->factor, multiply(sign, y->factor))});
  }
  case Operator::Mult:
    if (both)
      return LinearDim{0, unknown, 0};
    return checked(
        {multiply(x->constant, y->constant), unknown,
         y->unknown.empty() ? multiply(x->factor, y->constant) : multiply(y->factor, x->constant)});
  case Operator::FloorDiv:
  case Operator::Mod:
    if (!unknown.empty())
      return LinearDim{0, unknown, 0};
    if (y->constant == 0)
      return std::nullopt;
    if (y->constant == -1) // whose quotient may overflow
      return b->op == Operator::Mod ? LinearDim{0, "", 0}
                                    : checked({multiply(x->constant, -1), "", 0});
    if (b->op == Operator::FloorDiv)
      return LinearDim{floor_div(x->constant, y->constant), "", 0};
    return LinearDim{x->constant - y->constant * floor_div(x->constant, y->constant), "", 0};
  default:
    return std::nullopt;
  }
}

// Binds the symbolic dims of all parameters, and checks every annotated shape.
bool Emitter::BindShapes(const std::vector<Parameter> &parameters) {
  struct Pending {
    const Parameter *parameter;
    const Expr *expr;
    size_t axis;
  };
  std::vector<Pending> pending;
  bool ok = true;
  for (const Parameter &p : parameters) {
    auto *sub = llvm::dyn_cast_or_null<syntax::Subscript>(p.arg->annotation);
    if (!sub || !p.value.IsTensor() || LastName(sub->value) == "constexpr")
      continue;
    Annotation annotation = ReadAnnotation(sub);
    const std::vector<const Expr *> &dims = annotation.dims;
    if (annotation.any_rank)
      continue;
    if (dims.size() != p.shape.size()) {
      Error("rank-mismatch", p.arg->annotation->range,
            "parameter '" + std::string(p.arg->arg) + "' has " + std::to_string(dims.size()) +
                (dims.size() == 1 ? " axis" : " axes") + ", and the argument has " +
                std::to_string(p.shape.size()) + ": shape " + ShapeText(p.shape));
      ok = false;
      continue;
    }
    for (size_t i = 0; i < dims.size(); ++i)
      if (!llvm::isa<syntax::Slice>(dims[i]))
        pending.push_back({&p, dims[i], i});
  }
  auto mismatch = [&](const Pending &d, int64_t expected) {
    std::string text = "parameter '" + std::string(d.parameter->arg->arg) + "' has size " +
                       std::to_string(d.parameter->shape[d.axis]) + " on axis " +
                       std::to_string(d.axis) + ", expected " + std::to_string(expected);
    Names reads;
    CollectReads(d.expr, reads);
    for (std::string_view n : reads) {
      auto it = symbols_.find(SymbolOf(n));
      if (it == symbols_.end())
        continue;
      text += ", since " + std::string(n) + " is " + std::to_string(it->second.first) +
              " in parameter '" + it->second.second + "'";
      for (const Parameter &p : parameters)
        if (p.arg->arg == it->second.second && &p != d.parameter) {
          ErrorWithNote("dim-mismatch", d.expr->range, text, p.arg->range,
                        "'" + it->second.second + "' is declared here");
          return;
        }
    }
    Error("dim-mismatch", d.expr->range, text);
  };
  // Plain names first, in order, then what is computed from them.
  for (bool plain : {true, false}) {
    for (bool progress = true; progress && !pending.empty();) {
      progress = false;
      std::vector<Pending> later;
      for (const Pending &d : pending) {
        if (plain && !llvm::isa<syntax::Name>(d.expr)) {
          later.push_back(d);
          continue;
        }
        int64_t actual = d.parameter->shape[d.axis];
        auto linear = EvalDim(d.expr);
        if (!linear) {
          Error("bad-annotation", d.expr->range,
                "an axis of a shape is a number, a name such as N, or arithmetic (+ - * // %) on "
                "them");
          ok = false;
        } else if (linear->unknown.empty()) {
          if (linear->constant < 0) {
            Error("bad-annotation", d.expr->range,
                  "an axis of a shape has " + std::to_string(linear->constant) +
                      " elements here; a size is 0 or more");
            ok = false;
          } else if (linear->constant != actual) {
            mismatch(d, linear->constant);
            ok = false;
          }
        } else if (linear->factor != 0) {
          int64_t rest = 0;
          bool overflow = __builtin_sub_overflow(actual, linear->constant, &rest);
          if (overflow || (linear->factor == -1 && rest == INT64_MIN) ||
              rest % linear->factor != 0 || rest / linear->factor < 0) {
            Error("dim-mismatch", d.expr->range,
                  "parameter '" + std::string(d.parameter->arg->arg) + "' has size " +
                      std::to_string(actual) + " on axis " + std::to_string(d.axis) +
                      ", which no size " + std::string(linear->unknown) + " gives");
            ok = false;
          } else {
            symbols_[std::string(linear->unknown)] = {rest / linear->factor,
                                                      std::string(d.parameter->arg->arg)};
          }
        } else {
          later.push_back(d);
          continue;
        }
        progress = true;
      }
      pending = later;
    }
  }
  for (const Pending &d : pending) {
    Names reads;
    CollectReads(d.expr, reads);
    std::string unknown;
    for (std::string_view n : reads) {
      const ModuleName *global = scope_.Find(kernel_->range.file, n);
      if (symbols_.count(SymbolOf(n)) || (global && global->value.IsConstantInt()))
        continue;
      unknown += (unknown.empty() ? "'" : " and '") + std::string(n) + "'";
    }
    Error("bad-annotation", d.expr->range,
          "the arguments' shapes do not tell " + unknown +
              ": an axis may be arithmetic on sizes that stand alone somewhere; give each an axis "
              "of its own in another parameter, as N in asc.float32[N]");
    ok = false;
  }
  return ok;
}

bool Emitter::BindParameters(const FunctionDef &kernel, std::vector<Parameter> &out) {
  const Arguments &a = *kernel.args;
  if (a.vararg || a.kwarg) {
    Error("unsupported-star", (a.vararg ? a.vararg : a.kwarg)->range,
          "a kernel has no * or ** parameters; name each argument");
    return false;
  }
  Names declared;
  for (const auto &[parameter, value] : ParametersOf(a))
    if (!declared.insert(parameter->arg).second) {
      Error("duplicate-parameter", parameter->range,
            "the parameter '" + std::string(parameter->arg) + "' is declared twice");
      return false;
    }
  std::map<std::string, const v1::Argument *, std::less<>> given;
  for (const v1::Argument &x : request_.arguments())
    given[x.name()] = &x;
  bool ok = true;
  std::vector<const Arg *> missing;
  for (const auto &[arg, default_value] : ParametersOf(a)) {
    if (!default_value && !given.count(arg->arg)) {
      missing.push_back(arg);
      continue;
    }
    Parameter &p = out.emplace_back();
    p.arg = arg;
    p.default_value = default_value;
    auto it = given.find(arg->arg);
    ok &= BindParameter(p, it == given.end() ? nullptr : it->second);
    if (it != given.end())
      given.erase(it);
  }
  if (!missing.empty()) {
    // One message for all of them: a caller gives all arguments or forgot them all.
    std::string names;
    for (size_t i = 0; i < missing.size(); ++i)
      names += (i == 0                    ? "'"
                : i + 1 == missing.size() ? " and '"
                                          : ", '") +
               std::string(missing[i]->arg) + "'";
    ErrorWithNote("missing-argument", missing[0]->range,
                  missing.size() == 1 ? "no argument was given for parameter " + names
                                      : "no arguments were given for parameters " + names,
                  kernel.name_range, "in kernel '" + std::string(kernel.name) + "'");
    ok = false;
  }
  for (const auto &[name, argument] : given) {
    std::vector<std::string_view> names;
    for (const auto &[arg, default_value] : ParametersOf(a))
      names.push_back(arg->arg);
    std::string close = ClosestName(name, names).name;
    std::string all;
    for (std::string_view n : names)
      all += (all.empty() ? "" : ", ") + std::string(n);
    Error("unknown-argument", kernel.name_range,
          "kernel '" + std::string(kernel.name) + "' has no parameter '" + name + "'" +
              (!close.empty()  ? "; did you mean '" + close + "'?"
               : names.empty() ? "; it has none"
                               : "; it has " + all));
    ok = false;
  }
  return ok && BindShapes(out);
}

// An annotation that is no type: what was meant, or what there is (`types`). `others` may be meant
// beside the dtypes.
void Emitter::RefuseAnnotation(const Expr *annotation, const std::string &message,
                               std::string_view types, std::vector<std::string_view> others) {
  for (int t = 0; t <= static_cast<int>(DType::Float64); ++t)
    others.push_back(sema::Name(static_cast<DType>(t)));
  const Expr *base = annotation;
  if (auto *sub = llvm::dyn_cast<syntax::Subscript>(annotation))
    base = sub->value;
  Suggestion close = ClosestName(LastName(base), others);
  SourceRange at = base->range;
  if (auto *a = llvm::dyn_cast<syntax::Attribute>(base))
    at = a->attr_range;
  else if (!close.empty())
    close.name = "asc." + close.name;
  diag::DiagnosticBuilder d =
      diags_.Error("bad-annotation", at,
                   message + (close.empty() ? "; use " + std::string(types)
                                            : "; did you mean '" + close.name + "'?"));
  if (close.certain)
    d.FixIt(at, close.name);
}

bool Emitter::BindParameter(Parameter &p, const v1::Argument *given) {
  std::string name(p.arg->arg);
  SourceRange range = p.arg->range;
  const Expr *annotation = p.arg->annotation;
  const Annotation read = ReadAnnotation(annotation);
  const std::string_view type_name = read.type_name;
  const bool has_dims = read.has_dims, is_constexpr = read.is_constexpr,
             any_tensor = read.any_tensor, python_scalar = read.python_scalar;
  const std::optional<DType> dtype = read.dtype;
  auto fail = [&](std::string_view code, const std::string &message) {
    ErrorWithNote(code, annotation ? annotation->range : range, message, kernel_->name_range,
                  "in kernel '" + std::string(kernel_->name) + "'");
    return false;
  };
  if (annotation && !dtype && !is_constexpr && !any_tensor) {
    RefuseAnnotation(
        annotation, "the annotation of parameter '" + name + "' is no type",
        "asc.float32, asc.float32[N, M], asc.tensor, asc.constexpr, int, float or bool",
        {"tensor", "constexpr"});
    return false;
  }
  if (python_scalar && has_dims)
    return fail("bad-annotation", "a Python type has no shape; write asc." +
                                      std::string(sema::Name(*dtype)) + "[...]");
  if (dtype && !CheckDType(annotation->range, *dtype))
    return false;
  if (!given) {
    Value v = DefaultOf(*kernel_, p.default_value);
    if (v.IsInvalid())
      return fail("bad-default", "the default value of '" + name + "' is no constant");
    if (dtype && !has_dims && v.IsConstant()) {
      auto cast = CastForStore(p.default_value->range, v, *dtype, "the parameter");
      if (!cast)
        return false;
      v = *cast;
    }
    if ((dtype || python_scalar) && (has_dims ? !v.IsTensor() && !v.IsNone() : !v.IsNumber()))
      return fail("bad-default", "parameter '" + name + "' is " +
                                     (has_dims ? "a tensor" : std::string(sema::Name(*dtype))) +
                                     ", and its default is " + Describe(v) +
                                     "; drop the default, or the annotation");
    p.value = v;
    return true;
  }
  if (given->has_constexpr_value()) {
    const v1::ScalarValue &s = given->constexpr_value();
    Value v = s.has_bool_value()  ? Value::BoolConstant(s.bool_value())
              : s.has_int_value() ? Value::WeakInt(s.int_value())
                                  : Value::WeakFloat(s.float_value());
    if (dtype && !has_dims) {
      bool widens = python_scalar && IsFloat(*dtype) && IsInteger(v.dtype);
      if (!widens && (IsFloat(*dtype) != IsFloat(v.dtype) ||
                      (*dtype == DType::Bool) != (v.dtype == DType::Bool)))
        return fail("type-mismatch", "parameter '" + name + "' is " +
                                         std::string(sema::Name(*dtype)) +
                                         ", and the argument is " + Describe(v));
      if (IsInteger(*dtype) && v.IsConstantInt() &&
          (v.constant->i < MinInt(*dtype) || v.constant->i > MaxInt(*dtype)))
        return fail("argument-overflow", "the argument for parameter '" + name + "' is " +
                                             ToString(v.constant->i) + ", which does not fit " +
                                             std::string(sema::Name(*dtype)));
      v = Cast(range, v, *dtype);
    } else if (has_dims && !is_constexpr) {
      return fail("type-mismatch",
                  "parameter '" + name + "' is a tensor, and the argument is " + Describe(v));
    }
    p.value = v;
    return true;
  }
  if (is_constexpr)
    return fail("not-static", "parameter '" + name +
                                  "' is asc.constexpr: its value must be given at compile time");
  if (given->has_scalar()) {
    auto t = DTypeFromProto(given->scalar());
    if (!t)
      return fail("type-mismatch", "the argument for '" + name + "' has an unknown type");
    if (has_dims || any_tensor)
      return fail("type-mismatch", "parameter '" + name + "' is a tensor, and the argument is " +
                                       WithArticle(*t) + " scalar");
    DType want = dtype.value_or(*t);
    // A Python number takes its width from the parameter, never its kind; but `float` takes an int,
    // as it does in Python.
    bool same_kind = IsFloat(want) == IsFloat(*t) && (want == DType::Bool) == (*t == DType::Bool);
    if (!same_kind && !(python_scalar && IsFloat(want) && IsInteger(*t))) {
      std::string is = python_scalar ? std::string(type_name) : std::string(sema::Name(want));
      std::string hint;
      if (IsFloat(want) && IsInteger(*t))
        hint = "; pass a float, such as 1.0 for 1 (annotated float, it takes both, and no arrays)";
      else if (IsInteger(want) && IsFloat(*t))
        hint = python_scalar ? "; pass a whole number, or annotate the parameter float"
                             : "; pass a whole number, or annotate it asc.float32";
      return fail("type-mismatch", "parameter '" + name + "' is " + is + ", and the argument is " +
                                       PythonKind(*t) + hint);
    }
    if (!CheckDType(range, want))
      return false;
    p.dtype = want;
    p.type = MemoryType(&context_, want);
    p.value = Value::Scalar(want, nullptr);
    return true;
  }
  if (!given->has_tensor())
    return fail("missing-argument", "no type was given for parameter '" + name + "'");
  auto t = DTypeFromProto(given->tensor().dtype());
  if (!t)
    return fail("type-mismatch", "the argument for '" + name + "' has an unknown element type");
  if (python_scalar)
    return fail("type-mismatch", "parameter '" + name + "' is " +
                                     (type_name[0] == 'i' ? "an " : "a ") + std::string(type_name) +
                                     ", and the argument is an array; annotate it asc." +
                                     std::string(sema::Name(*t)) + "[...] or asc.tensor");
  if (dtype && *dtype != *t)
    return fail("type-mismatch", "parameter '" + name + "' is " + std::string(sema::Name(*dtype)) +
                                     ", and the argument is " + std::string(sema::Name(*t)) +
                                     "; convert the array, or change the annotation");
  if (!CheckDType(range, *t))
    return false;
  for (int64_t d : given->tensor().shape()) {
    if (d < 0)
      return fail("type-mismatch", "the argument for '" + name + "' has a negative axis");
    p.shape.push_back(d);
  }
  int64_t count = 1;
  for (int64_t d : p.shape)
    if (d != 0 && __builtin_mul_overflow(count, d, &count))
      return fail("tensor-too-large",
                  "the argument for '" + name + "' has more elements than any memory");
  p.dtype = *t;
  p.type = mlir::MemRefType::get(p.shape, MemoryType(&context_, *t));
  p.elementwise = dtype && !has_dims;
  p.value = Value::OfKind(Value::Kind::Tensor);
  p.value.dtype = *t;
  return true;
}

} // namespace pyasc::sema
