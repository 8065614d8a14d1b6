/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust functions as they were written, by libiberty. A name comes from anybody's file: what
 * would take long or much is left as it is. Ordinary code.
 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/symbolizer.h"

#define NAME_MAX_BYTES 4096   /* a longer one is not demangled: the demanglers recurse */
#define RESULT_MAX_BYTES 8192 /* back-references can make megabytes of a short name */

struct text {
    char bytes[RESULT_MAX_BYTES + 1];
    size_t used;
    jmp_buf full;
};

/* The next piece. A demangler that has told enough ends no other way; it may lose an identifier's memory. */
static void add(const char *piece, size_t n, void *text) {
    struct text *t = text;
    if (n > RESULT_MAX_BYTES - t->used)
        longjmp(t->full, 1);
    if (n != 0)
        memcpy(t->bytes + t->used, piece, n);
    t->used += n;
}

/* Rust's "for<'a, 'b>" is a number after FG or DG, to which libiberty counts also where it prints nothing: a
 * few characters are years. No function has more than one digit of them (63); a name that has these letters
 * elsewhere, as CFGuard, is lost with them. */
static bool may_count_for_ever(const char *name) {
    const char *at = name;
    while ((at = strpbrk(at, "FD")) != NULL) {
        at++;
        if (at[0] == 'G' && isalnum((unsigned char)at[1]) && isalnum((unsigned char)at[2]))
            return true;
    }
    return false;
}

/* Rust's older mangling is C++'s with a hash as its last part, and is tried first. */
static bool demangle(const char *name, struct text *t) {
    bool cpp = strncmp(name, "_Z", 2) == 0, rust = strncmp(name, "_R", 2) == 0;
    t->used = 0;
    if ((!cpp && !rust) || strlen(name) > NAME_MAX_BYTES || (rust && may_count_for_ever(name)) ||
        setjmp(t->full) != 0)
        return false;
    if (rust_demangle_callback(name, DMGL_NO_OPTS, add, t) != 0)
        return t->used != 0;
    t->used = 0;
    return cpp && cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_TYPES, add, t) != 0;
}

char *symbolizer_demangle(const char *name) {
    struct text t;
    if (!demangle(name, &t))
        return strdup(name);
    t.bytes[t.used] = 0;
    return strdup(t.bytes);
}
