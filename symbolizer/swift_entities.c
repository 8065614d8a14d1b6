/* SPDX-License-Identifier: MIT
 *
 * Entities. Ordinary code.
 */
#include "symbolizer/swift_entities.h"

#include "symbolizer/swift_types.h"

#include <string.h>

/* ---- labels ------------------------------------------------------------------------------- */

struct labels {
    uint16_t at, count;
};

/* The labels of a function's parameters, before its type on the stack. `y`: none has one. */
static struct labels pop_labels(struct swift *s, uint16_t type) {
    struct labels found = {.at = SWIFT_NO_LABELS};
    bool callable = type != 0 && s->nodes[type].kind == SWIFT_TYPE && s->nodes[type].form == SWIFT_CALLABLE;
    found.count = callable ? s->nodes[type].count : 0;
    if (swift_pop(s, SWIFT_EMPTY) != 0 || found.count == 0) {
        return found;
    }
    if (found.count > SWIFT_LABELS_MAX - s->labels_used) {
        swift_fail(s);
        return found;
    }
    found.at = s->labels_used;
    s->labels_used = (uint16_t)(s->labels_used + found.count);
    for (uint16_t i = found.count; i-- > 0 && !s->bad;) {
        uint16_t label = swift_pop(s, SWIFT_IDENTIFIER);
        if (label == 0 && swift_pop(s, SWIFT_FIRST) == 0) {
            swift_fail(s);
        }
        s->labels[found.at + i] = label;
    }
    return found;
}

static void keep_labels(struct swift *s, uint16_t node, struct labels labels) {
    if (node != 0) {
        s->nodes[node].labels = labels.at;
        s->nodes[node].count = labels.count;
    }
}

/* ---- functions and variables -------------------------------------------------------------- */

void swift_read_function(struct swift *s) {
    swift_pop(s, SWIFT_SIGNATURE);
    struct labels labels = pop_labels(s, swift_pop_function_type(s));
    uint16_t name = swift_pop_declared(s);
    uint16_t context = name != 0 ? swift_need_context(s) : swift_fail(s);
    uint16_t node = swift_make(s, SWIFT_FUNCTION, context, name);
    keep_labels(s, node, labels);
    swift_push(s, node);
}

/* NULL: unknown. Empty: the variable itself. */
static const char *read_accessor(struct swift *s) {
    static const char *const accessors[] = {"mmaterializeForSet",
                                            "ssetter",
                                            "ggetter",
                                            "Gglobal getter",
                                            "wwillset",
                                            "Wdidset",
                                            "rread",
                                            "Mmodify",
                                            "iinit",
                                            "xmodify2",
                                            "yread2",
                                            "bborrow",
                                            "p",
                                            NULL};
    static const char *const addressors[] = {"Oowning", "onativeOwning", "pnativePinning", "uunsafe", NULL};
    static const char *const mutable_ones[] = {"owningMutableAddressor", "nativeOwningMutableAddressor",
                                               "nativePinningMutableAddressor", "unsafeMutableAddressor"};
    static const char *const others[] = {"owningAddressor", "nativeOwningAddressor", "nativePinningAddressor",
                                         "unsafeAddressor"};
    char c = swift_next(s);
    if (c == 'a' || c == 'l') {
        char kind = swift_next(s);
        for (size_t i = 0; addressors[i] != NULL; i++) {
            if (addressors[i][0] == kind) {
                return c == 'a' ? mutable_ones[i] : others[i];
            }
        }
    }
    for (size_t i = 0; accessors[i] != NULL && c != 0; i++) {
        if (accessors[i][0] == c) {
            return accessors[i] + 1;
        }
    }
    swift_fail(s);
    return NULL;
}

void swift_read_variable(struct swift *s) {
    const char *accessor = read_accessor(s);
    pop_labels(s, swift_need_type(s));
    uint16_t name = swift_pop_declared(s);
    uint16_t context = name != 0 ? swift_need_context(s) : swift_fail(s);
    uint16_t node = swift_make(s, SWIFT_VARIABLE, context, name);
    if (node != 0) {
        s->nodes[node].word = accessor;
    }
    swift_push(s, node);
}

/* A subscript's accessor says no labels, as a variable's says no type. */
void swift_read_subscript(struct swift *s) {
    static const char *const words[] = {"subscript.getter",
                                        "subscript.setter",
                                        "subscript.read",
                                        "subscript.modify",
                                        "subscript.materializeForSet",
                                        "subscript.borrow",
                                        "subscript.unsafeAddressor",
                                        "subscript.unsafeMutableAddressor",
                                        NULL};
    const char *accessor = read_accessor(s), *word = "subscript";
    swift_pop(s, SWIFT_PRIVATE);
    struct labels labels = pop_labels(s, swift_need_type(s));
    uint16_t context = swift_need_context(s);
    for (size_t i = 0; accessor != NULL && *accessor != 0; i++) {
        if (words[i] == NULL) {
            swift_fail(s);
            return;
        }
        if (strcmp(words[i] + strlen("subscript."), accessor) == 0) {
            word = words[i];
            break;
        }
    }
    uint16_t node = swift_make_word(s, SWIFT_SPECIAL, context, word);
    keep_labels(s, node, labels);
    if (node != 0) {
        s->nodes[node].form = accessor != NULL && *accessor == 0;
    }
    swift_push(s, node);
}

/* ---- entities behind f -------------------------------------------------------------------- */

static bool is_class(const struct swift *s, uint16_t context) {
    return s->nodes[context].kind == SWIFT_NOMINAL && s->nodes[context].form == 'C';
}

static void read_initializer(struct swift *s, char c) {
    swift_pop(s, SWIFT_PRIVATE);
    struct labels labels = pop_labels(s, swift_need_type(s));
    uint16_t context = swift_need_context(s);
    bool allocates = c == 'C' && is_class(s, context);
    uint16_t node = swift_make_word(s, SWIFT_SPECIAL, context, allocates ? "__allocating_init" : "init");
    keep_labels(s, node, labels);
    if (node != 0) {
        s->nodes[node].form = 1;
    }
    swift_push(s, node);
}

static void read_closure(struct swift *s, const char *word) {
    uint32_t number = swift_index(s) + 1;
    swift_need_type(s);
    uint16_t context = swift_need_context(s);
    uint16_t node = swift_make_word(s, SWIFT_CLOSURE, context, word);
    if (node != 0) {
        s->nodes[node].number = number;
    }
    swift_push(s, node);
}

static void push_of(struct swift *s, const char *word, bool numbered) {
    uint32_t number = numbered ? swift_index(s) : 0;
    uint16_t entity = swift_need_context(s);
    uint16_t node = swift_make_word(s, SWIFT_OF, entity, word);
    if (node != 0) {
        s->nodes[node].form = numbered;
        s->nodes[node].number = number;
    }
    swift_push(s, node);
}

static const char *deinit_of(struct swift *s, char c) {
    uint16_t top = s->depth != 0 ? s->stack[s->depth - 1] : 0;
    const char *class_one = c == 'Z' ? "__isolated_deallocating_deinit" : "__deallocating_deinit";
    return c != 'd' && is_class(s, top) ? class_one : "deinit";
}

static void push_special(struct swift *s, const char *word) {
    uint16_t context = swift_need_context(s);
    swift_push(s, swift_make_word(s, SWIFT_SPECIAL, context, word));
}

void swift_read_function_entity(struct swift *s) {
    char c = swift_next(s);
    switch (c) {
    case 'C':
    case 'c':
        read_initializer(s, c);
        break;
    case 'D':
    case 'Z':
    case 'd':
        push_special(s, deinit_of(s, c));
        break;
    case 'E':
        push_special(s, "__ivar_destroyer");
        break;
    case 'e':
        push_special(s, "__ivar_initializer");
        break;
    case 'U':
        read_closure(s, "closure #");
        break;
    case 'u':
        read_closure(s, "implicit closure #");
        break;
    case 'A':
        push_of(s, "default argument ", true);
        break;
    case 'i':
        push_of(s, "variable initialization expression of ", false);
        break;
    case 'P':
        push_of(s, "property wrapper backing initializer of ", false);
        break;
    case 'W':
        push_of(s, "property wrapper init from projected value of ", false);
        break;
    default: /* macros, among others */
        swift_fail(s);
    }
}

/* ---- contexts ----------------------------------------------------------------------------- */

void swift_read_extension(struct swift *s) {
    swift_pop(s, SWIFT_SIGNATURE);
    if (swift_pop_module(s) == 0) {
        swift_fail(s);
    }
    uint16_t type = swift_need_nominal(s);
    swift_push(s, swift_make(s, SWIFT_EXTENSION, type, 0));
}

void swift_read_static(struct swift *s) {
    uint16_t entity = swift_need_entity(s);
    swift_push(s, swift_make_word(s, SWIFT_OF, entity, "static "));
}
