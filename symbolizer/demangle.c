/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust functions as they were written, by libiberty; Swift's by swift_name. A name comes
 * from anybody's file: what would take long or much is left as it is. Ordinary code.
 */
#include "symbolizer/demangle.h"

#include "symbolizer/block_name.h"
#include "symbolizer/swift_name.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <limits.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 4096   /* a longer one is not demangled: the demanglers recurse */
#define RESULT_MAX_BYTES 8192 /* back-references can make megabytes of a short name */

struct text {
    char bytes[RESULT_MAX_BYTES + 1];
    size_t used;
    jmp_buf full;
};

/* Appends a piece. A longjmp ends a demangler whose text is too long: no other way exists. It may leak an
 * identifier. */
static void add(const char *piece, size_t n, void *text) {
    struct text *t = text;
    if (n > RESULT_MAX_BYTES - t->used) {
        longjmp(t->full, 1);
    }
    if (n != 0) {
        memcpy(t->bytes + t->used, piece, n);
    }
    t->used += n;
}

/* Hides large numbers from libiberty. Rust's "for<'a, 'b>" is a number after FG or DG. Libiberty counts up to
 * this number even if it prints nothing, so a few characters can cost years. A real number has one digit (63
 * lifetimes). A longer one is part of an identifier, as in CFGuard, or of a crate's hash. There another
 * letter replaces the G. This letter starts no type, so a real number would make the name invalid. Returns
 * the letter, which followed no F or D before. 0: no such letter exists; the replacement then truncates the
 * name, which is invalid too. */
static char hide_numbers(char *name) {
    const char *hidden = "kgqrw0123456789";
    bool used[UCHAR_MAX + 1] = {false};
    for (const char *at = name; (at = strpbrk(at, "FD")) != NULL;) {
        used[(unsigned char)*++at] = true;
    }
    while (*hidden != 0 && used[(unsigned char)*hidden]) {
        hidden++;
    }
    for (char *at = name; (at = strpbrk(at, "FD")) != NULL;) {
        if (*++at == 'G' && isalnum((unsigned char)at[1]) && isalnum((unsigned char)at[2])) {
            *at = *hidden;
        }
    }
    return *hidden;
}

static void show_again(char *text, char hidden) {
    for (char *at = text; (at = strpbrk(at, "FD")) != NULL;) {
        if (*++at == hidden && hidden != 0) {
            *at = 'G';
        }
    }
}

/* True: the text has a surrogate or a code point above the last one, which JSON cannot represent. libiberty
 * writes such characters from punycode. */
static bool has_no_character(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        if ((at[0] == 0xed && at[1] >= 0xa0) || (at[0] == 0xf0 && at[1] < 0x90) ||
            (at[0] == 0xf4 && at[1] >= 0x90) || at[0] > 0xf4) {
            return true;
        }
    }
    return false;
}

/* Rust's older mangling is C++'s with a hash as its last part, and is tried first. */
static bool read_name(const char *name, struct text *t) {
    t->used = 0;
    if (setjmp(t->full) != 0) {
        return false;
    }
    if (rust_demangle_callback(name, DMGL_NO_OPTS, add, t) != 0) {
        return t->used != 0;
    }
    t->used = 0;
    return name[1] == 'Z' && cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_TYPES, add, t) != 0;
}

static bool demangle(const char *name, struct text *t) {
    char copy[NAME_MAX_BYTES + 1];
    if (swift_is_mangled(name)) {
        return swift_name(name, t->bytes, sizeof t->bytes) != 0;
    }
    bool rust = strncmp(name, "_R", 2) == 0;
    size_t bytes = strlen(name);
    if ((!rust && strncmp(name, "_Z", 2) != 0) || bytes > NAME_MAX_BYTES) {
        return false;
    }
    memcpy(copy, name, bytes + 1);
    char hidden = rust ? hide_numbers(copy) : 0;
    if (!read_name(copy, t)) {
        return false;
    }
    t->bytes[t->used] = 0;
    show_again(t->bytes, hidden);
    return !has_no_character(t->bytes);
}

char *symbolizer_demangle(const char *name) {
    struct text t;
    if (!demangle(name, &t)) {
        return strdup(block_name(name));
    }
    return strdup(t.bytes);
}
