#include "compiler/driver/npu_scan.h"

#include <algorithm>
#include <vector>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace pyasc::compiler {
namespace {

constexpr size_t kMaxBrackets = 500;
// Tokens that a list of results is looked for in.
constexpr size_t kMaxResults = 1024;

// A token: a name with its sigil (%a, @f, ^bb0), a word, or one character. Strings and comments are
// left out.
struct Token {
  llvm::StringRef text;
  bool is(llvm::StringRef other) const { return text == other; }
  bool isValue() const { return text.size() > 1 && text.front() == '%'; }
};

bool isNameCharacter(char c) { return llvm::isAlnum(c) || llvm::StringRef("_$.-").contains(c); }

std::vector<Token> tokensOf(llvm::StringRef text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++i;
    } else if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') { // ends on its line
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\')
          ++i;
      if (i < text.size() && text[i] == '"')
        ++i;
    } else if (text.substr(i).starts_with("->")) {
      tokens.push_back({text.substr(i, 2)});
      i += 2;
    } else {
      const bool sigil = c == '%' || c == '@' || c == '^' || c == '!' || c == '#';
      size_t end = i + 1;
      if (sigil || llvm::isAlnum(c) || c == '_')
        while (end < text.size() && isNameCharacter(text[end]) &&
               !text.substr(end).starts_with("->"))
          ++end;
      tokens.push_back({text.slice(i, end)});
      i = end;
    }
  }
  return tokens;
}

class Scan {
public:
  explicit Scan(llvm::StringRef text) : text_(text), tokens_(tokensOf(text)), scopes_(1) {}

  std::optional<TextFault> Run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token &token = tokens_[at_];
      if (token.is("func.func")) { // sees no values but its own
        scopes_.assign(1, {});
        arguments_.clear();
      }
      if (token.text.size() == 1 && llvm::StringRef("{([<").contains(token.text[0])) {
        if (!Open(token))
          return FaultAt(token,
                         "brackets are nested more than " + std::to_string(kMaxBrackets) + " deep");
      } else if (token.text.size() == 1 && llvm::StringRef("})]>").contains(token.text[0])) {
        Close(token);
      } else if (token.isValue()) {
        if (Defines())
          (BelongsToRegion() ? arguments_ : scopes_.back()).insert(token.text);
        else if (!IsDefined(token.text))
          return FaultAt(token,
                         "the value '" + token.text.str() + "' is used before it is defined");
      }
    }
    return std::nullopt;
  }

private:
  bool Open(const Token &token) {
    const bool named =
        at_ > 0 && (tokens_[at_ - 1].text.front() == '@' || tokens_[at_ - 1].text.front() == '^');
    brackets_.push_back({token.text[0], named});
    if (token.is("{")) {
      scopes_.emplace_back();
      std::swap(scopes_.back(), arguments_);
    }
    return brackets_.size() <= kMaxBrackets;
  }

  void Close(const Token &token) {
    if (!brackets_.empty())
      brackets_.pop_back();
    if (token.is("}") && scopes_.size() > 1)
      scopes_.pop_back();
  }

  const Token &Next(size_t ahead) const {
    static const Token kEnd = {""};
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : kEnd;
  }

  // Arguments of functions and blocks, `%a: type`; and `%a = `, `%a, %b:2 = `, `(%a, %b) = `.
  bool Defines() const {
    if (Next(1).is(":") && !brackets_.empty() && brackets_.back().kind == '(' &&
        brackets_.back().named && (tokens_[at_ - 1].is("(") || tokens_[at_ - 1].is(",")))
      return true;
    for (size_t ahead = 1; ahead < kMaxResults;) {
      if (Next(ahead).is(":") && !Next(ahead + 1).text.empty() &&
          llvm::all_of(Next(ahead + 1).text, llvm::isDigit))
        ahead += 2;
      if (Next(ahead).is("=") && !Next(ahead + 1).is("="))
        return true;
      if (Next(ahead).is(")"))
        return Next(ahead + 1).is("=");
      if (!Next(ahead).is(",") || !Next(ahead + 1).isValue())
        return false;
      ahead += 2;
    }
    return false;
  }

  // Of the region that follows: the variable of a loop, what it carries. Those of functions and
  // blocks count from where they stand.
  bool BelongsToRegion() const {
    if (!brackets_.empty() && brackets_.back().kind == '(')
      return !brackets_.back().named;
    return at_ > 0 && tokens_[at_ - 1].text.ends_with(".for");
  }

  bool IsDefined(llvm::StringRef name) const {
    return llvm::any_of(scopes_, [&](const auto &scope) { return scope.contains(name); });
  }

  TextFault FaultAt(const Token &token, std::string message) const {
    const auto offset = static_cast<size_t>(token.text.data() - text_.data());
    const llvm::StringRef before = text_.take_front(offset);
    TextFault fault;
    fault.line = static_cast<uint32_t>(before.count('\n') + 1);
    const size_t start = before.rfind('\n');
    fault.column =
        static_cast<uint32_t>(offset - (start == llvm::StringRef::npos ? 0 : start + 1) + 1);
    fault.end = fault.column + static_cast<uint32_t>(token.text.size());
    fault.message = std::move(message);
    return fault;
  }

  struct Bracket {
    char kind;
    bool named; // follows the name of a function or block
  };

  llvm::StringRef text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::vector<Bracket> brackets_;
  // What is defined, by open brace.
  std::vector<llvm::StringSet<>> scopes_;
  // What the next region defines.
  llvm::StringSet<> arguments_;
};

} // namespace

std::optional<TextFault> ScanNpuText(llvm::StringRef text) { return Scan(text).Run(); }

} // namespace pyasc::compiler
