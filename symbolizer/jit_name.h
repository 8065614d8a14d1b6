/* SPDX-License-Identifier: MIT
 *
 * What the makers of code at run time call it in their maps: V8's "JS:*tick /srv/app.js:12:7" is the function
 * tick at line 12 of /srv/app.js, optimized, CPython's "py::tick:/srv/app.py" that of a file. Other names are
 * left as they are. Pure.
 */
#ifndef SYMBOLIZER_JIT_NAME_H
#define SYMBOLIZER_JIT_NAME_H

struct jit_name {
    const char *function; /* never NULL */
    const char *file;     /* NULL: not told */
    int line;             /* where the function begins; 0: not told */
    const char *language; /* "javascript", "python"; NULL: not known to be a script's */
};

/* Takes `name` apart, in place. */
struct jit_name jit_name_parse(char *name);

#endif
