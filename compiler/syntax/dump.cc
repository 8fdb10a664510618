#include "compiler/syntax/dump.h"

#include <cstdio>
#include <cstring>

namespace pyasc::syntax {
namespace {

std::string Quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '"' || c == '\\') {
      char hex[8];
      snprintf(hex, sizeof(hex), "\\x%02x", byte);
      out += hex;
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string_view ContextName(ExprContext ctx) {
  return ctx == ExprContext::Load ? "Load" : ctx == ExprContext::Store ? "Store" : "Del";
}

class Dumper {
public:
  explicit Dumper(const DumpOptions &options) : options_(options) {}

  void Visit(std::string_view field, const Node *node);
  std::string Take() { return std::move(out_); }

private:
  // Attributes that stand on the node's own line.
  void Text(std::string_view field, std::string_view value) {
    out_.append(" ").append(field).append("=").append(value);
  }
  void Id(std::string_view field, std::string_view value) {
    if (!value.empty())
      Text(field, Quoted(value));
  }
  void Ids(std::string_view field, std::span<const Identifier> values) {
    for (Identifier value : values)
      Id(field, value);
  }
  void Ctx(ExprContext ctx) { Text("ctx", ContextName(ctx)); }
  void ConstantText(const Constant *c);

  // Children; `fields` alternates names and nodes or lists.
  void Child(std::string_view field, const Node *node) {
    if (node != nullptr)
      Visit(field, node);
  }
  template <class T> void Child(std::string_view field, const std::span<T *const> &list) {
    for (const T *node : list) {
      if (node != nullptr)
        Visit(field, node);
      else
        Line(std::string(field) + ": null");
    }
  }
  void Line(std::string_view text) {
    out_.push_back('\n');
    out_.append(static_cast<size_t>(depth_) * 2, ' ').append(text);
  }
  void Attributes(const Node *node);
  void Children(const Node *node);
  void StatementChildren(const Node *node);
  void ExpressionChildren(const Node *node);

  DumpOptions options_;
  std::string out_;
  int depth_ = 0;
  int fstrings_ = 0;
};

bool HasPosition(NodeKind kind) {
  switch (kind) {
  case NodeKind::Module:
  case NodeKind::Comprehension:
  case NodeKind::Arguments:
  case NodeKind::WithItem:
  case NodeKind::MatchCase:
    return false;
  default:
    return true;
  }
}

void Dumper::Visit(std::string_view field, const Node *node) {
  std::string head(field);
  if (!field.empty())
    head += ": ";
  head += KindName(node->kind);
  if (out_.empty())
    out_ = head;
  else
    Line(head);
  bool positions = options_.positions && (fstrings_ == 0 || options_.positions_in_fstrings);
  if (positions && HasPosition(node->kind)) {
    const SourceRange &r = node->range;
    out_ += " @" + std::to_string(r.line) + ":" + std::to_string(r.column) + "-" +
            std::to_string(r.end_line) + ":" + std::to_string(r.end_column);
  }
  Attributes(node);
  ++depth_;
  fstrings_ += node->kind == NodeKind::JoinedStr;
  Children(node);
  fstrings_ -= node->kind == NodeKind::JoinedStr;
  --depth_;
}

void Dumper::ConstantText(const Constant *c) {
  switch (c->constant_kind) {
  case ConstantKind::None:
    return Text("value", "None");
  case ConstantKind::Bool:
    return Text("value", c->bool_value ? "True" : "False");
  case ConstantKind::Ellipsis:
    return Text("value", "Ellipsis");
  case ConstantKind::Int:
    return Text("int", c->int_hex);
  case ConstantKind::Float:
  case ConstantKind::Complex: {
    uint64_t bits;
    std::memcpy(&bits, &c->float_value, sizeof(bits));
    char hex[24];
    snprintf(hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(bits));
    return Text(c->constant_kind == ConstantKind::Float ? "float" : "imaginary", hex);
  }
  case ConstantKind::Str:
    Text("str", Quoted(c->str_value));
    if (c->u_prefix)
      Text("kind", "u");
    return;
  case ConstantKind::Bytes:
    return Text("bytes", Quoted(c->str_value));
  }
}

void Dumper::Attributes(const Node *node) {
  using llvm::cast;
  switch (node->kind) {
  case NodeKind::FunctionDef:
  case NodeKind::AsyncFunctionDef:
    return Id("name", cast<FunctionLike>(node)->name);
  case NodeKind::ClassDef:
    return Id("name", cast<ClassDef>(node)->name);
  case NodeKind::AugAssign:
    return Text("op", OpName(cast<AugAssign>(node)->op));
  case NodeKind::AnnAssign:
    return Text("simple", cast<AnnAssign>(node)->simple ? "1" : "0");
  case NodeKind::ImportFrom:
    Id("module", cast<ImportFrom>(node)->module);
    return Text("level", std::to_string(cast<ImportFrom>(node)->level));
  case NodeKind::Global:
    return Ids("names", cast<Global>(node)->names);
  case NodeKind::Nonlocal:
    return Ids("names", cast<Nonlocal>(node)->names);
  case NodeKind::BoolOp:
    return Text("op", OpName(cast<BoolOp>(node)->op));
  case NodeKind::BinOp:
    return Text("op", OpName(cast<BinOp>(node)->op));
  case NodeKind::UnaryOp:
    return Text("op", OpName(cast<UnaryOp>(node)->op));
  case NodeKind::Compare:
    for (CmpOperator op : cast<Compare>(node)->ops)
      Text("ops", OpName(op));
    return;
  case NodeKind::FormattedValue:
    return Text("conversion", std::to_string(cast<FormattedValue>(node)->conversion));
  case NodeKind::Constant:
    return ConstantText(cast<Constant>(node));
  case NodeKind::Attribute:
    Id("attr", cast<Attribute>(node)->attr);
    return Ctx(cast<Attribute>(node)->ctx);
  case NodeKind::Subscript:
    return Ctx(cast<Subscript>(node)->ctx);
  case NodeKind::Starred:
    return Ctx(cast<Starred>(node)->ctx);
  case NodeKind::Name:
    Id("id", cast<Name>(node)->id);
    return Ctx(cast<Name>(node)->ctx);
  case NodeKind::List:
    return Ctx(cast<List>(node)->ctx);
  case NodeKind::Tuple:
    return Ctx(cast<Tuple>(node)->ctx);
  case NodeKind::MatchMapping:
    return Id("rest", cast<MatchMapping>(node)->rest);
  case NodeKind::MatchClass:
    return Ids("kwd_attrs", cast<MatchClass>(node)->kwd_attrs);
  case NodeKind::MatchStar:
    return Id("name", cast<MatchStar>(node)->name);
  case NodeKind::MatchAs:
    return Id("name", cast<MatchAs>(node)->name);
  case NodeKind::MatchSingleton:
    return ConstantText(cast<MatchSingleton>(node)->value);
  case NodeKind::TypeVar:
    return Id("name", cast<TypeVar>(node)->name);
  case NodeKind::ParamSpec:
    return Id("name", cast<ParamSpec>(node)->name);
  case NodeKind::TypeVarTuple:
    return Id("name", cast<TypeVarTuple>(node)->name);
  case NodeKind::Comprehension:
    return Text("is_async", cast<Comprehension>(node)->is_async ? "1" : "0");
  case NodeKind::ExceptHandler:
    return Id("name", cast<ExceptHandler>(node)->name);
  case NodeKind::Arg:
    return Id("arg", cast<Arg>(node)->arg);
  case NodeKind::Keyword:
    return Id("arg", cast<Keyword>(node)->arg);
  case NodeKind::Alias:
    Id("name", cast<Alias>(node)->name);
    return Id("asname", cast<Alias>(node)->asname);
  default:
    return;
  }
}

void Dumper::Children(const Node *node) {
  using llvm::cast;
  if (llvm::isa<Stmt>(node))
    return StatementChildren(node);
  if (llvm::isa<Expr>(node))
    return ExpressionChildren(node);
  switch (node->kind) {
  case NodeKind::Module:
    return Child("body", cast<Module>(node)->body);
  case NodeKind::MatchValue:
    return Child("value", cast<MatchValue>(node)->value);
  case NodeKind::MatchSequence:
    return Child("patterns", cast<MatchSequence>(node)->patterns);
  case NodeKind::MatchMapping: {
    const auto *n = cast<MatchMapping>(node);
    Child("keys", n->keys);
    return Child("patterns", n->patterns);
  }
  case NodeKind::MatchClass: {
    const auto *n = cast<MatchClass>(node);
    Child("cls", n->cls);
    Child("patterns", n->patterns);
    return Child("kwd_patterns", n->kwd_patterns);
  }
  case NodeKind::MatchAs:
    return Child("pattern", cast<MatchAs>(node)->pattern);
  case NodeKind::MatchOr:
    return Child("patterns", cast<MatchOr>(node)->patterns);
  case NodeKind::TypeVar:
    return Child("bound", cast<TypeVar>(node)->bound);
  case NodeKind::Comprehension: {
    const auto *n = cast<Comprehension>(node);
    Child("target", n->target);
    Child("iter", n->iter);
    return Child("ifs", n->ifs);
  }
  case NodeKind::ExceptHandler: {
    const auto *n = cast<ExceptHandler>(node);
    Child("type", n->type);
    return Child("body", n->body);
  }
  case NodeKind::Arguments: {
    const auto *n = cast<Arguments>(node);
    Child("posonlyargs", n->posonlyargs);
    Child("args", n->args);
    Child("vararg", n->vararg);
    Child("kwonlyargs", n->kwonlyargs);
    Child("kw_defaults", n->kw_defaults);
    Child("kwarg", n->kwarg);
    return Child("defaults", n->defaults);
  }
  case NodeKind::Arg:
    return Child("annotation", cast<Arg>(node)->annotation);
  case NodeKind::Keyword:
    return Child("value", cast<Keyword>(node)->value);
  case NodeKind::WithItem: {
    const auto *n = cast<WithItem>(node);
    Child("context_expr", n->context_expr);
    return Child("optional_vars", n->optional_vars);
  }
  case NodeKind::MatchCase: {
    const auto *n = cast<MatchCase>(node);
    Child("pattern", n->pattern);
    Child("guard", n->guard);
    return Child("body", n->body);
  }
  default:
    return;
  }
}

void Dumper::StatementChildren(const Node *node) {
  using llvm::cast;
  switch (node->kind) {
  case NodeKind::FunctionDef:
  case NodeKind::AsyncFunctionDef: {
    const auto *n = cast<FunctionLike>(node);
    Child("args", n->args);
    Child("body", n->body);
    Child("decorator_list", n->decorator_list);
    Child("returns", n->returns);
    return Child("type_params", n->type_params);
  }
  case NodeKind::ClassDef: {
    const auto *n = cast<ClassDef>(node);
    Child("bases", n->bases);
    Child("keywords", n->keywords);
    Child("body", n->body);
    Child("decorator_list", n->decorator_list);
    return Child("type_params", n->type_params);
  }
  case NodeKind::Return:
    return Child("value", cast<Return>(node)->value);
  case NodeKind::Delete:
    return Child("targets", cast<Delete>(node)->targets);
  case NodeKind::Assign: {
    const auto *n = cast<Assign>(node);
    Child("targets", n->targets);
    return Child("value", n->value);
  }
  case NodeKind::TypeAlias: {
    const auto *n = cast<TypeAlias>(node);
    Child("name", n->name);
    Child("type_params", n->type_params);
    return Child("value", n->value);
  }
  case NodeKind::AugAssign: {
    const auto *n = cast<AugAssign>(node);
    Child("target", n->target);
    return Child("value", n->value);
  }
  case NodeKind::AnnAssign: {
    const auto *n = cast<AnnAssign>(node);
    Child("target", n->target);
    Child("annotation", n->annotation);
    return Child("value", n->value);
  }
  case NodeKind::For:
  case NodeKind::AsyncFor: {
    const auto *n = cast<ForLike>(node);
    Child("target", n->target);
    Child("iter", n->iter);
    Child("body", n->body);
    return Child("orelse", n->orelse);
  }
  case NodeKind::While: {
    const auto *n = cast<While>(node);
    Child("test", n->test);
    Child("body", n->body);
    return Child("orelse", n->orelse);
  }
  case NodeKind::If: {
    const auto *n = cast<If>(node);
    Child("test", n->test);
    Child("body", n->body);
    return Child("orelse", n->orelse);
  }
  case NodeKind::With:
  case NodeKind::AsyncWith: {
    const auto *n = cast<WithLike>(node);
    Child("items", n->items);
    return Child("body", n->body);
  }
  case NodeKind::Match: {
    const auto *n = cast<Match>(node);
    Child("subject", n->subject);
    return Child("cases", n->cases);
  }
  case NodeKind::Raise: {
    const auto *n = cast<Raise>(node);
    Child("exc", n->exc);
    return Child("cause", n->cause);
  }
  case NodeKind::Try:
  case NodeKind::TryStar: {
    const auto *n = cast<TryLike>(node);
    Child("body", n->body);
    Child("handlers", n->handlers);
    Child("orelse", n->orelse);
    return Child("finalbody", n->finalbody);
  }
  case NodeKind::Assert: {
    const auto *n = cast<Assert>(node);
    Child("test", n->test);
    return Child("msg", n->msg);
  }
  case NodeKind::Import:
    return Child("names", cast<Import>(node)->names);
  case NodeKind::ImportFrom:
    return Child("names", cast<ImportFrom>(node)->names);
  case NodeKind::ExprStmt:
    return Child("value", cast<ExprStmt>(node)->value);
  default:
    return;
  }
}

void Dumper::ExpressionChildren(const Node *node) {
  using llvm::cast;
  switch (node->kind) {
  case NodeKind::BoolOp:
    return Child("values", cast<BoolOp>(node)->values);
  case NodeKind::NamedExpr: {
    const auto *n = cast<NamedExpr>(node);
    Child("target", n->target);
    return Child("value", n->value);
  }
  case NodeKind::BinOp: {
    const auto *n = cast<BinOp>(node);
    Child("left", n->left);
    return Child("right", n->right);
  }
  case NodeKind::UnaryOp:
    return Child("operand", cast<UnaryOp>(node)->operand);
  case NodeKind::Lambda: {
    const auto *n = cast<Lambda>(node);
    Child("args", n->args);
    return Child("body", n->body);
  }
  case NodeKind::IfExp: {
    const auto *n = cast<IfExp>(node);
    Child("test", n->test);
    Child("body", n->body);
    return Child("orelse", n->orelse);
  }
  case NodeKind::Dict: {
    const auto *n = cast<Dict>(node);
    Child("keys", n->keys);
    return Child("values", n->values);
  }
  case NodeKind::Set:
    return Child("elts", cast<Set>(node)->elts);
  case NodeKind::ListComp: {
    const auto *n = cast<ListComp>(node);
    Child("elt", n->elt);
    return Child("generators", n->generators);
  }
  case NodeKind::SetComp: {
    const auto *n = cast<SetComp>(node);
    Child("elt", n->elt);
    return Child("generators", n->generators);
  }
  case NodeKind::DictComp: {
    const auto *n = cast<DictComp>(node);
    Child("key", n->key);
    Child("value", n->value);
    return Child("generators", n->generators);
  }
  case NodeKind::GeneratorExp: {
    const auto *n = cast<GeneratorExp>(node);
    Child("elt", n->elt);
    return Child("generators", n->generators);
  }
  case NodeKind::Await:
    return Child("value", cast<Await>(node)->value);
  case NodeKind::Yield:
    return Child("value", cast<Yield>(node)->value);
  case NodeKind::YieldFrom:
    return Child("value", cast<YieldFrom>(node)->value);
  case NodeKind::Compare: {
    const auto *n = cast<Compare>(node);
    Child("left", n->left);
    return Child("comparators", n->comparators);
  }
  case NodeKind::Call: {
    const auto *n = cast<Call>(node);
    Child("func", n->func);
    Child("args", n->args);
    return Child("keywords", n->keywords);
  }
  case NodeKind::FormattedValue: {
    const auto *n = cast<FormattedValue>(node);
    Child("value", n->value);
    return Child("format_spec", n->format_spec);
  }
  case NodeKind::JoinedStr:
    return Child("values", cast<JoinedStr>(node)->values);
  case NodeKind::Attribute:
    return Child("value", cast<Attribute>(node)->value);
  case NodeKind::Subscript: {
    const auto *n = cast<Subscript>(node);
    Child("value", n->value);
    return Child("slice", n->slice);
  }
  case NodeKind::Starred:
    return Child("value", cast<Starred>(node)->value);
  case NodeKind::List:
    return Child("elts", cast<List>(node)->elts);
  case NodeKind::Tuple:
    return Child("elts", cast<Tuple>(node)->elts);
  case NodeKind::Slice: {
    const auto *n = cast<Slice>(node);
    Child("lower", n->lower);
    Child("upper", n->upper);
    return Child("step", n->step);
  }
  default:
    return;
  }
}

} // namespace

std::string Dump(const Node *node, const DumpOptions &options) {
  Dumper dumper(options);
  dumper.Visit("", node);
  return dumper.Take() + "\n";
}

} // namespace pyasc::syntax
