/* SPDX-License-Identifier: MIT
 *
 * Specializations. Ordinary code.
 */
#include "symbolizer/swift_specialization.h"

#include "symbolizer/swift_types.h"

#include <string.h>

#define PIECES_MAX 128 /* arguments that consume something */

static void push_specialized(struct swift *s) {
    swift_push(s, swift_make_word(s, SWIFT_ATTRIBUTE, 0, SWIFT_SPECIALIZED));
}

static void skip_info(struct swift *s) {
    swift_next_if(s, 'q');
    if (!swift_next_if(s, 'a')) {
        swift_next_if(s, 'r');
    }
    if (!swift_is_digit(swift_next(s))) {
        swift_fail(s);
    }
}

void swift_read_specialization(struct swift *s, char letter) {
    while (letter == 't') { /* arguments that are dropped */
        if (swift_is_digit(swift_peek(s))) {
            swift_natural(s);
        }
        letter = swift_next(s);
    }
    if (letter == 0 || strchr("gGBsipP", letter) == NULL) {
        swift_fail(s);
    }
    skip_info(s);
    if (letter == 'p' || letter == 'P') {
        swift_need_type(s);
    } else {
        swift_pop_type_list(s);
    }
    push_specialized(s);
}

/* ---- arguments of function signature specializations --------------------------------------- */

/* Arguments consume these, in their order: c a closure, i an identifier, k a key path, t a type. */
struct pieces {
    char kind[PIECES_MAX];
    size_t count;
};

static void add(struct swift *s, struct pieces *pieces, char kind) {
    if (pieces->count == PIECES_MAX) {
        swift_fail(s);
        return;
    }
    pieces->kind[pieces->count++] = kind;
}

/* A constant. False: none follows. */
static bool read_constant(struct swift *s, struct pieces *pieces) {
    char c = swift_peek(s);
    if (c == 0 || strchr("fgidskS", c) == NULL) {
        return false;
    }
    swift_next(s);
    if (c == 'i' || c == 'd') {
        swift_natural(s);
    } else if (c == 's') {
        char encoding = swift_next(s);
        if (encoding == 0 || strchr("bwc", encoding) == NULL) {
            swift_fail(s);
        }
        add(s, pieces, 'i');
    } else {
        add(s, pieces, c == 'k' ? 'k' : c == 'S' ? 't' : 'i');
    }
    return true;
}

static void read_argument(struct swift *s, struct pieces *pieces) {
    char c = swift_next(s);
    switch (c) {
    case 'c':
    case 'E':
        add(s, pieces, 'c');
        break;
    case 'C':
        swift_natural(s);
        break;
    case 'p':
        if (!read_constant(s, pieces)) {
            swift_fail(s);
        }
        break;
    case 'e':
        swift_next_if(s, 'D');
        swift_next_if(s, 'G');
        swift_next_if(s, 'X');
        break;
    case 'd':
    case 'g':
    case 'o':
        swift_next_if(s, 'G');
        swift_next_if(s, 'O');
        swift_next_if(s, 'X');
        break;
    case 'n':
    case 'x':
    case 'i':
    case 's':
    case 'r':
        break;
    default:
        swift_fail(s);
    }
}

static void need_identifier(struct swift *s) {
    if (swift_pop(s, SWIFT_IDENTIFIER) == 0) {
        swift_fail(s);
    }
}

static void pop_piece(struct swift *s, char kind) {
    while (kind == 'c' && swift_pop_type(s) != 0) { /* types that are closed over */
    }
    if (kind == 't' || kind == 'k') {
        swift_need_type(s);
    }
    if (kind == 'k') {
        swift_need_type(s);
    }
    if (kind != 't') {
        need_identifier(s);
    }
}

void swift_read_signature_specialization(struct swift *s) {
    struct pieces pieces = {.count = 0};
    skip_info(s);
    while (!s->bad && !swift_next_if(s, '_')) {
        read_argument(s, &pieces);
    }
    read_argument(s, &pieces); /* the result */
    while (pieces.count > 0 && !s->bad) {
        pop_piece(s, pieces.kind[--pieces.count]);
    }
    push_specialized(s);
}
