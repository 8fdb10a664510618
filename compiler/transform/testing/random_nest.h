// Random loop nests as MLIR text, for differential tests.
#ifndef PYASC_COMPILER_TRANSFORM_TESTING_RANDOM_NEST_H
#define PYASC_COMPILER_TRANSFORM_TESTING_RANDOM_NEST_H

#include <random>
#include <string>

namespace pyasc::testing_support {

// A function `name` over int32 buffers with one nest: loops with constant, triangular and
// strip-mined bounds, guards, reversed, strided and diagonal indices, updates and scalar cells.
// All accesses are in bounds.
std::string randomNest(std::mt19937 &random, const std::string &name);

} // namespace pyasc::testing_support

#endif // PYASC_COMPILER_TRANSFORM_TESTING_RANDOM_NEST_H
