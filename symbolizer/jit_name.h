/* SPDX-License-Identifier: MIT
 * Parses the names that JIT compilers give to functions in perf maps. V8's "JS:*tick /srv/app.js:12:7" is the
 * optimized function tick at line 12 of /srv/app.js. CPython's "py::tick:/srv/app.py" has a function and a
 * file. Other names stay as they are. Pure.
 */
#ifndef SYMBOLIZER_JIT_NAME_H
#define SYMBOLIZER_JIT_NAME_H

struct jit_name {
    const char *function; /* never NULL */
    const char *file;     /* NULL: not known */
    int line;             /* first line of the function; 0: not known */
    const char *language; /* "javascript", "python"; NULL: not known to be a script's */
};

/* Takes `name` apart, in place. */
struct jit_name jit_name_parse(char *name);

#endif
