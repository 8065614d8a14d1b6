/* SPDX-License-Identifier: MIT
 *
 * Generics. Ordinary code.
 */
#include "symbolizer/swift_generics.h"

#include "symbolizer/swift_types.h"

#include <string.h>

static void push_type(struct swift *s, bool remembered) {
    uint16_t type = swift_make_type(s, SWIFT_PLAIN, 0, 0);
    swift_push(s, type);
    if (remembered) {
        swift_remember(s, type);
    }
}

static void skip_parameter(struct swift *s) {
    if (swift_next_if(s, 'd')) {
        swift_index(s);
        swift_index(s);
    } else if (!swift_next_if(s, 'z') && !swift_next_if(s, 's')) {
        swift_index(s);
    }
}

void swift_read_parameter(struct swift *s) {
    skip_parameter(s);
    push_type(s, false);
}

/* ---- associated and opaque types ---------------------------------------------------------- */

static void pop_associated(struct swift *s) {
    uint16_t protocol = swift_pop_type(s);
    if ((protocol != 0 && (s->nodes[protocol].kind != SWIFT_NOMINAL || s->nodes[protocol].form != 'P')) ||
        swift_pop(s, SWIFT_IDENTIFIER) == 0) {
        swift_fail(s);
    }
}

static void pop_associated_list(struct swift *s) {
    bool first = false;
    while (!first && !s->bad) {
        first = swift_pop(s, SWIFT_FIRST) != 0;
        pop_associated(s);
    }
}

static void pop_pack(struct swift *s) {
    swift_pop_type_list(s);
    push_type(s, false);
}

static void read_opaque(struct swift *s) {
    swift_index(s);
    swift_pop_arguments(s);
    if (swift_pop(s, SWIFT_OPAQUE_OF) == 0) {
        swift_fail(s);
    }
    push_type(s, true);
}

static void read_associated(struct swift *s, char c) {
    if (c == 'y' || c == 'Y') {
        skip_parameter(s);
    }
    if (c == 'Y' || c == 'Z' || c == 'X') {
        pop_associated_list(s);
    } else {
        pop_associated(s);
    }
    if (c == 'x' || c == 'X' || c == 'a') {
        swift_need_type(s);
    }
    push_type(s, true);
}

void swift_read_archetype(struct swift *s) {
    char c = swift_next(s);
    if (c != 0 && strchr("yYzZxXa", c) != NULL) {
        read_associated(s, c);
    } else if (c == 'O') {
        uint16_t entity = swift_need_context(s);
        swift_push(s, swift_make(s, SWIFT_OPAQUE_OF, entity, 0));
    } else if (c == 'o') {
        read_opaque(s);
    } else if (c == 'r' || c == 'u') {
        push_type(s, false);
    } else if (c == 'R' || c == 'U') {
        swift_index(s);
        push_type(s, false);
    } else if (c == 'e') {
        swift_index(s);
        swift_wrap_type(s, SWIFT_PLAIN);
    } else if (c == 'p') {
        swift_need_type(s);
        swift_wrap_type(s, SWIFT_PLAIN);
    } else if (c == 'P' || (c == 'S' && (swift_next_if(s, 'i') || swift_next_if(s, 'd')))) {
        pop_pack(s);
    } else {
        swift_fail(s);
    }
}

/* ---- requirements ------------------------------------------------------------------------- */

/* Where the subject of a requirement is: a parameter, an associated type, a list of them, or on the stack. */
enum subject {
    PARAMETER,
    ASSOCIATED,
    ASSOCIATED_LIST,
    ON_THE_STACK,
};

static void pop_subject(struct swift *s, enum subject subject) {
    if (subject == ON_THE_STACK) {
        swift_need_type(s);
        return;
    }
    skip_parameter(s);
    if (subject == PARAMETER) {
        return;
    }
    if (subject == ASSOCIATED) {
        pop_associated(s);
    } else {
        pop_associated_list(s);
    }
    swift_remember(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
}

static void skip_layout(struct swift *s) {
    char c = swift_next(s);
    if (c == 0 || strchr("UNRTCDBSEeMm", c) == NULL) {
        swift_fail(s);
    } else if (c == 'E' || c == 'M') {
        swift_index(s);
        swift_index(s);
    } else if (c == 'e' || c == 'm') {
        swift_index(s);
    }
}

/* Letters of a parameter, an associated type, a list, the stack; what the subject is bound to. */
static const struct {
    const char *letters;
    enum {
        PROTOCOL,
        TYPE,
        LAYOUT,
        INVERSE
    } bound;
} requirements[] = {{" pPQ", PROTOCOL}, {"bcCB", TYPE}, {"stTS", TYPE}, {"lmML", LAYOUT}, {"ijJI", INVERSE}};

static void pop_bound(struct swift *s, size_t which) {
    if (requirements[which].bound == PROTOCOL) {
        swift_need_protocol(s);
    } else if (requirements[which].bound == TYPE) {
        swift_need_type(s);
    } else if (requirements[which].bound == LAYOUT) {
        skip_layout(s);
    }
}

static void read_marker(struct swift *s, char c) {
    skip_parameter(s);
    if (c != 'v') {
        swift_need_type(s); /* h: the other shape; V: the type of the value */
    }
}

void swift_read_requirement(struct swift *s) {
    char c = swift_peek(s);
    size_t which = 0, subject = PARAMETER;
    if (c == 'v' || c == 'V' || c == 'h') {
        swift_next(s);
        read_marker(s, c);
    } else {
        for (size_t i = 0; i < sizeof requirements / sizeof requirements[0]; i++) {
            const char *found = c != 0 && c != ' ' ? strchr(requirements[i].letters, c) : NULL;
            if (found != NULL) {
                which = i;
                subject = (size_t)(found - requirements[i].letters);
                swift_next(s);
                break;
            }
        }
        if (requirements[which].bound == INVERSE) {
            swift_index(s);
        }
        pop_subject(s, (enum subject)subject);
        pop_bound(s, which);
    }
    swift_push(s, swift_make(s, SWIFT_REQUIREMENT, 0, 0));
}

void swift_read_signature(struct swift *s, bool counts) {
    while (counts && !s->bad && !swift_next_if(s, 'l')) {
        if (!swift_next_if(s, 'z')) {
            swift_index(s);
        }
    }
    while (swift_pop(s, SWIFT_REQUIREMENT) != 0) {
    }
    swift_push(s, swift_make(s, SWIFT_SIGNATURE, 0, 0));
}

void swift_read_generic_type(struct swift *s) {
    uint16_t type = swift_pop(s, SWIFT_SIGNATURE) != 0 ? swift_need_type(s) : swift_fail(s);
    swift_push(s, type);
}

/* ---- conformances ------------------------------------------------------------------------- */

static void need_conformance(struct swift *s) {
    if (swift_pop(s, SWIFT_CONFORMANCE) == 0) {
        swift_fail(s);
    }
}

static void pop_conformance_list(struct swift *s) {
    bool first = swift_pop(s, SWIFT_EMPTY) != 0;
    while (!first && !s->bad) {
        first = swift_pop(s, SWIFT_FIRST) != 0;
        need_conformance(s);
    }
}

/* A type with the conformances of the type's arguments; the reference has the protocol, or a module follows.
 */
static void pop_concrete(struct swift *s) {
    pop_conformance_list(s);
    if (swift_pop(s, SWIFT_CONFORMANCE_REF) == 0) {
        if (swift_pop_module(s) == 0) {
            swift_fail(s);
        }
        swift_need_protocol(s);
    }
    swift_need_type(s);
}

void swift_read_conformance(struct swift *s) {
    char c = swift_next(s);
    enum swift_kind kind = SWIFT_CONFORMANCE;
    if (c == 'A' || c == 'D' || c == 'I') {
        swift_index(s);
    }
    if (c == 'A' || c == 'D') {
        swift_need_protocol(s);
        swift_need_type(s);
    } else if (c == 'I' || c == 'P' || c == 'p') {
        swift_need_protocol(s);
        kind = c == 'I' ? kind : SWIFT_CONFORMANCE_REF;
    } else if (c == 'O') {
        swift_need_type(s);
    } else if (c == 'C') {
        pop_concrete(s);
    } else if (c == 'X') {
        pop_conformance_list(s);
    } else {
        swift_fail(s);
    }
    if (c == 'A' || c == 'I' || c == 'O') {
        need_conformance(s);
    }
    swift_push(s, swift_make(s, kind, 0, 0));
}

void swift_read_retroactive(struct swift *s) {
    swift_index(s);
    need_conformance(s);
    swift_push(s, swift_make(s, SWIFT_RETROACTIVE, 0, 0));
}

uint16_t swift_need_conforming_type(struct swift *s) {
    swift_pop(s, SWIFT_SIGNATURE);
    if (swift_pop_module(s) == 0) {
        return swift_fail(s);
    }
    swift_need_protocol(s);
    return swift_need_type(s);
}
