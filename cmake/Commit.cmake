# SPDX-License-Identifier: MIT
#
# Runs in each build: writes the commit of the sources as a C file, if it is another than before. An archive of the sources has it
# in cmake/commit.txt; a copy without it has no commit. cmake -DSOURCE=folder -DOUT=file.c -P Commit.cmake

cmake_minimum_required(VERSION 3.25)
file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)
if(commit MATCHES "Format")
  set(commit "")
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT
  "/* SPDX-License-Identifier: MIT */\n#include \"cli/base/commit.h\"\n\nconst char build_commit[] = \"@commit@\";\n" @ONLY)
