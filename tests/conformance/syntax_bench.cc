// syntax-bench FILE: parses FILE once for each line that it reads, and answers with the seconds
// that took. syntax_speed.py drives it, in turns with CPython's parser.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "compiler/syntax/parse.h"

int main(int argc, char **argv) {
  std::ifstream in(argc == 2 ? argv[1] : "", std::ios::binary);
  if (!in) {
    std::cerr << "usage: syntax-bench FILE\n";
    return 2;
  }
  std::string source((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (std::string line; std::getline(std::cin, line);) {
    auto begin = std::chrono::steady_clock::now();
    bool ok = false;
    {
      pyasc::diag::DiagnosticList diags;
      ok = pyasc::syntax::Parse(source, {}, diags).ok;
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << (ok ? "ok " : "refused ") << seconds.count() << std::endl;
  }
  return 0;
}
