# SPDX-License-Identifier: MIT
#
# Writes files as C arrays: cmake -DOUT=file.c "-DFILES=a;b" -P BuiltIn.cmake

set(types "html=text/html\\; charset=utf-8" "js=text/javascript\\; charset=utf-8" "css=text/css\\; charset=utf-8"
  "svg=image/svg+xml" "json=application/json")
set(arrays "")
set(entries "")
set(number 0)
foreach(file ${FILES})
  cmake_path(GET file FILENAME name)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  string(SUBSTRING ${extension} 1 -1 extension)
  set(type application/octet-stream)
  foreach(pair ${types})
    if(pair MATCHES "^${extension}=(.*)$")
      set(type "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {${bytes}0};\n")
  string(APPEND entries "    {\"${name}\", \"${type}\", file_${number}, sizeof file_${number} - 1},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT}
  "/* SPDX-License-Identifier: MIT */\n#include \"collector/base/built_in.h\"\n\n${arrays}\nconst struct built_in built_in_files[] = {\n${entries}    {0}};\n")
