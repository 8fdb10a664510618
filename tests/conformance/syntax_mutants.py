"""Python texts with a few tokens wrong: most are refused, and the rest means something else."""
import ast
import re
import textwrap

TOKEN = re.compile(
    r"""[^\W\d]\w*|\d[\w.]*|[rbuf]{0,2}(?:'''|\"\"\"|'|")|\n[ \t]*|[ \t]+"""
    r"""|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^@=<>!:]=|->|\.\.\.|.""", re.DOTALL | re.IGNORECASE)

# What is put in where it does not belong.
STRAY = """( ) [ ] { } : , ; . ... -> := ! = == != < <= ** * + - ~ @ @= += as if elif else for in not and
or is lambda yield await async def class return None True _ match case type with try except except*
finally pass import from global del assert raise while 1 0x1 1.5 1j 'a' b'a' f'{a}' f'{ }'
f'{a:{b}}'""".split() + ["\\\n", "#", "\n", "\n\t", "''' '"]

MAX_LINES = 25


def statements(text):
    """Each statement of a file that is not long, as a text of its own."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.end_lineno - node.lineno < MAX_LINES:
            piece = textwrap.dedent("\n".join(lines[node.lineno - 1:node.end_lineno])) + "\n"
            try:
                ast.parse(piece)
            except (SyntaxError, ValueError):
                continue  # an elif, or a statement after others on its line
            yield piece


def mutate(text, rng):
    """Some tokens dropped, doubled, swapped, moved or put in."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not tokens:
            break
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.randrange(6)
        if kind == 0:
            del tokens[i]
        elif kind == 1:
            tokens.insert(i, tokens[i])
        elif kind == 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif kind == 3:
            tokens[i] = tokens[j]
        elif kind == 4:
            tokens.insert(i, tokens[j])
        else:
            tokens.insert(i, f" {rng.choice(STRAY)} ")
    return "".join(tokens)
