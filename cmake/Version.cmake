# SPDX-License-Identifier: MIT
#
# The version is written once, in the public header.

function(hd_read_version out)
  set(header ${CMAKE_CURRENT_SOURCE_DIR}/include/hangdog/hangdog.h)
  set(version "")
  if(EXISTS ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    foreach(part MAJOR MINOR PATCH)
      if(text MATCHES "#[ \t]*define[ \t]+HANGDOG_VERSION_${part}[ \t]+([0-9]+)")
        list(APPEND version ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endif()
  list(LENGTH version parts)
  if(NOT parts EQUAL 3)
    set(version 0 1 0)
  endif()
  list(JOIN version "." version)
  set(${out} ${version} PARENT_SCOPE)
endfunction()
