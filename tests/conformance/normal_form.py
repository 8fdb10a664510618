"""CPython's syntax trees, written as compiler/syntax/dump.h writes ours."""
import ast
import struct

# Fields that dump.h writes on the node's own line, and those it does not write at all.
INLINE = {"id", "name", "attr", "arg", "asname", "module", "level", "names", "op", "ops", "ctx",
          "simple", "conversion", "is_async", "rest", "kwd_attrs"}
POSITIONS = (ast.expr, ast.stmt, ast.pattern, ast.arg, ast.keyword, ast.alias, ast.excepthandler)
# Nodes whose `name` or `names` are nodes rather than identifiers.
NODE_NAMES = {"Import", "ImportFrom", "TypeAlias"}


def quoted(data):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    plain = lambda b: 0x20 <= b < 0x7F and b not in b'"\\'
    return '"' + "".join(chr(b) if plain(b) else f"\\x{b:02x}" for b in data) + '"'


def constant(value, kind):
    if value is None or value is True or value is False:
        return f" value={value}"
    if value is Ellipsis:
        return " value=Ellipsis"
    if isinstance(value, int):
        return f" int={value:x}"
    if isinstance(value, float):
        return " float=" + struct.pack(">d", value).hex()
    if isinstance(value, complex):
        return " imaginary=" + struct.pack(">d", value.imag).hex()
    if isinstance(value, bytes):
        return " bytes=" + quoted(value)
    return " str=" + quoted(value) + (" kind=u" if kind == "u" else "")


class NormalForm:
    def __init__(self, source, positions_in_fstrings):
        # Lines as the parser counts them: str.splitlines() would split at form feeds, too.
        text = source.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = [line.encode("utf-8") for line in text.split("\n")]
        self.positions_in_fstrings = positions_in_fstrings
        self.out = []
        self.fstrings = 0

    def column(self, line, offset):
        """From CPython's byte offsets to columns."""
        data = self.lines[line - 1]
        if data.isascii():
            return offset + 1
        return len(data[:offset].decode("utf-8")) + 1

    def visit(self, field, node, depth):
        head = "  " * depth + (field + ": " if field else "") + type(node).__name__
        has_position = isinstance(node, POSITIONS) or type(node).__name__ in (
            "TypeVar", "ParamSpec", "TypeVarTuple")
        if has_position and (not self.fstrings or self.positions_in_fstrings):
            head += (f" @{node.lineno}:{self.column(node.lineno, node.col_offset)}"
                     f"-{node.end_lineno}:{self.column(node.end_lineno, node.end_col_offset)}")
        children = []
        if isinstance(node, ast.Constant):
            head += constant(node.value, node.kind)
        elif isinstance(node, ast.MatchSingleton):
            head += constant(node.value, None)
        else:
            for name, value in ast.iter_fields(node):
                by_name = name in ("name", "names") and type(node).__name__ in NODE_NAMES
                if name in INLINE and not by_name:
                    head += self.inline(name, value)
                elif name not in ("type_comment", "type_ignores"):
                    children.append((name, value))
        self.out.append(head)
        self.fstrings += isinstance(node, ast.JoinedStr)
        for name, value in children:
            for child in value if isinstance(value, list) else [value]:
                if child is not None:
                    self.visit(name, child, depth + 1)
                elif isinstance(value, list):
                    self.out.append("  " * (depth + 1) + name + ": null")
        self.fstrings -= isinstance(node, ast.JoinedStr)

    @staticmethod
    def inline(name, value):
        text = ""
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                text += f" {name}={type(item).__name__}"
            elif isinstance(item, int):
                text += f" {name}={item}"
            elif item:
                text += f" {name}={quoted(item)}"
        return text


def normal_form(source, positions_in_fstrings):
    form = NormalForm(source, positions_in_fstrings)
    form.visit("", ast.parse(source), 0)
    return "\n".join(form.out) + "\n"
