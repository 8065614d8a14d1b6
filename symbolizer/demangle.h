/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust as a person writes them.
 */
#ifndef SYMBOLIZER_DEMANGLE_H
#define SYMBOLIZER_DEMANGLE_H

/* A name for a person: C++ and Rust are demangled, what is not mangled or not well-formed is copied. Caller
 * frees; NULL: no memory. */
char *symbolizer_demangle(const char *name);

#endif
