// The syntax tree: CPython 3.12's `ast`, node for node and field for field (names of types in
// CamelCase: `arguments` is Arguments). What Python's documentation says of a node holds here.
//
// All nodes, lists and strings live in the arena of the ParseResult that Parse() returned and die
// with it; they are trivially destructible, immutable after parsing, and may be read by several
// threads. Trees are at most kMaxTreeDepth deep, so walking one recursively is safe.
//
// An optional field (`expr?` in the ASDL) that is absent is a null pointer; an optional
// identifier is an empty string_view. Kinds are told apart by llvm::isa / cast / dyn_cast or a
// switch over `kind`.
#ifndef PYASC_COMPILER_SYNTAX_AST_H
#define PYASC_COMPILER_SYNTAX_AST_H

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/diag/source_range.h"
#include "llvm/Support/Casting.h"

namespace pyasc::syntax {

using diag::SourceRange;

// The order matters: classof of the abstract classes tests ranges.
enum class NodeKind : uint8_t {
  Module,
  // stmt
  FunctionDef,
  AsyncFunctionDef,
  ClassDef,
  Return,
  Delete,
  Assign,
  TypeAlias,
  AugAssign,
  AnnAssign,
  For,
  AsyncFor,
  While,
  If,
  With,
  AsyncWith,
  Match,
  Raise,
  Try,
  TryStar,
  Assert,
  Import,
  ImportFrom,
  Global,
  Nonlocal,
  ExprStmt, // `Expr` in the ASDL, a name that the base class of expressions has here
  Pass,
  Break,
  Continue,
  // expr
  BoolOp,
  NamedExpr,
  BinOp,
  UnaryOp,
  Lambda,
  IfExp,
  Dict,
  Set,
  ListComp,
  SetComp,
  DictComp,
  GeneratorExp,
  Await,
  Yield,
  YieldFrom,
  Compare,
  Call,
  FormattedValue,
  JoinedStr,
  Constant,
  Attribute,
  Subscript,
  Starred,
  Name,
  List,
  Tuple,
  Slice,
  // pattern
  MatchValue,
  MatchSingleton,
  MatchSequence,
  MatchMapping,
  MatchClass,
  MatchStar,
  MatchAs,
  MatchOr,
  // type_param
  TypeVar,
  ParamSpec,
  TypeVarTuple,
  // the rest
  Comprehension,
  ExceptHandler,
  Arguments,
  Arg,
  Keyword,
  Alias,
  WithItem,
  MatchCase,
};

// "FunctionDef", "Expr" for ExprStmt, "arguments" for Arguments: the ASDL's name.
std::string_view KindName(NodeKind kind);

enum class ExprContext : uint8_t { Load, Store, Del };
enum class BoolOperator : uint8_t { And, Or };
enum class Operator : uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
  FloorDiv,
};
enum class UnaryOperator : uint8_t { Invert, Not, UAdd, USub };
enum class CmpOperator : uint8_t { Eq, NotEq, Lt, LtE, Gt, GtE, Is, IsNot, In, NotIn };

// The ASDL's name ("Add") and the spelling ("+") of an operator.
std::string_view OpName(BoolOperator op);
std::string_view OpName(Operator op);
std::string_view OpName(UnaryOperator op);
std::string_view OpName(CmpOperator op);
std::string_view OpSpelling(BoolOperator op);
std::string_view OpSpelling(Operator op);
std::string_view OpSpelling(UnaryOperator op);
std::string_view OpSpelling(CmpOperator op);

// A deeper tree is refused by the parser.
inline constexpr int kMaxTreeDepth = 500;

struct Node {
  const NodeKind kind;
  uint16_t depth = 1; // of the subtree; the parser's bookkeeping
  // CPython gives none to Module, Arguments, Comprehension, WithItem and MatchCase; here they
  // have the range of their text (unknown for empty Arguments).
  SourceRange range;

protected:
  explicit Node(NodeKind kind) : kind(kind) {}
};

struct Stmt : Node {
  static bool classof(const Node *n) {
    return n->kind >= NodeKind::FunctionDef && n->kind <= NodeKind::Continue;
  }

protected:
  using Node::Node;
};

struct Expr : Node {
  // Whether the expression stood in parentheses of its own; `range` excludes them, except for a
  // tuple or generator, whose parentheses belong to it.
  bool parenthesized = false;

  static bool classof(const Node *n) {
    return n->kind >= NodeKind::BoolOp && n->kind <= NodeKind::Slice;
  }

protected:
  using Node::Node;
};

struct Pattern : Node {
  static bool classof(const Node *n) {
    return n->kind >= NodeKind::MatchValue && n->kind <= NodeKind::MatchOr;
  }

protected:
  using Node::Node;
};

struct TypeParam : Node {
  static bool classof(const Node *n) {
    return n->kind >= NodeKind::TypeVar && n->kind <= NodeKind::TypeVarTuple;
  }

protected:
  using Node::Node;
};

// Gives a concrete node its kind.
template <class Base, NodeKind K> struct NodeOf : Base {
  static constexpr NodeKind kKind = K;
  NodeOf() : Base(K) {}
  static bool classof(const Node *n) { return n->kind == K; }
};

template <class T> using NodeList = std::span<T *const>;
using Stmts = NodeList<Stmt>;
using Exprs = NodeList<Expr>;
using Identifier = std::string_view;

struct Comprehension;
struct ExceptHandler;
struct Arguments;
struct Arg;
struct Keyword;
struct Alias;
struct WithItem;
struct MatchCase;

struct Module : NodeOf<Node, NodeKind::Module> {
  Stmts body;
};

// ---- Statements ----

// Fields that FunctionDef and AsyncFunctionDef share. `range` begins at `def` (or `async`), not
// at the decorators, as in CPython.
struct FunctionLike : Stmt {
  Identifier name;
  SourceRange name_range;
  Arguments *args = nullptr;
  Stmts body;
  Exprs decorator_list;
  Expr *returns = nullptr;
  NodeList<TypeParam> type_params;

  static bool classof(const Node *n) {
    return n->kind == NodeKind::FunctionDef || n->kind == NodeKind::AsyncFunctionDef;
  }

protected:
  using Stmt::Stmt;
};
struct FunctionDef : NodeOf<FunctionLike, NodeKind::FunctionDef> {};
struct AsyncFunctionDef : NodeOf<FunctionLike, NodeKind::AsyncFunctionDef> {};

struct ClassDef : NodeOf<Stmt, NodeKind::ClassDef> {
  Identifier name;
  SourceRange name_range;
  Exprs bases;
  NodeList<Keyword> keywords;
  Stmts body;
  Exprs decorator_list;
  NodeList<TypeParam> type_params;
};

struct Return : NodeOf<Stmt, NodeKind::Return> {
  Expr *value = nullptr;
};

struct Delete : NodeOf<Stmt, NodeKind::Delete> {
  Exprs targets;
};

struct Assign : NodeOf<Stmt, NodeKind::Assign> {
  Exprs targets;
  Expr *value = nullptr;
};

struct TypeAlias : NodeOf<Stmt, NodeKind::TypeAlias> {
  Expr *name = nullptr;
  NodeList<TypeParam> type_params;
  Expr *value = nullptr;
};

struct AugAssign : NodeOf<Stmt, NodeKind::AugAssign> {
  Operator op = Operator::Add;
  SourceRange op_range; // of the `+=`
  Expr *target = nullptr;
  Expr *value = nullptr;
};

struct AnnAssign : NodeOf<Stmt, NodeKind::AnnAssign> {
  Expr *target = nullptr;
  Expr *annotation = nullptr;
  Expr *value = nullptr; // optional
  bool simple = false;   // a bare name without parentheses
};

struct ForLike : Stmt {
  Expr *target = nullptr;
  Expr *iter = nullptr;
  Stmts body;
  Stmts orelse;

  static bool classof(const Node *n) {
    return n->kind == NodeKind::For || n->kind == NodeKind::AsyncFor;
  }

protected:
  using Stmt::Stmt;
};
struct For : NodeOf<ForLike, NodeKind::For> {};
struct AsyncFor : NodeOf<ForLike, NodeKind::AsyncFor> {};

struct While : NodeOf<Stmt, NodeKind::While> {
  Expr *test = nullptr;
  Stmts body;
  Stmts orelse;
};

// An `elif` is an If that is alone in `orelse`.
struct If : NodeOf<Stmt, NodeKind::If> {
  Expr *test = nullptr;
  Stmts body;
  Stmts orelse;
};

struct WithLike : Stmt {
  NodeList<WithItem> items;
  Stmts body;

  static bool classof(const Node *n) {
    return n->kind == NodeKind::With || n->kind == NodeKind::AsyncWith;
  }

protected:
  using Stmt::Stmt;
};
struct With : NodeOf<WithLike, NodeKind::With> {};
struct AsyncWith : NodeOf<WithLike, NodeKind::AsyncWith> {};

struct Match : NodeOf<Stmt, NodeKind::Match> {
  Expr *subject = nullptr;
  NodeList<MatchCase> cases;
};

struct Raise : NodeOf<Stmt, NodeKind::Raise> {
  Expr *exc = nullptr;
  Expr *cause = nullptr;
};

struct TryLike : Stmt {
  Stmts body;
  NodeList<ExceptHandler> handlers;
  Stmts orelse;
  Stmts finalbody;

  static bool classof(const Node *n) {
    return n->kind == NodeKind::Try || n->kind == NodeKind::TryStar;
  }

protected:
  using Stmt::Stmt;
};
struct Try : NodeOf<TryLike, NodeKind::Try> {};
struct TryStar : NodeOf<TryLike, NodeKind::TryStar> {};

struct Assert : NodeOf<Stmt, NodeKind::Assert> {
  Expr *test = nullptr;
  Expr *msg = nullptr;
};

struct Import : NodeOf<Stmt, NodeKind::Import> {
  NodeList<Alias> names;
};

struct ImportFrom : NodeOf<Stmt, NodeKind::ImportFrom> {
  Identifier module; // dotted; empty for `from . import x`
  NodeList<Alias> names;
  int level = 0; // number of leading dots
};

struct Global : NodeOf<Stmt, NodeKind::Global> {
  std::span<const Identifier> names;
};

struct Nonlocal : NodeOf<Stmt, NodeKind::Nonlocal> {
  std::span<const Identifier> names;
};

struct ExprStmt : NodeOf<Stmt, NodeKind::ExprStmt> {
  Expr *value = nullptr;
};

struct Pass : NodeOf<Stmt, NodeKind::Pass> {};
struct Break : NodeOf<Stmt, NodeKind::Break> {};
struct Continue : NodeOf<Stmt, NodeKind::Continue> {};

// ---- Expressions ----

// `a and b and c` is one node with three values.
struct BoolOp : NodeOf<Expr, NodeKind::BoolOp> {
  BoolOperator op = BoolOperator::And;
  Exprs values;
};

struct NamedExpr : NodeOf<Expr, NodeKind::NamedExpr> {
  Expr *target = nullptr;
  Expr *value = nullptr;
};

struct BinOp : NodeOf<Expr, NodeKind::BinOp> {
  Operator op = Operator::Add;
  SourceRange op_range;
  Expr *left = nullptr;
  Expr *right = nullptr;
};

struct UnaryOp : NodeOf<Expr, NodeKind::UnaryOp> {
  UnaryOperator op = UnaryOperator::Not;
  Expr *operand = nullptr;
};

struct Lambda : NodeOf<Expr, NodeKind::Lambda> {
  Arguments *args = nullptr;
  Expr *body = nullptr;
};

struct IfExp : NodeOf<Expr, NodeKind::IfExp> {
  Expr *test = nullptr;
  Expr *body = nullptr;
  Expr *orelse = nullptr;
};

// A null key stands for `**value`.
struct Dict : NodeOf<Expr, NodeKind::Dict> {
  Exprs keys;
  Exprs values;
};

struct Set : NodeOf<Expr, NodeKind::Set> {
  Exprs elts;
};

struct ListComp : NodeOf<Expr, NodeKind::ListComp> {
  Expr *elt = nullptr;
  NodeList<Comprehension> generators;
};

struct SetComp : NodeOf<Expr, NodeKind::SetComp> {
  Expr *elt = nullptr;
  NodeList<Comprehension> generators;
};

struct DictComp : NodeOf<Expr, NodeKind::DictComp> {
  Expr *key = nullptr;
  Expr *value = nullptr;
  NodeList<Comprehension> generators;
};

struct GeneratorExp : NodeOf<Expr, NodeKind::GeneratorExp> {
  Expr *elt = nullptr;
  NodeList<Comprehension> generators;
};

struct Await : NodeOf<Expr, NodeKind::Await> {
  Expr *value = nullptr;
};

struct Yield : NodeOf<Expr, NodeKind::Yield> {
  Expr *value = nullptr; // optional
};

struct YieldFrom : NodeOf<Expr, NodeKind::YieldFrom> {
  Expr *value = nullptr;
};

// `a < b < c`: left a, ops {<, <}, comparators {b, c}.
struct Compare : NodeOf<Expr, NodeKind::Compare> {
  Expr *left = nullptr;
  std::span<const CmpOperator> ops;
  std::span<const SourceRange> op_ranges;
  Exprs comparators;
};

struct Call : NodeOf<Expr, NodeKind::Call> {
  Expr *func = nullptr;
  Exprs args;
  NodeList<Keyword> keywords;
};

struct FormattedValue : NodeOf<Expr, NodeKind::FormattedValue> {
  Expr *value = nullptr;
  int conversion = -1;         // 's', 'r', 'a' or -1
  Expr *format_spec = nullptr; // a JoinedStr, optional
};

struct JoinedStr : NodeOf<Expr, NodeKind::JoinedStr> {
  Exprs values; // Constant (Str) and FormattedValue
};

enum class ConstantKind : uint8_t { None, Bool, Ellipsis, Int, Float, Complex, Str, Bytes };

struct Constant : NodeOf<Expr, NodeKind::Constant> {
  ConstantKind constant_kind = ConstantKind::None;
  bool bool_value = false;
  // Int: the value when it fits in 64 bits without sign (literals are never negative).
  bool int_fits = false;
  bool u_prefix = false; // of Str; `kind` in the ASDL
  uint64_t int_value = 0;
  // Int: all of the value, lower-case hexadecimal without prefix or leading zeros ("0" is zero).
  std::string_view int_hex;
  // Float, and the imaginary part of Complex (the real part is zero).
  double float_value = 0;
  // Str and Bytes, escapes decoded. Str is UTF-8 in which lone surrogates (`'\ud800'`) are
  // encoded like other code points.
  std::string_view str_value;

  bool IsInt() const { return constant_kind == ConstantKind::Int; }
  bool IsStr() const { return constant_kind == ConstantKind::Str; }
};

struct Attribute : NodeOf<Expr, NodeKind::Attribute> {
  ExprContext ctx = ExprContext::Load;
  Expr *value = nullptr;
  Identifier attr;
  SourceRange attr_range;
};

struct Subscript : NodeOf<Expr, NodeKind::Subscript> {
  ExprContext ctx = ExprContext::Load;
  Expr *value = nullptr;
  Expr *slice = nullptr; // several indices are a Tuple
};

struct Starred : NodeOf<Expr, NodeKind::Starred> {
  ExprContext ctx = ExprContext::Load;
  Expr *value = nullptr;
};

struct Name : NodeOf<Expr, NodeKind::Name> {
  ExprContext ctx = ExprContext::Load;
  Identifier id;
};

struct List : NodeOf<Expr, NodeKind::List> {
  ExprContext ctx = ExprContext::Load;
  Exprs elts;
};

struct Tuple : NodeOf<Expr, NodeKind::Tuple> {
  ExprContext ctx = ExprContext::Load;
  Exprs elts;
};

struct Slice : NodeOf<Expr, NodeKind::Slice> {
  Expr *lower = nullptr;
  Expr *upper = nullptr;
  Expr *step = nullptr;
};

// ---- Patterns ----

struct MatchValue : NodeOf<Pattern, NodeKind::MatchValue> {
  Expr *value = nullptr;
};

// None, True or False.
struct MatchSingleton : NodeOf<Pattern, NodeKind::MatchSingleton> {
  Constant *value = nullptr;
};

struct MatchSequence : NodeOf<Pattern, NodeKind::MatchSequence> {
  NodeList<Pattern> patterns;
};

struct MatchMapping : NodeOf<Pattern, NodeKind::MatchMapping> {
  Exprs keys;
  NodeList<Pattern> patterns;
  Identifier rest; // optional
};

struct MatchClass : NodeOf<Pattern, NodeKind::MatchClass> {
  Expr *cls = nullptr;
  NodeList<Pattern> patterns;
  std::span<const Identifier> kwd_attrs;
  NodeList<Pattern> kwd_patterns;
};

struct MatchStar : NodeOf<Pattern, NodeKind::MatchStar> {
  Identifier name; // empty for `*_`
};

struct MatchAs : NodeOf<Pattern, NodeKind::MatchAs> {
  Pattern *pattern = nullptr; // optional
  Identifier name;            // empty for the wildcard `_`
};

struct MatchOr : NodeOf<Pattern, NodeKind::MatchOr> {
  NodeList<Pattern> patterns;
};

// ---- Type parameters ----

struct TypeVar : NodeOf<TypeParam, NodeKind::TypeVar> {
  Identifier name;
  Expr *bound = nullptr;
};

struct ParamSpec : NodeOf<TypeParam, NodeKind::ParamSpec> {
  Identifier name;
};

struct TypeVarTuple : NodeOf<TypeParam, NodeKind::TypeVarTuple> {
  Identifier name;
};

// ---- The rest ----

struct Comprehension : NodeOf<Node, NodeKind::Comprehension> {
  Expr *target = nullptr;
  Expr *iter = nullptr;
  Exprs ifs;
  bool is_async = false;
};

struct ExceptHandler : NodeOf<Node, NodeKind::ExceptHandler> {
  Expr *type = nullptr;
  Identifier name;
  Stmts body;
};

// `defaults` belong to the last parameters of posonlyargs followed by args; `kw_defaults` has one
// entry a kwonlyarg, null where there is no default.
struct Arguments : NodeOf<Node, NodeKind::Arguments> {
  NodeList<Arg> posonlyargs;
  NodeList<Arg> args;
  Arg *vararg = nullptr;
  NodeList<Arg> kwonlyargs;
  Exprs kw_defaults;
  Arg *kwarg = nullptr;
  Exprs defaults;
};

struct Arg : NodeOf<Node, NodeKind::Arg> {
  Identifier arg;
  SourceRange name_range;
  Expr *annotation = nullptr;
};

struct Keyword : NodeOf<Node, NodeKind::Keyword> {
  Identifier arg; // empty for `**value`
  SourceRange name_range;
  Expr *value = nullptr;
};

struct Alias : NodeOf<Node, NodeKind::Alias> {
  Identifier name; // dotted, or "*"
  Identifier asname;
};

struct WithItem : NodeOf<Node, NodeKind::WithItem> {
  Expr *context_expr = nullptr;
  Expr *optional_vars = nullptr;
};

struct MatchCase : NodeOf<Node, NodeKind::MatchCase> {
  Pattern *pattern = nullptr;
  Expr *guard = nullptr;
  Stmts body;
};

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_AST_H
