# SPDX-License-Identifier: MIT
#
# Fuzzers: tests/fuzz/NAME.c becomes fuzz-NAME, with what tests/fuzz/support/ has. clang's libFuzzer drives them.

set(HANGDOG_FUZZ OFF CACHE BOOL "The fuzzers (clang, libFuzzer)")
if(NOT HANGDOG_FUZZ)
  return()
endif()
hd_sources(fuzz_support tests/fuzz/support/*.c)
hd_sources(fuzz_sources tests/fuzz/*.c)
foreach(source ${fuzz_sources})
  cmake_path(GET source STEM name)
  add_executable(fuzz-${name} ${source} ${fuzz_support})
  target_include_directories(fuzz-${name} PRIVATE ${CMAKE_SOURCE_DIR} tests/fuzz/support include src)
  target_link_libraries(fuzz-${name} PRIVATE hd_collector hd_cli hd_macho hangdog-static)
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
endforeach()
