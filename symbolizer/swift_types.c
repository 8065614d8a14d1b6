/* SPDX-License-Identifier: MIT
 *
 * Types. Ordinary code.
 */
#include "symbolizer/swift_types.h"

#include <string.h>

void swift_wrap_type(struct swift *s, enum swift_form form) {
    uint16_t inner = swift_need_type(s);
    swift_push(s, swift_make_type(s, form, inner, 0));
}

void swift_read_nominal(struct swift *s, char letter) {
    uint16_t name = swift_pop_declared(s);
    uint16_t context = name != 0 ? swift_need_context(s) : swift_fail(s);
    uint16_t type = swift_make(s, SWIFT_NOMINAL, context, name);
    if (type != 0) {
        s->nodes[type].form = (uint8_t)letter;
        swift_remember(s, type);
        swift_push(s, type);
    }
}

/* ---- substitutions ------------------------------------------------------------------------ */

static void push_again(struct swift *s, uint32_t which, uint32_t times) {
    if (which >= s->substitutions_used || times > SWIFT_STACK_MAX) {
        swift_fail(s);
        return;
    }
    for (uint32_t i = 0; i < times && !s->bad; i++) {
        swift_push(s, s->substitutions[which]);
    }
}

void swift_read_substitution(struct swift *s) {
    while (!s->bad) {
        bool counted = swift_is_digit(swift_peek(s));
        uint32_t n = counted ? swift_natural(s) : 1;
        char c = swift_next(s);
        if (c == '_') {
            push_again(s, counted ? n + 27 : 26, 1);
            return;
        }
        bool last = c >= 'A' && c <= 'Z';
        if (!last && (c < 'a' || c > 'z')) {
            swift_fail(s);
            return;
        }
        push_again(s, (uint32_t)(c - (last ? 'A' : 'a')), n);
        if (last) {
            return;
        }
    }
}

/* ---- types of several parts --------------------------------------------------------------- */

void swift_read_builtin(struct swift *s) {
    char c = swift_next(s);
    if (c == 0 || strchr("AbBcDdeIjOoPpTtwfivV", c) == NULL) {
        swift_fail(s);
        return;
    }
    if (c == 'v' || c == 'V') {
        swift_need_type(s);
    }
    if (c == 'V') {
        swift_need_type(s);
    }
    if ((c == 'f' || c == 'i' || c == 'v') && swift_index(s) < 2) {
        swift_fail(s); /* its width */
    }
    swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
}

void swift_pop_type_list(struct swift *s) {
    if (swift_pop(s, SWIFT_EMPTY) != 0) {
        return;
    }
    bool first = false;
    while (!first && !s->bad) {
        first = swift_pop(s, SWIFT_FIRST) != 0;
        swift_need_type(s);
    }
}

void swift_pop_arguments(struct swift *s) {
    while (swift_pop(s, SWIFT_RETROACTIVE) != 0) {
    }
    do {
        while (swift_pop_type(s) != 0) {
        }
        if (swift_pop(s, SWIFT_EMPTY) != 0) {
            return;
        }
    } while (swift_pop(s, SWIFT_FIRST) != 0);
    swift_fail(s);
}

void swift_read_bound(struct swift *s) {
    swift_pop_arguments(s);
    uint16_t generic = swift_need_nominal(s);
    uint16_t type = swift_make_type(s, SWIFT_BOUND, generic, 0);
    swift_push(s, type);
    swift_remember(s, type);
}

void swift_read_tuple(struct swift *s) {
    uint16_t count = 0;
    bool first = swift_pop(s, SWIFT_EMPTY) != 0;
    for (; !first && !s->bad; count++) {
        first = swift_pop(s, SWIFT_FIRST) != 0;
        swift_pop(s, SWIFT_VARIADIC);
        swift_pop(s, SWIFT_IDENTIFIER);
        swift_need_type(s);
    }
    swift_push(s, swift_make_type(s, SWIFT_TUPLE, 0, count));
}

void swift_read_protocol_list(struct swift *s) {
    if (swift_pop(s, SWIFT_EMPTY) == 0) {
        bool first = false;
        while (!first && !s->bad) {
            first = swift_pop(s, SWIFT_FIRST) != 0;
            swift_need_protocol(s);
        }
    }
    swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
}

uint16_t swift_pop_function_type(struct swift *s) {
    uint16_t count = 0;
    while (swift_pop(s, SWIFT_ANNOTATION) != 0) {
    }
    if (swift_pop(s, SWIFT_EMPTY) == 0) {
        uint16_t parameters = swift_need_type(s);
        count = s->nodes[parameters].form == SWIFT_TUPLE && s->nodes[parameters].kind == SWIFT_TYPE
                    ? s->nodes[parameters].count
                    : 1;
    }
    if (swift_pop(s, SWIFT_EMPTY) == 0) {
        swift_need_type(s);
    }
    return swift_make_type(s, SWIFT_CALLABLE, 0, count);
}

/* ---- letters behind X and Y --------------------------------------------------------------- */

static void skip_c_type(struct swift *s) {
    uint32_t n = swift_natural(s);
    if (n > (size_t)(s->end - s->at)) {
        swift_fail(s);
        return;
    }
    s->at += n;
}

/* Function types of other conventions. */
static bool read_convention(struct swift *s, char c) {
    if (strchr("AKUfBCELO", c) == NULL && c != 'z') {
        return false;
    }
    if (c == 'z') {
        c = swift_next(s);
        if (c != 'B' && c != 'C') {
            swift_fail(s);
        }
        skip_c_type(s);
    }
    swift_push(s, swift_pop_function_type(s));
    return true;
}

static void pop_requirements_until_first(struct swift *s) {
    bool first = false;
    while (!first && !s->bad) {
        first = swift_pop(s, SWIFT_FIRST) != 0;
        if (swift_pop(s, SWIFT_REQUIREMENT) == 0) {
            swift_fail(s);
        }
    }
}

static void read_sugared(struct swift *s) {
    char c = swift_next(s);
    if (c == 0 || strchr("qaDpA", c) == NULL) {
        swift_fail(s);
    }
    if (c == 'D' || c == 'A') {
        swift_need_type(s);
    }
    swift_wrap_type(s, c == 'q' ? SWIFT_OPTIONAL : SWIFT_PLAIN);
}

static void read_list_type(struct swift *s, char c) {
    if (c == 'c') {
        swift_need_type(s); /* the superclass */
    }
    if (c == 'X') {
        if (swift_pop(s, SWIFT_SIGNATURE) == 0) {
            swift_fail(s);
        }
        swift_pop_type_list(s);
    }
    if (c == 'x' || c == 'X') {
        swift_pop_type_list(s);
        swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
    } else {
        swift_read_protocol_list(s);
    }
}

void swift_read_special_type(struct swift *s) {
    char c = swift_next(s);
    if (c == 0 || read_convention(s, c)) {
        s->bad = s->bad || c == 0;
    } else if (strchr("oubwDpmM", c) != NULL) {
        char form = c == 'm' || c == 'M' ? swift_next(s) : 't';
        if (form == 0 || strchr("tTo", form) == NULL) {
            swift_fail(s);
        }
        swift_wrap_type(s, SWIFT_PLAIN);
    } else if (strchr("clxX", c) != NULL) {
        read_list_type(s, c);
    } else if (c == 'P') {
        pop_requirements_until_first(s);
        swift_wrap_type(s, SWIFT_PLAIN);
    } else if (c == 'Y') {
        swift_read_nominal(s, 'Y');
    } else if (c == 'e') {
        swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
    } else if (c == 'S') {
        read_sugared(s);
    } else if (c != 'F') { /* XF: the type is on the stack as it is */
        swift_fail(s);
    }
}

void swift_read_annotation(struct swift *s) {
    char c = swift_next(s);
    if (c == 0 || strchr("aAbCTcKjiktug", c) == NULL) {
        swift_fail(s);
        return;
    }
    if (strchr("iktug", c) != NULL) { /* of a parameter's type */
        swift_wrap_type(s, SWIFT_PLAIN);
        return;
    }
    if (c == 'c' || c == 'K') {
        swift_need_type(s); /* an actor, or what is thrown */
    }
    if (c == 'j' && (swift_peek(s) == 0 || strchr("frdl", swift_next(s)) == NULL)) {
        swift_fail(s);
    }
    swift_push(s, swift_make(s, SWIFT_ANNOTATION, 0, 0));
}

/* ---- function types of implementations ---------------------------------------------------- */

static void skip_if_one_of(struct swift *s, const char *letters) {
    char c = swift_peek(s);
    if (c != 0 && strchr(letters, c) != NULL) {
        swift_next(s);
    }
}

static void pop_substituted(struct swift *s) {
    swift_pop_arguments(s);
    if (swift_pop(s, SWIFT_SIGNATURE) == 0) {
        swift_fail(s);
    }
}

/* How the function is called, before the parameters. */
static void read_call(struct swift *s) {
    swift_next_if(s, 'P');
    swift_next_if(s, 'e');
    skip_if_one_of(s, "AN");
    swift_next_if(s, 'O');
    skip_if_one_of(s, "dlfr");
    char callee = swift_next(s);
    if (callee == 0 || strchr("ygxt", callee) == NULL) {
        swift_fail(s);
    }
    if (swift_next_if(s, 'z')) {
        swift_next(s);
        skip_c_type(s);
    } else {
        skip_if_one_of(s, "BCMJKVW");
    }
    skip_if_one_of(s, "AIG");
    swift_next_if(s, 'h');
    swift_next_if(s, 'H');
    swift_next_if(s, 'T');
}

void swift_read_implementation(struct swift *s) {
    if (swift_next_if(s, 's')) {
        pop_substituted(s);
    }
    if (swift_next_if(s, 'I')) {
        pop_substituted(s);
    }
    swift_pop(s, SWIFT_SIGNATURE);
    read_call(s);
    size_t types = 0;
    for (char c; !s->bad && (c = swift_next(s)) != '_';) {
        if (c != 0 && strchr("iclbnXxygevpmroduak", c) != NULL) {
            types++; /* conventions of parameters and results */
        } else if (c == 0 || strchr("wTILYz", c) == NULL) {
            swift_fail(s);
        }
    }
    while (types-- > 0 && !s->bad) {
        swift_need_type(s);
    }
    swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
}
