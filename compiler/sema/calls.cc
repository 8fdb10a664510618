// Calls: helpers are inlined, library operations get their arguments in the order of their
// signature.
#include "compiler/sema/control.h"
#include "compiler/sema/emitter.h"

#include <utility>

#include "llvm/ADT/ScopeExit.h"

namespace pyasc::sema {

using namespace syntax;

namespace {

constexpr size_t kMaxDepth = 64;

struct SignatureParameter {
  std::string name;
  std::string default_text; // "" when required
  bool variadic = false;
  bool keyword_only = false;
};

std::vector<SignatureParameter> ParseSignature(std::string_view text) {
  std::vector<SignatureParameter> out;
  bool keyword_only = false;
  size_t begin = 0;
  int depth = 0;
  auto add = [&](std::string_view part) {
    while (!part.empty() && part.front() == ' ')
      part.remove_prefix(1);
    if (part.empty() || part == "/")
      return;
    if (part == "*") {
      keyword_only = true;
      return;
    }
    SignatureParameter p;
    p.keyword_only = keyword_only;
    if (part.front() == '*') {
      p.variadic = true;
      keyword_only = true;
      part.remove_prefix(1);
    }
    size_t equals = part.find('=');
    p.name = std::string(part.substr(0, equals));
    if (equals != std::string_view::npos)
      p.default_text = std::string(part.substr(equals + 1));
    out.push_back(p);
  };
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '(' || text[i] == ')'))
      depth += text[i] == '(' ? 1 : -1;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      add(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return out;
}

// Whether no path of it says what to return; `return None` says it.
bool ReturnsNothing(const FunctionDef &f) {
  bool nothing = true;
  ForEachStatement(f.body, [&](const Stmt *s) {
    if (auto *r = llvm::dyn_cast<Return>(s))
      nothing &= !r->value;
  });
  return nothing;
}

Value DefaultValue(const std::string &text) {
  if (text == "None")
    return Value::NoneValue();
  if (text == "True" || text == "False")
    return Value::BoolConstant(text == "True");
  if (text[0] == '"')
    return Value::StringOf(text.substr(1, text.size() - 2));
  if (text.find('.') != std::string::npos || text.find('e') != std::string::npos)
    return Value::WeakFloat(std::strtod(text.c_str(), nullptr));
  if (auto t = DTypeFromName(text))
    return Value::DTypeOf(*t);
  return Value::WeakInt(std::strtol(text.c_str(), nullptr, 10));
}

} // namespace

Value Emitter::EvalCall(const Call *e) {
  bool index_mode = index_mode_;
  index_mode_ = false;
  Value callee = Eval(e->func);
  if (callee.IsInvalid())
    return callee;
  // What only debug mode needs is not even read without it.
  if (!debug_ && !in_vain_ && callee.kind == Value::Kind::Library &&
      (callee.library->name == "print" || callee.library->name == "device_assert")) {
    Value result;
    EvaluateInVain([&] {
      in_vain_ = true;
      result = EvalCall(e);
      in_vain_ = false;
    });
    return result;
  }
  // Bounds of ranges are indices, and so is the place of an atomic; min, max and the like pass the
  // position that they stand in on.
  bool index_arguments = false, atomic = false;
  if (callee.kind == Value::Kind::Library) {
    std::string_view name = callee.library->name;
    bool ranges = name == "range" || name == "parallel_for" || name == "parallel_for_grid" ||
                  name == "static_range";
    bool passes = name == "min" || name == "max" || name == "abs" || name == "int" ||
                  name == "minimum" || name == "maximum";
    index_arguments = ranges || (passes && index_mode);
    atomic = name.substr(0, 7) == "atomic_";
  }
  std::vector<Value> args;
  std::vector<SourceRange> where, keyword_where;
  std::vector<std::pair<std::string, Value>> keywords;
  bool format = callee.kind == Value::Kind::Library &&
                (callee.library->name == "print" || callee.library->name == "device_assert");
  auto eval = [&](const Expr *x) {
    index_mode_ = index_arguments;
    Value v;
    if (format && llvm::isa<JoinedStr>(x)) {
      std::vector<Value> values;
      v = EvalString(x, &values);
      v.items = std::make_shared<std::vector<Value>>(std::move(values));
    } else {
      v = Eval(x);
    }
    if (index_arguments)
      v = InIndex(x->range, v);
    index_mode_ = false;
    return v;
  };
  bool failed = false;
  for (const Expr *x : e->args) {
    if (llvm::isa<Starred>(x)) {
      Value inner = Eval(llvm::cast<Starred>(x)->value);
      if (!inner.IsTuple())
        return Error("unsupported-star", x->range,
                     "only a tuple or list can be spread into arguments");
      for (const Value &v : *inner.items) {
        args.push_back(v);
        where.push_back(x->range);
      }
      continue;
    }
    args.push_back(atomic && args.size() == 1 ? EvalIndex(x) : eval(x));
    where.push_back(x->range);
    failed |= args.back().IsInvalid();
  }
  for (const Keyword *k : e->keywords) {
    if (k->arg.empty())
      return Error("unsupported-star", k->range,
                   "'**' arguments are not supported; write them out");
    keywords.emplace_back(std::string(k->arg),
                          atomic && k->arg == "index" ? EvalIndex(k->value) : eval(k->value));
    keyword_where.push_back(k->value->range);
    failed |= keywords.back().second.IsInvalid();
  }
  if (failed)
    return Value::Invalid();
  bool saved = index_mode_;
  index_mode_ = index_arguments;
  const bool unused = std::exchange(unused_call_, nullptr) == e;
  Value v = CallValue(e->range, callee, std::move(args), std::move(where), std::move(keywords),
                      std::move(keyword_where));
  index_mode_ = saved;
  if (v.IsNone() && !unused && callee.kind == Value::Kind::Function &&
      ReturnsNothing(*callee.function))
    return ErrorWithNote("no-value", e->range,
                         "'" + std::string(callee.function->name) +
                             "' returns nothing, and its value is used here; end it with a return, "
                             "or call it as a statement of its own",
                         callee.function->name_range,
                         "'" + std::string(callee.function->name) + "' is defined here");
  return v;
}

Value Emitter::CallValue(const SourceRange &range, const Value &callee, std::vector<Value> args,
                         std::vector<SourceRange> where,
                         std::vector<std::pair<std::string, Value>> keywords,
                         std::vector<SourceRange> keyword_where) {
  for (const Value &v : args)
    if (v.IsInvalid())
      return v;
  switch (callee.kind) {
  case Value::Kind::Function:
    return Inline(range, *callee.function, std::move(args), std::move(where), std::move(keywords),
                  std::move(keyword_where));
  case Value::Kind::DType: {
    if (args.size() != 1 || !keywords.empty())
      return Error("argument-count", range,
                   "a cast takes one argument: asc." + std::string(sema::Name(callee.dtype)) +
                       "(x)");
    if (!args[0].IsNumber())
      return Error("type-mismatch", where[0],
                   "cannot cast " + Describe(args[0]) + " to " +
                       std::string(sema::Name(callee.dtype)));
    return Cast(range, args[0], callee.dtype);
  }
  case Value::Kind::Method: {
    args.insert(args.begin(), callee.items->front());
    where.insert(where.begin(), range);
    break;
  }
  case Value::Kind::Library:
    break;
  default:
    return Error("not-callable", range, Describe(callee) + " cannot be called");
  }
  const LibraryEntry &entry = *callee.library;
  std::string name(entry.name);
  std::vector<SignatureParameter> parameters = ParseSignature(entry.signature);
  BoundCall call;
  call.entry = &entry;
  call.range = range;
  size_t next = 0;
  auto usage = [&] { return name + "(" + std::string(entry.signature) + ")"; };
  for (const SignatureParameter &p : parameters) {
    if (p.variadic) {
      for (; next < args.size(); ++next)
        call.rest.push_back(args[next]);
      continue;
    }
    std::optional<Value> v;
    SourceRange at = range;
    if (!p.keyword_only && next < args.size()) {
      v = args[next];
      at = where[next++];
    }
    for (size_t i = 0; i < keywords.size(); ++i) {
      if (keywords[i].first != p.name)
        continue;
      if (v)
        return Error("argument-count", keyword_where[i],
                     name + "() got two values for '" + p.name + "'");
      v = keywords[i].second;
      at = keyword_where[i];
      keywords.erase(keywords.begin() + static_cast<std::ptrdiff_t>(i));
      keyword_where.erase(keyword_where.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    if (!v) {
      if (p.default_text.empty())
        return Error("argument-count", range,
                     name + "() is missing '" + p.name + "'; it is called as " + usage());
      v = DefaultValue(p.default_text);
    }
    call.args.push_back(*v);
    call.where.push_back(at);
  }
  if (next < args.size())
    return Error("argument-count", where[next],
                 name + "() takes fewer arguments; it is called as " + usage());
  if (!keywords.empty())
    return Error("unknown-argument", keyword_where[0],
                 name + "() has no argument '" + keywords[0].first + "'; it is called as " +
                     usage());
  if (no_emit_ && entry.shape != ShapeRule::Elementwise && entry.shape != ShapeRule::None)
    return Value::Invalid();
  // What is only named, or written, is not read.
  bool reads = entry.lowering != Lowering::CompileTime && entry.lowering != Lowering::View &&
               entry.name != "item" && !name.starts_with("atomic_") && !name.ends_with("_like") &&
               name != "scatter";
  for (size_t i = 0; reads && i < call.args.size(); ++i)
    if (!(name == "copy" && i == 1))
      RecordRead(call.where[i], call.args[i]);
  return entry.emit(*this, call);
}

// A default value has been computed where its function is defined, not where that is called.
Value Emitter::DefaultOf(const FunctionDef &f, const Expr *expr) {
  const auto &known = scope_.files[f.range.file].defaults;
  if (auto it = known.find(expr); it != known.end())
    return it->second;
  std::vector<std::unique_ptr<Frame>> frames;
  std::swap(frames, frames_);
  uint32_t saved_file = current_file_;
  Value folded = FoldModuleExpr(f.range.file, expr);
  current_file_ = saved_file;
  std::swap(frames, frames_);
  // Constants that came with the request have no place among the file's statements.
  if (folded.IsInvalid() || request_.constants_size() > 0)
    return folded;
  return Error("bad-default", expr->range,
               "the default value is not known where '" + std::string(f.name) +
                   "' is defined; define its constants above, or pass the argument");
}

Value Emitter::Inline(const SourceRange &range, const FunctionDef &f, std::vector<Value> args,
                      std::vector<SourceRange> where,
                      std::vector<std::pair<std::string, Value>> keywords,
                      std::vector<SourceRange> keyword_where) {
  std::string name(f.name);
  if (no_emit_)
    return Value::Invalid();
  for (const auto &frame : frames_)
    if (frame->function == &f)
      return ErrorWithNote("recursion", range,
                           "'" + name + "' calls itself; kernels cannot recurse, use a loop",
                           f.name_range, "'" + name + "' is defined here");
  if (frames_.size() > kMaxDepth)
    return Error("recursion", range, "calls are nested more than 64 deep");
  const Arguments &a = *f.args;
  if (a.vararg || a.kwarg)
    return ErrorWithNote("unsupported-star", range,
                         "a function with * or ** parameters cannot be called from a kernel",
                         f.name_range, "'" + name + "' is defined here");
  // Parameters in order; defaults belong to the last positional ones.
  struct P {
    const Arg *arg;
    const Expr *default_value;
    bool positional;
  };
  std::vector<P> parameters;
  for (const Arg *p : a.posonlyargs)
    parameters.push_back({p, nullptr, true});
  for (const Arg *p : a.args)
    parameters.push_back({p, nullptr, true});
  for (size_t i = 0; i < a.defaults.size(); ++i)
    parameters[parameters.size() - a.defaults.size() + i].default_value = a.defaults[i];
  size_t positional = parameters.size();
  for (size_t i = 0; i < a.kwonlyargs.size(); ++i)
    parameters.push_back({a.kwonlyargs[i], a.kw_defaults[i], false});
  if (args.size() > positional)
    return ErrorWithNote("argument-count", range,
                         "'" + name + "' takes " + std::to_string(positional) +
                             " positional arguments, and the call has " +
                             std::to_string(args.size()),
                         f.name_range, "'" + name + "' is defined here");
  std::vector<Value> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const P &p = parameters[i];
    std::optional<Value> v;
    SourceRange at = range;
    if (i < args.size()) {
      v = args[i];
      at = where[i];
    }
    for (size_t k = 0; k < keywords.size(); ++k) {
      if (keywords[k].first != p.arg->arg)
        continue;
      if (v)
        return Error("argument-count", keyword_where[k],
                     "'" + name + "' got two values for '" + keywords[k].first + "'");
      v = keywords[k].second;
      at = keyword_where[k];
      keywords.erase(keywords.begin() + static_cast<std::ptrdiff_t>(k));
      keyword_where.erase(keyword_where.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
    if (!v && p.default_value) {
      v = DefaultOf(f, p.default_value);
      if (v->IsInvalid()) {
        if (!diags_.HasErrors())
          Error("host-data", p.default_value->range,
                "the default value of '" + std::string(p.arg->arg) +
                    "' is no constant; pass the argument, or compute it in the body");
        return v.value();
      }
    }
    if (!v)
      return ErrorWithNote("argument-count", range,
                           "'" + name + "' is missing its argument '" + std::string(p.arg->arg) +
                               "'",
                           p.arg->range, "declared here");
    if (auto *attribute = llvm::dyn_cast_or_null<syntax::Attribute>(p.arg->annotation)) {
      if (attribute->attr == "constexpr" && v->IsNumber() && !v->IsConstant())
        return ErrorWithNote("not-static", at,
                             "'" + std::string(p.arg->arg) +
                                 "' must be known at compile time, and this is " + Describe(*v),
                             p.arg->range, "declared asc.constexpr here");
      // A literal takes the type that it is declared with.
      auto type = DTypeFromName(attribute->attr);
      if (type && v->weak && v->IsConstant() && (IsFloat(*type) || !IsFloat(v->dtype)))
        v = Cast(at, *v, *type);
    }
    values.push_back(*v);
  }
  if (!keywords.empty())
    return Error("unknown-argument", keyword_where[0],
                 "'" + name + "' has no parameter '" + keywords[0].first + "'");

  budget_.Repeat(&f, Budget::Repeated::Function, name, f.name_range);
  auto [flow, fresh] = flows_.try_emplace(&f);
  if (fresh)
    flow->second = AnalyzeFlow(f);
  auto frame_owner = std::make_unique<Frame>();
  Frame &callee = *frame_owner;
  callee.function = &f;
  callee.flow = &flow->second;
  callee.file = f.range.file;
  callee.call_site = range;
  callee.region_depth = region_depth_;
  std::string saved_path = path_;
  bool saved_index = index_mode_, saved_widen = widen_products_;
  index_mode_ = widen_products_ = false;
  path_ += "(" + std::to_string(range.line) + ":" + std::to_string(range.column) + ")";
  frames_.push_back(std::move(frame_owner));
  auto leave = llvm::make_scope_exit([&] {
    frames_.pop_back();
    path_ = saved_path;
    index_mode_ = saved_index;
    widen_products_ = saved_widen;
  });
  for (size_t i = 0; i < values.size(); ++i)
    AssignName(parameters[i].arg->arg, values[i], parameters[i].arg->range);
  if (!callee.flow->returns_only_at_end) {
    callee.result_cell = NewCell(path_ + "<return>", false);
    callee.returned = NewFlag(range);
  }
  EmitBody(StmtList(f.body.begin(), f.body.end()));
  if (callee.flow->returns_only_at_end)
    return callee.result.value_or(Value::NoneValue());
  Cell &cell = *callee.result_cell;
  bool is_none = cell.kind == Cell::Kind::Fixed && cell.fixed.IsNone();
  if (cell.kind == Cell::Kind::Unset) // no return is ever reached, or what it returned was wrong
    return diags_.HasErrors() ? Value::Invalid() : Value::NoneValue();
  if (!AlwaysReturns(f.body) && !is_none)
    return ErrorWithNote("missing-return", range,
                         "'" + name + "' returns a value on some paths only", f.name_range,
                         "add a return at its end");
  return LoadCell(cell, range);
}

// ---- Compile-time arguments ----

std::optional<int64_t> Emitter::ConstantInt(const SourceRange &range, const Value &v,
                                            std::string_view what) {
  if (v.IsConstantInt() && v.constant->i >= MinInt(DType::Int64) &&
      v.constant->i <= MaxInt(DType::Int64))
    return static_cast<int64_t>(v.constant->i);
  if (!v.IsInvalid())
    Error("not-static", range,
          v.IsConstantInt()
              ? std::string(what) + " is " + ToString(v.constant->i) + ", beyond 64 bits"
              : std::string(what) + " must be an integer known at compile time, not " +
                    Describe(v));
  return std::nullopt;
}

std::optional<bool> Emitter::ConstantBool(const SourceRange &range, const Value &v,
                                          std::string_view what) {
  if (v.IsConstantInt())
    return v.constant->i != 0;
  if (v.IsNone())
    return false;
  Error("not-static", range, std::string(what) + " must be True or False at compile time");
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Emitter::ShapeArgument(const SourceRange &range,
                                                           const Value &v) {
  std::vector<Value> dims;
  if (v.IsTuple())
    dims = *v.items;
  else
    dims = {v};
  std::vector<int64_t> shape;
  for (const Value &d : dims) {
    auto n = ConstantInt(range, d, "an axis of a shape");
    if (!n)
      return std::nullopt;
    if (*n < -1) {
      Error("shape-mismatch", range, "an axis cannot have the negative size " + std::to_string(*n));
      return std::nullopt;
    }
    shape.push_back(*n);
  }
  return shape;
}

std::optional<std::vector<int64_t>> Emitter::NewShapeArgument(const SourceRange &range,
                                                              const Value &v) {
  auto shape = ShapeArgument(range, v);
  if (shape)
    for (int64_t d : *shape)
      if (d < 0) {
        Error("shape-mismatch", range, "an axis cannot have a negative size");
        return std::nullopt;
      }
  return shape;
}

std::optional<DType> Emitter::DTypeArgument(const SourceRange &range, const Value &v) {
  std::optional<DType> t;
  if (v.kind == Value::Kind::DType)
    t = v.dtype;
  else if (v.kind == Value::Kind::String)
    t = DTypeFromName(v.text);
  else if (v.kind == Value::Kind::Library && v.library->reach & kBuiltin)
    t = v.library->name == "float"  ? std::optional(DType::Float32)
        : v.library->name == "int"  ? std::optional(DType::Int64)
        : v.library->name == "bool" ? std::optional(DType::Bool)
                                    : std::nullopt;
  if (!t) {
    Error("type-mismatch", range, "expected a dtype such as asc.float32, not " + Describe(v));
    return std::nullopt;
  }
  if (!CheckDType(range, *t))
    return std::nullopt;
  return t;
}

std::optional<int> Emitter::AxisArgument(const SourceRange &range, const Value &v, int rank) {
  auto axis = ConstantInt(range, v, "an axis");
  if (!axis)
    return std::nullopt;
  if (*axis < -rank || *axis >= rank) {
    Error("bad-axis", range,
          "axis " + std::to_string(*axis) + " is out of bounds for a tensor with " +
              std::to_string(rank) + (rank == 1 ? " axis" : " axes"));
    return std::nullopt;
  }
  return static_cast<int>(*axis < 0 ? *axis + rank : *axis);
}

bool Emitter::ExpectTensor(const SourceRange &range, const Value &v, std::string_view what) {
  if (v.IsTensor())
    return true;
  if (!v.IsInvalid())
    Error("type-mismatch", range,
          std::string(what) + " must be a tensor, not " + Describe(v) +
              (v.IsScalar() ? "; parameters that are arrays are annotated asc.float32[N] or "
                              "asc.tensor"
                            : ""));
  return false;
}

bool Emitter::ExpectNumber(const SourceRange &range, const Value &v, std::string_view what) {
  if (v.IsNumber())
    return true;
  if (!v.IsInvalid())
    Error("type-mismatch", range,
          std::string(what) + " must be a number or a tensor, not " + Describe(v));
  return false;
}

} // namespace pyasc::sema
