// pyasc-ast-dump [--no-fstring-positions] FILE...: the tree of each file, or what is wrong with
// it. For tests only; the output of each file follows a line "=== FILE".
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "compiler/syntax/dump.h"
#include "compiler/syntax/parse.h"

int main(int argc, char **argv) {
  pyasc::syntax::DumpOptions dump_options;
  for (int i = 1; i < argc; ++i) {
    std::string path = argv[i];
    if (path == "--no-fstring-positions") {
      dump_options.positions_in_fstrings = false;
      continue;
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      std::cerr << "pyasc-ast-dump: cannot read " << path << "\n";
      return 2;
    }
    std::string source((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    pyasc::diag::DiagnosticList diags;
    auto result = pyasc::syntax::Parse(source, {}, diags);
    std::cout << "=== " << path << "\n";
    if (result.ok)
      std::cout << pyasc::syntax::Dump(result.module, dump_options);
    for (const auto &d : diags.Take()) {
      if (d.severity() == pyasc::v1::SEVERITY_ERROR || !result.ok)
        std::cout << path << ":" << d.range().line() << ":" << d.range().column() << ": "
                  << d.message() << " [" << d.code() << "]\n";
    }
  }
  return 0;
}
