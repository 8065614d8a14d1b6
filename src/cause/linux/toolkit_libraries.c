/* SPDX-License-Identifier: MIT */
#include "cause/toolkit_libraries.h"

const char hd_toolkit_libraries[] =
    "libgtk-\0libgdk\0libpango\0libcairo\0libpixman-\0libharfbuzz\0libfreetype\0"
    "libfontconfig\0librsvg-\0libXft\0libQt5Gui\0libQt5Widgets\0libQt5Quick\0"
    "libQt6Gui\0libQt6Widgets\0libQt6Quick\0libwx_\0libfltk\0libtk8\0";
const char hd_toolkit_helpers[] =
    "libc.so\0libm.so\0libglib-\0libgobject-\0libstdc++\0libQt5Core\0libQt6Core\0libX11\0libxcb\0";
