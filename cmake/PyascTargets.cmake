# How pyasc declares its libraries and tests.

# Two precompiled headers, of what sees MLIR and of what does not: parsing other projects' headers
# takes longer than compiling our own code does. Files still include what they use: PYASC_PCH=OFF
# builds without them. The paths are relative to the build tree and the files hold no time stamps, so
# that ccache can keep what was compiled with them.
option(PYASC_PCH "Precompile other projects' headers" ON)

# pyasc_use_pch(NAME base|mlir)
function(pyasc_use_pch name which)
  if(NOT PYASC_PCH)
    return()
  endif()
  set(pch cmake/CMakeFiles/pyasc_pch_${which}.dir/pch_${which}.cc.o)
  target_compile_options(${name} PRIVATE -Winvalid-pch -include-pch ${pch})
  get_target_property(sources ${name} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${PROJECT_BINARY_DIR}/${pch})
endfunction()

# Include paths, MLIR and a precompiled header for a target of any kind. #include paths start at the
# repository's root. mlir: its own code sees MLIR's and LLVM's headers; it links their shared
# libraries, never the static ones.
function(pyasc_target name scope mlir)
  target_include_directories(${name} ${scope} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  if(mlir)
    target_include_directories(${name} SYSTEM ${scope} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    target_link_libraries(${name} ${scope} MLIR LLVM)
    pyasc_use_pch(${name} mlir)
  else()
    pyasc_use_pch(${name} base)
  endif()
endfunction()

# pyasc_library(NAME [MLIR] SOURCES a.cc ... DEPS lib ...): a static library.
function(pyasc_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  pyasc_target(${name} PUBLIC ${ARG_MLIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# pyasc_executable(NAME [MLIR] SOURCES main.cc DEPS lib ... [OUTPUT folder of the build tree])
function(pyasc_executable name)
  cmake_parse_arguments(ARG "MLIR" "OUTPUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  pyasc_target(${name} PRIVATE ${ARG_MLIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  if(ARG_OUTPUT)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${ARG_OUTPUT})
  endif()
endfunction()

# pyasc_test(NAME [MLIR] SOURCES a_test.cc ... DEPS lib ... [TIMEOUT seconds]): a GoogleTest program,
# one ctest a program.
function(pyasc_test name)
  cmake_parse_arguments(ARG "MLIR" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  pyasc_target(${name} PRIVATE ${ARG_MLIR})
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
