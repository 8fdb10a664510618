#!/usr/bin/env python3
"""Writes unicode_tables.inc: which characters beyond ASCII an identifier may hold.

    python3 compiler/syntax/gen_unicode_tables.py > compiler/syntax/unicode_tables.inc

Python compares identifiers after NFKC normalisation. The lexer has no normaliser; it refuses an
identifier that is not normal already, which these tables let it see.
"""
import sys
import unicodedata

POINTS = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]


def ranges(members):
    out = []
    for c in sorted(members):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def table(name, members):
    print(f"constexpr CodePointRange {name}[] = {{")
    items = [f"{{0x{a:X}, 0x{b:X}}}," for a, b in ranges(members)]
    for i in range(0, len(items), 5):
        print("    " + " ".join(items[i:i + 5]))
    print("};")


def composes_with_previous():
    """Characters that merge into a composed character with what stands before them."""
    out = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))  # Hangul vowels and finals
    for c in POINTS:
        parts = unicodedata.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            if unicodedata.normalize("NFC", chr(c)) == chr(c):
                out.add(int(parts[1], 16))
    return out


start = [c for c in POINTS if chr(c).isidentifier()]
cont = [c for c in POINTS if ("a" + chr(c)).isidentifier()]
unstable = {c for c in cont if unicodedata.normalize("NFKC", chr(c)) != chr(c)}
unstable |= composes_with_previous() & set(cont)
marks = [c for c in cont if unicodedata.combining(chr(c))]

print("// Made by gen_unicode_tables.py; Unicode " + unicodedata.unidata_version + ".")
print("// clang-format off")
table("kIdentifierStart", start)
table("kIdentifierContinue", cont)
table("kNotNormal", unstable)
table("kCombiningMark", marks)
print("// clang-format on", file=sys.stdout)
