#include "compiler/syntax/ast.h"

namespace pyasc::syntax {

std::string_view KindName(NodeKind kind) {
  switch (kind) {
  case NodeKind::Module:
    return "Module";
  case NodeKind::FunctionDef:
    return "FunctionDef";
  case NodeKind::AsyncFunctionDef:
    return "AsyncFunctionDef";
  case NodeKind::ClassDef:
    return "ClassDef";
  case NodeKind::Return:
    return "Return";
  case NodeKind::Delete:
    return "Delete";
  case NodeKind::Assign:
    return "Assign";
  case NodeKind::TypeAlias:
    return "TypeAlias";
  case NodeKind::AugAssign:
    return "AugAssign";
  case NodeKind::AnnAssign:
    return "AnnAssign";
  case NodeKind::For:
    return "For";
  case NodeKind::AsyncFor:
    return "AsyncFor";
  case NodeKind::While:
    return "While";
  case NodeKind::If:
    return "If";
  case NodeKind::With:
    return "With";
  case NodeKind::AsyncWith:
    return "AsyncWith";
  case NodeKind::Match:
    return "Match";
  case NodeKind::Raise:
    return "Raise";
  case NodeKind::Try:
    return "Try";
  case NodeKind::TryStar:
    return "TryStar";
  case NodeKind::Assert:
    return "Assert";
  case NodeKind::Import:
    return "Import";
  case NodeKind::ImportFrom:
    return "ImportFrom";
  case NodeKind::Global:
    return "Global";
  case NodeKind::Nonlocal:
    return "Nonlocal";
  case NodeKind::ExprStmt:
    return "Expr";
  case NodeKind::Pass:
    return "Pass";
  case NodeKind::Break:
    return "Break";
  case NodeKind::Continue:
    return "Continue";
  case NodeKind::BoolOp:
    return "BoolOp";
  case NodeKind::NamedExpr:
    return "NamedExpr";
  case NodeKind::BinOp:
    return "BinOp";
  case NodeKind::UnaryOp:
    return "UnaryOp";
  case NodeKind::Lambda:
    return "Lambda";
  case NodeKind::IfExp:
    return "IfExp";
  case NodeKind::Dict:
    return "Dict";
  case NodeKind::Set:
    return "Set";
  case NodeKind::ListComp:
    return "ListComp";
  case NodeKind::SetComp:
    return "SetComp";
  case NodeKind::DictComp:
    return "DictComp";
  case NodeKind::GeneratorExp:
    return "GeneratorExp";
  case NodeKind::Await:
    return "Await";
  case NodeKind::Yield:
    return "Yield";
  case NodeKind::YieldFrom:
    return "YieldFrom";
  case NodeKind::Compare:
    return "Compare";
  case NodeKind::Call:
    return "Call";
  case NodeKind::FormattedValue:
    return "FormattedValue";
  case NodeKind::JoinedStr:
    return "JoinedStr";
  case NodeKind::Constant:
    return "Constant";
  case NodeKind::Attribute:
    return "Attribute";
  case NodeKind::Subscript:
    return "Subscript";
  case NodeKind::Starred:
    return "Starred";
  case NodeKind::Name:
    return "Name";
  case NodeKind::List:
    return "List";
  case NodeKind::Tuple:
    return "Tuple";
  case NodeKind::Slice:
    return "Slice";
  case NodeKind::MatchValue:
    return "MatchValue";
  case NodeKind::MatchSingleton:
    return "MatchSingleton";
  case NodeKind::MatchSequence:
    return "MatchSequence";
  case NodeKind::MatchMapping:
    return "MatchMapping";
  case NodeKind::MatchClass:
    return "MatchClass";
  case NodeKind::MatchStar:
    return "MatchStar";
  case NodeKind::MatchAs:
    return "MatchAs";
  case NodeKind::MatchOr:
    return "MatchOr";
  case NodeKind::TypeVar:
    return "TypeVar";
  case NodeKind::ParamSpec:
    return "ParamSpec";
  case NodeKind::TypeVarTuple:
    return "TypeVarTuple";
  case NodeKind::Comprehension:
    return "comprehension";
  case NodeKind::ExceptHandler:
    return "ExceptHandler";
  case NodeKind::Arguments:
    return "arguments";
  case NodeKind::Arg:
    return "arg";
  case NodeKind::Keyword:
    return "keyword";
  case NodeKind::Alias:
    return "alias";
  case NodeKind::WithItem:
    return "withitem";
  case NodeKind::MatchCase:
    return "match_case";
  }
  return "";
}

namespace {

struct OpText {
  std::string_view name;
  std::string_view spelling;
};

// Each table is in the order of its enum.
constexpr OpText kBoolOperators[] = {{"And", "and"}, {"Or", "or"}};
constexpr OpText kOperators[] = {
    {"Add", "+"},    {"Sub", "-"},    {"Mult", "*"},      {"MatMult", "@"}, {"Div", "/"},
    {"Mod", "%"},    {"Pow", "**"},   {"LShift", "<<"},   {"RShift", ">>"}, {"BitOr", "|"},
    {"BitXor", "^"}, {"BitAnd", "&"}, {"FloorDiv", "//"},
};
constexpr OpText kUnaryOperators[] = {
    {"Invert", "~"}, {"Not", "not"}, {"UAdd", "+"}, {"USub", "-"}};
constexpr OpText kCmpOperators[] = {
    {"Eq", "=="},  {"NotEq", "!="}, {"Lt", "<"},         {"LtE", "<="}, {"Gt", ">"},
    {"GtE", ">="}, {"Is", "is"},    {"IsNot", "is not"}, {"In", "in"},  {"NotIn", "not in"}};

} // namespace

std::string_view OpName(BoolOperator op) { return kBoolOperators[static_cast<int>(op)].name; }
std::string_view OpName(Operator op) { return kOperators[static_cast<int>(op)].name; }
std::string_view OpName(UnaryOperator op) { return kUnaryOperators[static_cast<int>(op)].name; }
std::string_view OpName(CmpOperator op) { return kCmpOperators[static_cast<int>(op)].name; }
std::string_view OpSpelling(BoolOperator op) {
  return kBoolOperators[static_cast<int>(op)].spelling;
}
std::string_view OpSpelling(Operator op) { return kOperators[static_cast<int>(op)].spelling; }
std::string_view OpSpelling(UnaryOperator op) {
  return kUnaryOperators[static_cast<int>(op)].spelling;
}
std::string_view OpSpelling(CmpOperator op) { return kCmpOperators[static_cast<int>(op)].spelling; }

} // namespace pyasc::syntax
