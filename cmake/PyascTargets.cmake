# How pyasc declares its libraries and tests.

# pyasc_library(NAME SOURCES a.cc ... DEPS lib ... [MLIR])
# A static library; #include paths start at the repository's root. MLIR: the code sees MLIR's and
# LLVM's headers and links their shared libraries, never the static ones.
function(pyasc_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  if(ARG_MLIR)
    target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    pyasc_use_mlir_pch(${name})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# One precompiled header for all that sees MLIR: parsing MLIR's headers takes longer than compiling
# our own code does. Files still include what they use: PYASC_PCH=OFF builds without it. The path is
# relative to the build tree and the file holds no time stamps, so that ccache can keep what was
# compiled with it.
option(PYASC_PCH "Precompile MLIR's headers" ON)
function(pyasc_use_mlir_pch name)
  if(NOT PYASC_PCH)
    return()
  endif()
  set(pch cmake/CMakeFiles/pyasc_mlir_pch.dir/mlir_pch.cc.o)
  target_compile_options(${name} PRIVATE -Winvalid-pch -include-pch ${pch})
  get_target_property(sources ${name} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${PROJECT_BINARY_DIR}/${pch})
endfunction()

# pyasc_test(NAME SOURCES a_test.cc ... DEPS lib ...): a GoogleTest program, one ctest a program.
function(pyasc_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

# pyasc_filecheck_tests(DIRECTORY): every *.mlir below it is a ctest; its first lines hold
# `// RUN: pyasc-opt ... %s | FileCheck %s`.
function(pyasc_filecheck_tests dir)
  file(GLOB files CONFIGURE_DEPENDS ${dir}/*.mlir)
  foreach(file ${files})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${file})
    add_test(NAME ${name}
             COMMAND ${PROJECT_SOURCE_DIR}/tests/filecheck.sh $<TARGET_FILE:pyasc-opt>
                     ${FILECHECK_PROGRAM} ${file})
    set_tests_properties(${name} PROPERTIES TIMEOUT 60)
  endforeach()
endfunction()
