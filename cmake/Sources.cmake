# SPDX-License-Identifier: MIT
#
# Which source files belong to a target: all of a room, less those for another processor. Signal handlers are
# taken out of the sanitizers' instrumentation here.

# hd_sources(variable pattern...): the matching files, with their properties set.
function(hd_sources out)
  set(files "")
  foreach(pattern ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
    list(APPEND files ${found})
  endforeach()
  list(REMOVE_DUPLICATES files)
  set(here ${CMAKE_SYSTEM_PROCESSOR})
  if(APPLE)
    string(REPLACE arm64 aarch64 here ${here}) # Apple's name of it
  endif()
  foreach(processor x86_64 aarch64)
    if(NOT here STREQUAL processor)
      list(FILTER files EXCLUDE REGEX "_${processor}\\.(c|cc|S)$")
    endif()
  endforeach()
  foreach(file ${files})
    if(file MATCHES "_handler(_x86_64|_aarch64)?\\.c$")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()
