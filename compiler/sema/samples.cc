#include "compiler/sema/samples.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "compiler/sema/build_kernel.h"
#include "compiler/sema/flow.h"
#include "compiler/sema/module_scope.h"
#include "compiler/sema/signature.h"

namespace pyasc::sema {

using namespace syntax;

namespace {

using Sizes = std::map<std::string, int64_t, std::less<>>;

// Multiples of 128 that differ from each other, so that one size in another's place shows.
constexpr int64_t kGeneral[] = {256, 384, 640, 896, 1152, 1408, 1664, 1920};
constexpr int64_t kOdd[] = {7, 11, 13, 17, 19, 23, 29, 31};
constexpr int64_t kEqual = 64;
// No annotation needs sizes beyond this.
constexpr int64_t kMostRaised = 4096;
// A search through the types of open parameters ends here.
constexpr size_t kMaxGuesses = 96;

class Sampler {
public:
  Sampler(const ModuleScope &scope, const v1::CompileRequest &request, const FunctionDef &kernel)
      : scope_(scope), request_(request), kernel_(kernel) {}

  KernelSamples Run();

private:
  struct Parameter {
    std::string name;
    const Expr *default_value = nullptr;
    Annotation annotation;
    const v1::Argument *given = nullptr;
    bool open = false; // its type has to be guessed
  };

  void ReadParameters();
  // The symbols of annotations, in order of appearance.
  void CollectSymbols();
  void BindGivenSizes();
  std::optional<int64_t> Evaluate(const Expr *e, const Sizes &sizes) const;
  std::string Symbol(std::string_view name) const;
  // An annotated axis without elements whose symbols are open; null when there is none.
  const Expr *EmptyAxis(const Sizes &sizes) const;
  // Raises one of the axis's symbols by the least that makes it greater.
  bool Raise(const Expr *axis, Sizes &sizes) const;
  // Sizes from `choose`, raised until every axis has elements. Where no sizes do that, the kernel
  // is tried all the same: the compiler says what is wrong with it.
  Sizes MakeSizes(const std::function<int64_t(size_t)> &choose) const;
  std::optional<v1::Argument> Annotated(const Parameter &p, const Sizes &sizes) const;
  std::vector<v1::Argument> Guesses(const Parameter &p) const;
  void AddSample(const Sizes &sizes, const std::vector<v1::Argument> &guesses);
  static std::string TypeText(const v1::Argument &argument);

  const ModuleScope &scope_;
  const v1::CompileRequest &request_;
  const FunctionDef &kernel_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> symbols_;
  Sizes given_sizes_;
  KernelSamples out_;
};

void Sampler::ReadParameters() {
  for (const auto &[arg, default_value] : ParametersOf(*kernel_.args)) {
    Parameter &p = parameters_.emplace_back();
    p.name = std::string(arg->arg);
    p.default_value = default_value;
    p.annotation = ReadAnnotation(arg->annotation);
    for (const v1::Argument &argument : request_.arguments())
      if (argument.name() == p.name)
        p.given = &argument;
    if (p.given || p.default_value)
      continue;
    // An annotation that is no type is the compiler's to complain of, whatever the argument.
    const Annotation &a = p.annotation;
    p.open = a.type_name.empty() || a.any_tensor || a.is_constexpr || a.any_rank;
    if (p.open)
      out_.guessed.push_back(p.name);
  }
}

std::string Sampler::Symbol(std::string_view name) const {
  const ModuleName *global = scope_.Find(kernel_.range.file, name);
  if (!global)
    return std::string(name);
  return global->kind == ModuleName::Kind::Dim ? global->value.text : "";
}

void Sampler::CollectSymbols() {
  for (const Parameter &p : parameters_)
    for (const Expr *dim : p.annotation.dims)
      ForEachExpr(dim, [&](const Expr *e) {
        auto *n = llvm::dyn_cast<syntax::Name>(e);
        std::string symbol = n ? Symbol(n->id) : "";
        if (!symbol.empty() &&
            std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end())
          symbols_.push_back(symbol);
        return true;
      });
}

void Sampler::BindGivenSizes() {
  for (const Parameter &p : parameters_) {
    if (!p.given || !p.given->has_tensor() || p.annotation.any_rank ||
        p.annotation.dims.size() != static_cast<size_t>(p.given->tensor().shape_size()))
      continue;
    for (size_t i = 0; i < p.annotation.dims.size(); ++i)
      if (auto *n = llvm::dyn_cast<syntax::Name>(p.annotation.dims[i]))
        given_sizes_.emplace(Symbol(n->id), p.given->tensor().shape(static_cast<int>(i)));
  }
}

std::optional<int64_t> Sampler::Evaluate(const Expr *e, const Sizes &sizes) const {
  if (auto *n = llvm::dyn_cast<syntax::Name>(e)) {
    const ModuleName *global = scope_.Find(kernel_.range.file, n->id);
    if (global && global->value.IsConstantInt())
      return static_cast<int64_t>(global->value.constant->i);
    auto it = sizes.find(Symbol(n->id));
    return it == sizes.end() ? std::nullopt : std::optional(it->second);
  }
  if (auto *c = llvm::dyn_cast<syntax::Constant>(e); c && c->IsInt())
    return c->int_fits && c->int_value <= INT64_MAX ? std::optional<int64_t>(c->int_value)
                                                    : std::nullopt;
  if (auto *u = llvm::dyn_cast<UnaryOp>(e); u && u->op == UnaryOperator::USub) {
    auto x = Evaluate(u->operand, sizes);
    return x && *x != INT64_MIN ? std::optional(-*x) : std::nullopt;
  }
  auto *b = llvm::dyn_cast<BinOp>(e);
  if (!b)
    return std::nullopt;
  auto x = Evaluate(b->left, sizes), y = Evaluate(b->right, sizes);
  if (!x || !y)
    return std::nullopt;
  int64_t result;
  switch (b->op) {
  case Operator::Add:
    return __builtin_add_overflow(*x, *y, &result) ? std::nullopt : std::optional(result);
  case Operator::Sub:
    return __builtin_sub_overflow(*x, *y, &result) ? std::nullopt : std::optional(result);
  case Operator::Mult:
    return __builtin_mul_overflow(*x, *y, &result) ? std::nullopt : std::optional(result);
  case Operator::FloorDiv:
  case Operator::Mod: {
    if (*y == 0 || *y == -1)
      return std::nullopt;
    int64_t quotient = *x / *y;
    if (quotient * *y != *x && (*x < 0) != (*y < 0))
      --quotient;
    return b->op == Operator::FloorDiv ? quotient : *x - *y * quotient;
  }
  default:
    return std::nullopt;
  }
}

const Expr *Sampler::EmptyAxis(const Sizes &sizes) const {
  for (const Parameter &p : parameters_)
    for (const Expr *dim : p.annotation.dims) {
      std::optional<int64_t> size = Evaluate(dim, sizes);
      if (!size || *size >= 1)
        continue;
      Names reads;
      CollectReads(dim, reads);
      // A size that is what it is: none is legal, and less the compiler's to complain of.
      for (std::string_view name : reads)
        if (std::string symbol = Symbol(name); !symbol.empty() && !given_sizes_.count(symbol))
          return dim;
    }
  return nullptr;
}

bool Sampler::Raise(const Expr *axis, Sizes &sizes) const {
  std::optional<int64_t> now = Evaluate(axis, sizes);
  Names reads;
  CollectReads(axis, reads);
  for (int64_t step = 1; step <= kMostRaised; step *= 2)
    for (std::string_view name : reads) {
      std::string symbol = Symbol(name);
      auto it = sizes.find(symbol);
      if (symbol.empty() || given_sizes_.count(symbol) || it == sizes.end())
        continue;
      // General sizes stay general.
      int64_t unit = it->second % 128 == 0 ? 128 : 1;
      Sizes raised = sizes;
      raised[symbol] += unit * step;
      std::optional<int64_t> size = Evaluate(axis, raised);
      if (size && now && *size > *now) {
        sizes = std::move(raised);
        return true;
      }
    }
  return false;
}

Sizes Sampler::MakeSizes(const std::function<int64_t(size_t)> &choose) const {
  Sizes sizes = given_sizes_;
  for (size_t i = 0; i < symbols_.size(); ++i)
    sizes.emplace(symbols_[i], choose(i));
  const Sizes chosen = sizes;
  for (int tries = 0; tries < 256; ++tries) {
    const Expr *axis = EmptyAxis(sizes);
    if (!axis)
      return sizes;
    if (!Raise(axis, sizes))
      break;
  }
  return chosen;
}

std::optional<v1::Argument> Sampler::Annotated(const Parameter &p, const Sizes &sizes) const {
  v1::Argument argument;
  argument.set_name(p.name);
  // Anything will do for an annotation that is no type: the compiler refuses it first.
  v1::DType dtype = DTypeToProto(p.annotation.dtype.value_or(DType::Float32));
  if (!p.annotation.has_dims) {
    argument.set_scalar(dtype);
    return argument;
  }
  argument.mutable_tensor()->set_dtype(dtype);
  for (const Expr *dim : p.annotation.dims) {
    std::optional<int64_t> size =
        llvm::isa<syntax::Slice>(dim) ? std::optional(kEqual) : Evaluate(dim, sizes);
    // Likewise for an axis that is no size.
    argument.mutable_tensor()->add_shape(std::max<int64_t>(size.value_or(kEqual), 0));
  }
  return argument;
}

std::vector<v1::Argument> Sampler::Guesses(const Parameter &p) const {
  std::vector<v1::Argument> guesses;
  auto add = [&]() -> v1::Argument & {
    v1::Argument &argument = guesses.emplace_back();
    argument.set_name(p.name);
    return argument;
  };
  const Annotation &a = p.annotation;
  if (a.is_constexpr) {
    for (int64_t value : {32, 1, 2})
      add().mutable_constexpr_value()->set_int_value(value);
    add().mutable_constexpr_value()->set_float_value(0.5);
    add().mutable_constexpr_value()->set_bool_value(true);
    return guesses;
  }
  std::vector<v1::DType> dtypes = {v1::DTYPE_FLOAT32, v1::DTYPE_FLOAT16, v1::DTYPE_INT32};
  if (a.dtype)
    dtypes = {DTypeToProto(*a.dtype)};
  for (v1::DType dtype : dtypes) {
    for (int rank : {2, 1, 3, 4}) {
      v1::TensorType &type = *add().mutable_tensor();
      type.set_dtype(dtype);
      for (int i = 0; i < rank; ++i)
        type.add_shape(kEqual);
    }
    if (a.type_name.empty() && dtype != v1::DTYPE_FLOAT16)
      add().set_scalar(dtype == v1::DTYPE_INT32 ? v1::DTYPE_INT64 : dtype);
  }
  return guesses;
}

std::string Sampler::TypeText(const v1::Argument &argument) {
  if (argument.has_constexpr_value()) {
    const v1::ScalarValue &v = argument.constexpr_value();
    return v.has_bool_value()  ? (v.bool_value() ? "True" : "False")
           : v.has_int_value() ? std::to_string(v.int_value())
                               : "0.5";
  }
  if (argument.has_scalar())
    return std::string(Name(*DTypeFromProto(argument.scalar())));
  std::string text(Name(*DTypeFromProto(argument.tensor().dtype())));
  text += "[";
  for (int i = 0; i < argument.tensor().shape_size(); ++i)
    text += (i ? ", " : "") + std::to_string(argument.tensor().shape(i));
  return text + "]";
}

void Sampler::AddSample(const Sizes &sizes, const std::vector<v1::Argument> &guesses) {
  Sample sample;
  size_t next_guess = 0;
  std::string text;
  auto say = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  };
  for (const std::string &symbol : symbols_)
    if (!given_sizes_.count(symbol))
      say(symbol, std::to_string(sizes.at(symbol)));
  for (const Parameter &p : parameters_) {
    if (p.given) {
      sample.arguments.push_back(*p.given);
    } else if (p.open) {
      sample.arguments.push_back(guesses[next_guess++]);
      say(p.name, TypeText(sample.arguments.back()));
    } else if (!p.default_value) {
      if (std::optional<v1::Argument> argument = Annotated(p, sizes))
        sample.arguments.push_back(*std::move(argument));
    }
  }
  sample.text = text;
  for (const Sample &other : out_.samples)
    if (other.text == text)
      return;
  out_.samples.push_back(std::move(sample));
}

KernelSamples Sampler::Run() {
  out_.name = std::string(kernel_.name);
  out_.name_range = kernel_.name_range;
  ReadParameters();
  CollectSymbols();
  BindGivenSizes();
  if (out_.guessed.empty()) {
    auto from = [](const int64_t(&table)[8]) {
      return [&table](size_t i) { return table[i % 8]; };
    };
    auto all = [](int64_t size) { return [size](size_t) { return size; }; };
    for (const Sizes &sizes : {MakeSizes(from(kGeneral)), MakeSizes(all(kEqual)),
                               MakeSizes(from(kOdd)), MakeSizes(all(1))})
      AddSample(sizes, {});
    return std::move(out_);
  }
  // All open parameters alike first, then all combinations.
  const Sizes sizes = MakeSizes([](size_t) { return kEqual; });
  std::vector<std::vector<v1::Argument>> choices;
  size_t longest = 0;
  for (const Parameter &p : parameters_)
    if (p.open) {
      choices.push_back(Guesses(p));
      longest = std::max(longest, choices.back().size());
    }
  auto pick = [&](const std::function<size_t(size_t)> &index) {
    std::vector<v1::Argument> guesses;
    for (size_t i = 0; i < choices.size(); ++i)
      guesses.push_back(choices[i][index(i) % choices[i].size()]);
    AddSample(sizes, guesses);
  };
  for (size_t k = 0; k < longest; ++k)
    pick([&](size_t) { return k; });
  std::vector<size_t> digits(choices.size());
  while (out_.samples.size() < kMaxGuesses) {
    size_t at = 0;
    while (at < digits.size() && ++digits[at] == choices[at].size())
      digits[at++] = 0;
    if (at == digits.size())
      break;
    pick([&](size_t i) { return digits[i]; });
  }
  return std::move(out_);
}

} // namespace

std::vector<KernelSamples> SampleSignatures(mlir::MLIRContext &context,
                                            const v1::CompileRequest &request,
                                            diag::DiagnosticList &diags) {
  ModuleScope scope;
  if (!LoadModules(context, request, diags, scope))
    return {};
  std::vector<KernelSamples> out;
  if (scope.files.empty() || scope.files[0].kernels.empty() || !request.kernel().empty()) {
    const FunctionDef *kernel = FindKernel(request, scope, diags);
    if (kernel)
      out.push_back(Sampler(scope, request, *kernel).Run());
    return out;
  }
  WarnOfMissedKernels(scope, diags);
  const std::vector<const FunctionDef *> &kernels = scope.files[0].kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    // As in Python, the last definition of a name counts.
    bool replaced = std::any_of(kernels.begin() + static_cast<ptrdiff_t>(i) + 1, kernels.end(),
                                [&](const FunctionDef *k) { return k->name == kernels[i]->name; });
    if (!replaced)
      out.push_back(Sampler(scope, request, *kernels[i]).Run());
  }
  return out;
}

} // namespace pyasc::sema
