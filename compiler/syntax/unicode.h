// The little of Unicode that a lexer needs.
#ifndef PYASC_COMPILER_SYNTAX_UNICODE_H
#define PYASC_COMPILER_SYNTAX_UNICODE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pyasc::syntax {

// The number of bytes of the UTF-8 sequence that `text[0]` begins; 1 for any other byte.
size_t Utf8Length(unsigned char lead);

inline bool IsUtf8Continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Decodes the character at `offset`. REQUIRES: well-formed UTF-8, offset at a character.
uint32_t DecodeUtf8(std::string_view text, size_t offset);

// Appends a code point; surrogates are encoded like any other, which is not valid UTF-8.
void AppendUtf8(std::string &out, uint32_t code_point);

// The offset of the first byte that is not part of well-formed UTF-8; npos when there is none.
size_t FindInvalidUtf8(std::string_view text);

// XID_Start, XID_Continue as Python uses them, for code points beyond ASCII.
bool IsIdentifierStart(uint32_t code_point);
bool IsIdentifierContinue(uint32_t code_point);

// Whether NFKC normalisation leaves `identifier` alone. May say false for a normal identifier with
// two combining marks in a row, never true for one that is not.
bool IsNormalIdentifier(std::string_view identifier);

} // namespace pyasc::syntax

#endif // PYASC_COMPILER_SYNTAX_UNICODE_H
