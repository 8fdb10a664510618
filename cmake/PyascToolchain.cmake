# The packages that pyasc stands on, all from Debian 12.

find_program(LLD_PROGRAM NAMES ld.lld-19 ld.lld)
if(LLD_PROGRAM)
  add_link_options(-fuse-ld=${LLD_PROGRAM})
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# A precompiled header and what uses it must agree: -pthread everywhere, and -fPIC for programs too.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
add_compile_options(-pthread -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations)
if(PYASC_SANITIZE)
  # Line tables are what reports need; asserts stay on. `fuzzer-no-link` counts the branches taken,
  # for the programs in tests/fuzz/libfuzzer. What libMLIR does itself is seen by neither.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -gline-tables-only")
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=vptr
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

find_package(Threads REQUIRED)
# Module mode, and before gRPC: Debian's protobuf has no config file.
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(GTest REQUIRED)

# MLIR says "19" is not compatible with 19.1.7: ask for 19.1.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-19)
find_package(MLIR 19.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_program(FILECHECK_PROGRAM NAMES FileCheck-19 FileCheck REQUIRED)
