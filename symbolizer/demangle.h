/* SPDX-License-Identifier: MIT
 *
 * Names of C++, Rust and Swift, and of Objective-C's blocks, as a person writes them.
 */
#ifndef SYMBOLIZER_DEMANGLE_H
#define SYMBOLIZER_DEMANGLE_H

/* A name for a person: C++, Rust and Swift are demangled. A block of Objective-C loses the length before its
 * method. Other names, and names that are not well-formed, are copied. Caller frees; NULL: no memory. */
char *symbolizer_demangle(const char *name);

#endif
