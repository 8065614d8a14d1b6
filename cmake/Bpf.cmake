# SPDX-License-Identifier: MIT
#
# The BPF programs of src/outside/linux/bpf: clang compiles them, bpftool makes a header of the object, and libbpf
# loads it. Without one of the three the build has no hooks by BPF.

option(HANGDOG_BPF "Hooks by BPF programs, if libbpf, clang and bpftool are installed" ON)

if(HANGDOG_BPF AND PKG_CONFIG_FOUND)
  pkg_check_modules(libbpf QUIET IMPORTED_TARGET GLOBAL libbpf>=1.0)
  find_library(HANGDOG_LIBBPF NAMES libbpf.a) # a container or an older system may lack the shared library
  find_program(HANGDOG_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
  find_program(HANGDOG_BPFTOOL bpftool PATHS /usr/sbin /sbin)
endif()
set(has_bpf OFF)
if(TARGET PkgConfig::libbpf AND HANGDOG_CLANG AND HANGDOG_BPFTOOL)
  set(has_bpf ON)
else()
  list(FILTER outside_sources EXCLUDE REGEX "/linux/bpf_")
  message(STATUS "No hooks by BPF: libbpf, clang or bpftool is missing (scripts/install-dependencies build)")
endif()

# hd_bpf(target): adds the programs to the target that has the sources of src/outside.
function(hd_bpf target)
  if(NOT has_bpf)
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/src/outside/linux/bpf)
  set(made ${PROJECT_BINARY_DIR}/bpf)
  file(MAKE_DIRECTORY ${made})
  file(GLOB parts CONFIGURE_DEPENDS ${folder}/*.h ${folder}/arch/*.h)
  string(REPLACE x86_64 x86 cpu ${CMAKE_SYSTEM_PROCESSOR})
  string(REPLACE aarch64 arm64 cpu ${cpu})
  # The kernel's public headers of this system lie in a folder that has the compiler's name of the CPU.
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
  add_custom_command(
    OUTPUT ${made}/waits.skel.h
    COMMAND ${HANGDOG_CLANG} -O2 -g -target bpf -D__TARGET_ARCH_${cpu} -isystem /usr/include/${multiarch}
      -Wall -Wextra -Wno-unused-parameter -Werror -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=. -fdebug-compilation-dir=. -c ${folder}/waits.bpf.c -o ${made}/waits.bpf.o
    # It drops the debug information but the types, and merges the sections.
    COMMAND ${HANGDOG_BPFTOOL} gen object ${made}/waits.o ${made}/waits.bpf.o
    # clang-tidy finds a leak in each such header, since it does not know what libbpf frees.
    COMMAND sh -c "echo '// NOLINTBEGIN' && ${HANGDOG_BPFTOOL} gen skeleton waits.o name waits && echo '// NOLINTEND'" > ${made}/waits.skel.h
    WORKING_DIRECTORY ${made}
    DEPENDS ${folder}/waits.bpf.c ${parts}
    COMMENT "Compiling the BPF programs"
    VERBATIM)
  target_sources(${target} PRIVATE ${made}/waits.skel.h)
  target_include_directories(${target} SYSTEM PRIVATE ${made})
  target_compile_definitions(${target} PRIVATE HD_HAS_BPF)
  target_link_libraries(${target} PUBLIC hangdog-static)
  if(HANGDOG_LIBBPF)
    target_link_libraries(${target} PUBLIC ${HANGDOG_LIBBPF} elf z)
  else()
    target_link_libraries(${target} PUBLIC PkgConfig::libbpf)
  endif()
endfunction()
