# SPDX-License-Identifier: MIT
#
# Writes the page of `hangdog show --html` as a C array, an empty one where there is no page:
# cmake -DOUT=file.c "-DPAGE=report.html" -P ReportPage.cmake

set(bytes "")
if(PAGE)
  file(READ ${PAGE} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
endif()
file(WRITE ${OUT}
  "/* SPDX-License-Identifier: MIT */\n#include \"cli/render/html_page.h\"\n\nconst unsigned char html_page_template[] = {${bytes}0};\nconst size_t html_page_template_bytes = sizeof html_page_template - 1;\n")
