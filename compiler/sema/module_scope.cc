#include "compiler/sema/module_scope.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/sema/flow.h"
#include "compiler/sema/library.h"

namespace pyasc::sema {

using namespace syntax;

namespace {

bool IsOurModule(std::string_view name) { return name == "pyasc" || name == "asc"; }

class Binder {
public:
  Binder(uint32_t index, FileScope &file, const ConstantFolder &fold)
      : index_(index), file_(file), fold_(fold) {}

  void Run(Stmts stmts) {
    for (const Stmt *s : stmts)
      Bind(s);
  }

private:
  void Bind(const Stmt *s) {
    switch (s->kind) {
    case NodeKind::FunctionDef: {
      auto *f = llvm::cast<FunctionDef>(s);
      Value v = Value::OfKind(Value::Kind::Function);
      v.function = f;
      Set(f->name, v, f->name_range);
      for (auto list : {f->args->defaults, f->args->kw_defaults})
        for (const Expr *x : list)
          if (Value folded = x ? fold_(index_, x) : Value(); !folded.IsInvalid())
            file_.defaults.emplace(x, folded);
      return;
    }
    case NodeKind::Import:
      for (const Alias *a : llvm::cast<Import>(s)->names) {
        // `import a.b` binds `a`; `import a.b as c` binds what is named.
        std::string_view whole = a->name;
        std::string_view name = !a->asname.empty() ? a->asname : whole.substr(0, whole.find('.'));
        std::string_view module = !a->asname.empty() ? whole : name;
        Set(name, Module(module), a->range);
      }
      return;
    case NodeKind::ImportFrom: {
      auto *i = llvm::cast<ImportFrom>(s);
      for (const Alias *a : i->names) {
        std::string_view name = a->asname.empty() ? a->name : a->asname;
        Value v;
        if (IsOurModule(i->module) || i->module == "math" || i->module == "numpy") {
          v = LibraryAttribute(IsOurModule(i->module) ? "asc" : i->module, a->name);
          if (IsOurModule(i->module) && a->name == "dims")
            dims_names_.insert(name);
        } else {
          v = Module(std::string(i->module) + "." + std::string(a->name));
          v.is_list = true; // an imported name, to be looked for in the other files
        }
        Set(name, v, a->range);
      }
      return;
    }
    case NodeKind::Assign: {
      auto *a = llvm::cast<Assign>(s);
      if (std::optional<std::vector<std::string>> dims = DeclaredDims(a->value)) {
        for (const Expr *t : a->targets)
          SetDims(t, *dims);
        return;
      }
      Value v = fold_(index_, a->value);
      for (const Expr *t : a->targets)
        SetTarget(t, v);
      return;
    }
    case NodeKind::AnnAssign: {
      auto *a = llvm::cast<AnnAssign>(s);
      if (a->value)
        SetTarget(a->target, fold_(index_, a->value));
      return;
    }
    case NodeKind::If: {
      // A condition that folds (on asc.__version__) selects; any other makes host data of what
      // its branches assign, but their functions stay reachable.
      auto *i = llvm::cast<If>(s);
      Value c = fold_(index_, i->test);
      if (c.IsConstant()) {
        Run((IsFloat(c.dtype) ? c.constant->f != 0 : c.constant->i != 0) ? i->body : i->orelse);
        return;
      }
      Hide(i->body);
      Hide(i->orelse);
      return;
    }
    case NodeKind::Try:
      // `try: import x except ImportError: ...` is common: its imports count.
      Run(llvm::cast<Try>(s)->body);
      return;
    default: {
      Stmt *one = const_cast<Stmt *>(s);
      Hide(Stmts(&one, 1));
    }
    }
  }

  // What host code assigns has a value that only running it would tell.
  void Hide(Stmts stmts) {
    ForEachStatement(stmts, [&](const Stmt *s) {
      ForEachExprOf(s, [&](const Expr *e) {
        if (auto *n = llvm::dyn_cast<syntax::Name>(e); n && n->ctx == ExprContext::Store)
          Set(n->id, Value::Invalid(), n->range);
        return true;
      });
      if (auto *f = llvm::dyn_cast<FunctionDef>(s); f && !file_.names.count(f->name))
        Bind(f);
    });
  }

  void SetTarget(const Expr *target, const Value &v) {
    if (auto *n = llvm::dyn_cast<syntax::Name>(target))
      return Set(n->id, v, n->range);
    Exprs elts;
    if (auto *t = llvm::dyn_cast<syntax::Tuple>(target))
      elts = t->elts;
    else if (auto *l = llvm::dyn_cast<List>(target))
      elts = l->elts;
    for (size_t i = 0; i < elts.size(); ++i)
      SetTarget(elts[i], v.IsTuple() && v.items->size() == elts.size() ? (*v.items)[i] : Value());
  }

  // The names that `asc.dims('N C')`, `asc.dims('N, C')` or `asc.dims(['N', 'C'])` declares.
  std::optional<std::vector<std::string>> DeclaredDims(const Expr *value) {
    auto *call = llvm::dyn_cast<Call>(value);
    if (!call || call->args.size() != 1 || !call->keywords.empty())
      return std::nullopt;
    bool is_dims = false;
    if (auto *a = llvm::dyn_cast<syntax::Attribute>(call->func)) {
      auto *module = llvm::dyn_cast<syntax::Name>(a->value);
      auto bound = module ? file_.names.find(module->id) : file_.names.end();
      is_dims = a->attr == "dims" && bound != file_.names.end() &&
                bound->second.value.kind == Value::Kind::Module &&
                bound->second.value.text == "asc";
    } else if (auto *n = llvm::dyn_cast<syntax::Name>(call->func)) {
      is_dims = dims_names_.count(n->id) != 0;
    }
    if (!is_dims)
      return std::nullopt;
    Value names = fold_(index_, call->args[0]);
    std::vector<std::string> out;
    auto split = [&](std::string_view text) {
      while (!text.empty()) {
        size_t end = std::min(text.find_first_of(", \t"), text.size());
        if (end != 0)
          out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
      }
    };
    if (names.kind == Value::Kind::String)
      split(names.text);
    else if (names.IsTuple())
      for (const Value &name : *names.items)
        split(name.kind == Value::Kind::String ? name.text : "");
    if (out.empty())
      return std::nullopt;
    return out;
  }

  // As Python unpacks it: one name alone, or as many targets as names.
  void SetDims(const Expr *target, const std::vector<std::string> &dims) {
    Exprs elts;
    if (auto *t = llvm::dyn_cast<syntax::Tuple>(target))
      elts = t->elts;
    else if (auto *l = llvm::dyn_cast<List>(target))
      elts = l->elts;
    auto *name = llvm::dyn_cast<syntax::Name>(target);
    if (name && dims.size() == 1) {
      ModuleName &entry = file_.names[std::string(name->id)];
      entry.kind = ModuleName::Kind::Dim;
      entry.value = Value::StringOf(dims[0]);
      entry.range = name->range;
    } else if (!name && elts.size() == dims.size() && dims.size() > 1) {
      for (size_t i = 0; i < elts.size(); ++i)
        SetDims(elts[i], {dims[i]});
    } else {
      SetTarget(target, Value());
    }
  }

  Value Module(std::string_view name) {
    Value v = Value::OfKind(Value::Kind::Module);
    v.text = IsOurModule(name) ? "asc" : name == "np" ? "numpy" : std::string(name);
    return v;
  }

  void Set(std::string_view name, Value v, const SourceRange &range) {
    ModuleName &entry = file_.names[std::string(name)];
    entry.kind = v.IsInvalid() ? ModuleName::Kind::HostData : ModuleName::Kind::Value;
    entry.value = std::move(v);
    entry.range = range;
  }

  uint32_t index_;
  FileScope &file_;
  const ConstantFolder &fold_;
  std::set<std::string_view> dims_names_; // what `from pyasc import dims` calls it
};

Value ToValue(const v1::ScalarValue &s) {
  if (s.has_bool_value())
    return Value::BoolConstant(s.bool_value());
  if (s.has_int_value())
    return Value::WeakInt(s.int_value());
  return Value::WeakFloat(s.float_value());
}

} // namespace

const ModuleName *ModuleScope::Find(uint32_t file, std::string_view name) const {
  if (file >= files.size())
    return nullptr;
  auto it = files[file].names.find(name);
  return it == files[file].names.end() ? nullptr : &it->second;
}

const ModuleName *ModuleScope::FindElsewhere(uint32_t file, std::string_view name) const {
  for (uint32_t i = 0; i < files.size(); ++i)
    if (i != file)
      if (const ModuleName *n = Find(i, name))
        if (n->kind == ModuleName::Kind::Value && n->value.kind != Value::Kind::Module)
          return n;
  return nullptr;
}

bool ParseFiles(const v1::CompileRequest &request, diag::DiagnosticList &diags,
                ModuleScope &scope) {
  bool ok = true;
  for (int i = 0; i < request.files_size(); ++i) {
    FileScope &file = scope.files.emplace_back();
    ParseOptions options;
    options.file = static_cast<uint32_t>(i);
    options.first_line = request.files(i).first_line();
    file.parse = Parse(request.files(i).content(), options, diags);
    ok &= file.parse.ok;
  }
  return ok;
}

void BindModuleNames(const v1::CompileRequest &request, const ConstantFolder &fold,
                     ModuleScope &scope) {
  for (uint32_t i = 0; i < scope.files.size(); ++i) {
    FileScope &file = scope.files[i];
    Value asc = Value::OfKind(Value::Kind::Module);
    asc.text = "asc";
    file.names["asc"] = {ModuleName::Kind::Value, asc, {}};
    Binder(i, file, fold).Run(file.parse.module->body);
    ForEachStatement(file.parse.module->body, [&](const Stmt *s) {
      if (auto *f = llvm::dyn_cast<FunctionDef>(s); f && IsKernel(*f))
        file.kernels.push_back(f);
    });
  }
  for (const v1::CapturedConstant &c : request.constants()) {
    if (c.file() >= scope.files.size())
      continue;
    ModuleName &entry = scope.files[c.file()].names[c.name()];
    entry.kind = ModuleName::Kind::Value;
    entry.value = ToValue(c.value());
  }
}

bool IsKernelDecorator(const Expr *decorator) {
  if (auto *call = llvm::dyn_cast<Call>(decorator))
    return IsKernelDecorator(call->func);
  if (auto *a = llvm::dyn_cast<Attribute>(decorator))
    return a->attr == "kernel" && llvm::isa<syntax::Name>(a->value);
  if (auto *n = llvm::dyn_cast<syntax::Name>(decorator))
    return n->id == "kernel";
  return false;
}

bool IsKernel(const FunctionDef &function) {
  for (const Expr *d : function.decorator_list)
    if (IsKernelDecorator(d))
      return true;
  return false;
}

} // namespace pyasc::sema
