// What a fuzz target does with a broken promise: says which, and stops so that libFuzzer keeps the
// input. Unlike assert(), it is there in every build.
#ifndef PYASC_TESTS_FUZZ_LIBFUZZER_FUZZ_CHECK_H
#define PYASC_TESTS_FUZZ_LIBFUZZER_FUZZ_CHECK_H

#include <cstdio>
#include <cstdlib>

#define FUZZ_CHECK(condition)                                                                      \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);         \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

#endif // PYASC_TESTS_FUZZ_LIBFUZZER_FUZZ_CHECK_H
