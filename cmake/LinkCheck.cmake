# SPDX-License-Identifier: MIT
#
# The link check: part of every release build, see src/allowed-symbols.txt.

if(PROJECT_IS_TOP_LEVEL AND CMAKE_BUILD_TYPE STREQUAL Release AND HANGDOG_SANITIZER STREQUAL "")
  set(stamp ${PROJECT_BINARY_DIR}/link-check.stamp)
  set(objects ${PROJECT_BINARY_DIR}/hd_core.objects)
  file(GENERATE OUTPUT ${objects} CONTENT "$<JOIN:$<TARGET_OBJECTS:hd_core>,\n>\n")
  set(libraries "")
  foreach(library hangdog-shared hangdog-preload)
    if(TARGET ${library})
      list(APPEND libraries $<TARGET_FILE:${library}>)
    endif()
  endforeach()
  # The promise is about the product, which gcc makes for x86-64; clang's code for the same source is a tenth larger, and
  # arm64's a fifth, with segments on pages of 64 KiB.
  set(preload_bytes_max "")
  if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    math(EXPR preload_bytes_max "296 * 1024")
  endif()
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -E env NM=${CMAKE_NM} LD=${CMAKE_LINKER} READELF=${CMAKE_READELF} STRIP=${CMAKE_STRIP}
            PRELOAD_BYTES_MAX=${preload_bytes_max}
            ${PROJECT_SOURCE_DIR}/scripts/check-symbols ${objects} ${libraries}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS $<TARGET_OBJECTS:hd_core> ${objects} ${libraries}
            src/allowed-symbols.txt scripts/check-symbols
    COMMENT "Checking what the library leaves undefined"
    VERBATIM)
  add_custom_target(link-check ALL DEPENDS ${stamp})
endif()
