/* SPDX-License-Identifier: MIT
 *
 * Each letter of the mangling is an operator on the stack; this file hands letters to their readers. Ordinary
 * code.
 */
#include "symbolizer/swift_name.h"

#include "symbolizer/swift_entities.h"
#include "symbolizer/swift_generics.h"
#include "symbolizer/swift_identifier.h"
#include "symbolizer/swift_nodes.h"
#include "symbolizer/swift_print.h"
#include "symbolizer/swift_standard.h"
#include "symbolizer/swift_thunks.h"
#include "symbolizer/swift_types.h"

#include <stdlib.h>
#include <string.h>

bool swift_is_mangled(const char *name) {
    name += name[0] == '_';
    return name[0] == '$' && (name[1] == 's' || name[1] == 'S' || name[1] == 'e');
}

/* Letters that push a node of one kind, without anything behind them. */
static bool read_mark(struct swift *s, char c) {
    switch (c) {
    case 'y':
        swift_push(s, swift_make(s, SWIFT_EMPTY, 0, 0));
        return true;
    case '_':
        swift_push(s, swift_make(s, SWIFT_FIRST, 0, 0));
        return true;
    case 'd':
        swift_push(s, swift_make(s, SWIFT_VARIADIC, 0, 0));
        return true;
    case 'K':
        swift_push(s, swift_make(s, SWIFT_ANNOTATION, 0, 0));
        return true;
    case 's':
        swift_push(s, swift_make_word(s, SWIFT_MODULE, 0, "Swift"));
        return true;
    case 'x':
        swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
        return true;
    default:
        return false;
    }
}

static void read_integer(struct swift *s) {
    swift_next_if(s, 'n');
    swift_index(s);
    swift_push(s, swift_make_type(s, SWIFT_PLAIN, 0, 0));
}

static bool read_type(struct swift *s, char c) {
    static const struct {
        char letter;
        void (*read)(struct swift *s);
    } readers[] = {
        {'A', swift_read_substitution},   {'B', swift_read_builtin},
        {'G', swift_read_bound},          {'S', swift_read_standard},
        {'X', swift_read_special_type},   {'Y', swift_read_annotation},
        {'I', swift_read_implementation}, {'t', swift_read_tuple},
        {'p', swift_read_protocol_list},  {'q', swift_read_parameter},
        {'Q', swift_read_archetype},      {'R', swift_read_requirement},
        {'u', swift_read_generic_type},   {'H', swift_read_conformance},
        {'g', swift_read_retroactive},    {'$', read_integer},
        {'F', swift_read_function},       {'v', swift_read_variable},
        {'i', swift_read_subscript},      {'f', swift_read_function_entity},
        {'E', swift_read_extension},      {'Z', swift_read_static},
        {'T', swift_read_thunk},          {'W', swift_read_table},
        {'M', swift_read_metadata},       {'w', swift_read_value_function},
        {'o', swift_read_operator},       {'L', swift_read_local},
    };
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (readers[i].letter == c) {
            readers[i].read(s);
            return true;
        }
    }
    return false;
}

static void read_operator(struct swift *s) {
    if (swift_is_digit(swift_peek(s))) {
        swift_read_identifier(s);
        return;
    }
    char c = swift_next(s);
    if (read_mark(s, c) || read_type(s, c)) {
        return;
    }
    if (c != 0 && strchr("aCOPV", c) != NULL) {
        swift_read_nominal(s, c);
    } else if (c == 'l' || c == 'r') {
        swift_read_signature(s, c == 'r');
    } else if (c == 'c') {
        swift_push(s, swift_pop_function_type(s));
    } else if (c != 0 && strchr("zhnm", c) != NULL) {
        swift_wrap_type(s, SWIFT_PLAIN);
    } else {
        swift_fail(s);
    }
}

/* A suffix that the compiler or the linker adds begins with a point: ".resume.0", ".cold.1". */
size_t swift_name(const char *name, char *out, size_t room) {
    size_t bytes = strlen(name);
    struct swift *s = NULL;
    if (!swift_is_mangled(name) || bytes > SWIFT_NAME_MAX || (s = calloc(1, sizeof *s)) == NULL) {
        return 0;
    }
    s->at = name + (name[0] == '_') + 2;
    s->end = s->at + strcspn(s->at, ".");
    s->nodes_used = 1; /* 0: no node */
    while (s->at < s->end && !s->bad) {
        read_operator(s);
    }
    size_t used = s->bad ? 0 : swift_print(s, out, room);
    free(s);
    return used;
}
