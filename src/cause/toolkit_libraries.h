/* SPDX-License-Identifier: MIT
 *
 * The names of the system's GUI toolkits. Each name is the start of a library's file name. A list is one
 * string, with a NUL after each name. An array of pointers would cost a relocation for each.
 */
#ifndef HD_TOOLKIT_LIBRARIES_H
#define HD_TOOLKIT_LIBRARIES_H

/* Libraries of toolkits, and libraries that work for their caller. An empty name ends a list. */
extern const char hd_toolkit_libraries[];
extern const char hd_toolkit_helpers[];

#endif
