/* SPDX-License-Identifier: MIT */
#include "cause/toolkit_libraries.h"

const char hd_toolkit_libraries[] = "AppKit\0UIKit\0SwiftUI\0QuartzCore\0CoreText\0CoreGraphics\0CoreUI\0"
                                    "HIToolbox\0RenderBox\0AttributeGraph\0TextInput\0UIFoundation\0";
const char hd_toolkit_helpers[] =
    "libsystem_\0libobjc.\0libc++\0libswift\0libdispatch.\0CoreFoundation\0Foundation\0";
