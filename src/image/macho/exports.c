/* SPDX-License-Identifier: MIT
 *
 * A node of the trie begins with a size and as many bytes about an exported name; size 0: no name ends here.
 * Then the number of edges follows. Each edge is a string, and the offset of the node behind it.
 */
#include "image/macho/exports.h"

#include <string.h>

#include "image/macho/cursor.h"

#define NAME_MAX_BYTES 256u
#define BUDGET (64u * 1024u) /* bytes of the trie that one name may cost */

enum { /* flags of an export */
    KIND = 0x03,
    KIND_THREAD_LOCAL = 0x01,
    KIND_ABSOLUTE = 0x02,
    REEXPORT = 0x08,
};

/* The address that the node at the cursor exports, 0: none. */
static uint64_t address_at(struct hd_cursor *c, const struct hd_macho_tables *t) {
    if (hd_cursor_uleb(c) == 0) {
        return 0; /* only a beginning of names */
    }
    uint64_t flags = hd_cursor_uleb(c), offset = hd_cursor_uleb(c);
    if (c->failed || (flags & REEXPORT) != 0 || (flags & KIND) == KIND_THREAD_LOCAL) {
        return 0;
    }
    return (flags & KIND) == KIND_ABSOLUTE ? offset : t->text + offset;
}

/* Reads the string of an edge. Returns how many letters of `rest` it is equal to; 0: it differs. */
static size_t match(struct hd_cursor *c, const char *rest) {
    size_t n = 0;
    bool equal = true;
    for (;;) {
        char letter = (char)hd_cursor_byte(c);
        if (letter == '\0') {
            return equal && !c->failed ? n : 0;
        }
        equal = equal && rest[n] == letter;
        n += equal ? 1 : 0;
    }
}

/* Moves from the node at the cursor to the one that `rest` leads to. Returns the letters of the edge, 0: no
 * edge is equal. */
static size_t follow(struct hd_cursor *c, const struct hd_macho_tables *t, const char *rest) {
    uint64_t exported = hd_cursor_uleb(c);
    if (c->failed || exported > c->end - c->at) {
        return 0;
    }
    c->at += exported;
    for (unsigned edges = hd_cursor_byte(c); edges > 0 && !c->failed; edges--) {
        size_t letters = match(c, rest);
        uint64_t node = hd_cursor_uleb(c);
        if (letters != 0 && !c->failed) {
            c->at = node < t->exports_bytes ? t->exports + node : c->end;
            return letters;
        }
    }
    return 0;
}

uint64_t hd_macho_export(const struct hd_memory *memory, const struct hd_macho_tables *t, const char *name) {
    char symbol[NAME_MAX_BYTES] = "_";
    size_t length = strlen(name);
    if (length == 0 || length + 2 > sizeof symbol || t->exports == 0) {
        return 0;
    }
    memcpy(symbol + 1, name, length + 1);
    struct hd_cursor c;
    hd_cursor_init(&c, memory, t->exports, t->exports_bytes, BUDGET);
    for (size_t at = 0; at < length + 1;) {
        size_t letters = follow(&c, t, symbol + at);
        if (letters == 0) {
            return 0;
        }
        at += letters;
    }
    return address_at(&c, t);
}
