# SPDX-License-Identifier: MIT
#
# The version is written once, in the public header.

function(hd_read_version out)
  set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/hangdog/hangdog.h)
  set(version "")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  foreach(part MAJOR MINOR PATCH)
    if(NOT text MATCHES "#[ \t]*define[ \t]+HANGDOG_VERSION_${part}[ \t]+([0-9]+)")
      message(FATAL_ERROR "${header} has no HANGDOG_VERSION_${part}")
    endif()
    list(APPEND version ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN version "." version)
  set(${out} ${version} PARENT_SCOPE)
endfunction()
