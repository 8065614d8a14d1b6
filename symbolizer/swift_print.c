/* SPDX-License-Identifier: MIT
 *
 * Text of nodes. Ordinary code.
 */
#include "symbolizer/swift_print.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64 /* contexts within contexts */

struct printer {
    const struct swift *s;
    char *out;
    size_t room, used;
    int depth;
    bool bad;
};

static void add(struct printer *p, const char *text, size_t n) {
    if (p->bad || n >= p->room - p->used) {
        p->bad = true;
        return;
    }
    memcpy(p->out + p->used, text, n);
    p->used += n;
}

static void add_word(struct printer *p, const char *word) {
    if (word == NULL) {
        p->bad = true;
        return;
    }
    add(p, word, strlen(word));
}

static void add_number(struct printer *p, uint32_t number) {
    char digits[16];
    add(p, digits, (size_t)snprintf(digits, sizeof digits, "%u", number));
}

static const struct swift_node *node_of(const struct printer *p, uint16_t node) {
    return &p->s->nodes[node];
}

/* ---- names -------------------------------------------------------------------------------- */

static void print_name(struct printer *p, uint16_t name) {
    const struct swift_node *n = node_of(p, name);
    uint32_t local = 0;
    bool is_local = false;
    int levels = 0;
    while (n->kind != SWIFT_IDENTIFIER && n->a != 0 && levels++ < DEPTH_MAX) {
        if (n->kind == SWIFT_RELATED) {
            char letter = (char)n->number;
            add_word(p, "related decl '");
            add(p, &letter, 1);
            add_word(p, "' for ");
        } else if (n->kind == SWIFT_LOCAL) {
            is_local = true;
            local = n->number + 1;
        }
        n = node_of(p, n->a);
    }
    if (n->kind != SWIFT_IDENTIFIER) {
        p->bad = true;
        return;
    }
    add(p, p->s->text + n->text, n->bytes);
    if (is_local) {
        add_word(p, " #");
        add_number(p, local);
    }
}

static bool is_local(const struct printer *p, uint16_t name) {
    for (int levels = 0; name != 0 && levels < DEPTH_MAX; levels++, name = node_of(p, name)->a) {
        if (node_of(p, name)->kind == SWIFT_LOCAL) {
            return true;
        }
    }
    return false;
}

static void print_labels(struct printer *p, const struct swift_node *n) {
    add_word(p, "(");
    for (uint16_t i = 0; i < n->count; i++) {
        uint16_t label = n->labels != SWIFT_NO_LABELS ? p->s->labels[n->labels + i] : 0;
        if (label != 0) {
            print_name(p, label);
        } else {
            add_word(p, "_");
        }
        add_word(p, ":");
    }
    add_word(p, ")");
}

/* ---- contexts ----------------------------------------------------------------------------- */

/* A context that stands before the name, with a point: types of modules. Others stand behind it: "in f()". */
static bool is_prefix(const struct printer *p, uint16_t context) {
    for (int levels = 0; levels < DEPTH_MAX; levels++) {
        const struct swift_node *n = node_of(p, context);
        if (n->kind == SWIFT_MODULE || (n->kind == SWIFT_NOMINAL && n->word != NULL)) {
            return true;
        }
        if (n->kind != SWIFT_NOMINAL && n->kind != SWIFT_EXTENSION && n->kind != SWIFT_TYPE) {
            return false;
        }
        context = n->a;
    }
    return false;
}

static void print(struct printer *p, uint16_t node);

static bool begin_context(struct printer *p, uint16_t context) {
    bool before = is_prefix(p, context);
    if (before && node_of(p, context)->kind != SWIFT_MODULE) {
        print(p, context);
        add_word(p, ".");
    }
    return before;
}

static void end_context(struct printer *p, uint16_t context, bool before) {
    if (!before) {
        add_word(p, " in ");
        print(p, context);
    }
}

/* ---- entities ----------------------------------------------------------------------------- */

static void print_nominal(struct printer *p, const struct swift_node *n) {
    if (n->word != NULL) {
        add_word(p, n->word);
        return;
    }
    bool before = begin_context(p, n->a);
    print_name(p, n->b);
    end_context(p, n->a, before);
}

static void print_function(struct printer *p, const struct swift_node *n) {
    bool before = begin_context(p, n->a);
    print_name(p, n->b);
    if (is_local(p, n->b)) {
        add_word(p, " ");
    }
    print_labels(p, n);
    end_context(p, n->a, before);
}

static void print_variable(struct printer *p, const struct swift_node *n) {
    bool before = begin_context(p, n->a);
    print_name(p, n->b);
    if (n->word != NULL && *n->word != 0) {
        add_word(p, ".");
        add_word(p, n->word);
    }
    end_context(p, n->a, before);
}

static void print_special(struct printer *p, const struct swift_node *n) {
    bool before = begin_context(p, n->a);
    add_word(p, n->word);
    if (n->form != 0) {
        print_labels(p, n);
    }
    end_context(p, n->a, before);
}

static void print_closure(struct printer *p, const struct swift_node *n) {
    add_word(p, n->word);
    add_number(p, n->number);
    if (node_of(p, n->a)->kind != SWIFT_MODULE) {
        add_word(p, " in ");
        print(p, n->a);
    }
}

static void print_of(struct printer *p, const struct swift_node *n) {
    add_word(p, n->word);
    if (n->form != 0) {
        add_number(p, n->number);
        add_word(p, " of ");
    }
    print(p, n->a);
}

static void print_pair(struct printer *p, const struct swift_node *n) {
    bool conforms = n->kind == SWIFT_CONFORMING;
    add_word(p, conforms ? SWIFT_CONFORMING_CALL : "vtable thunk");
    add_word(p, " for ");
    print(p, n->a);
    add_word(p, conforms ? " in conformance " : " dispatching to ");
    print(p, n->b);
}

/* Without arguments: Array<Int> is Array. A type without a name prints nothing; true: it has one. */
static bool has_name(const struct printer *p, uint16_t type) {
    for (int levels = 0; type != 0 && levels < DEPTH_MAX; levels++) {
        const struct swift_node *n = node_of(p, type);
        if (n->kind == SWIFT_NOMINAL) {
            return true;
        }
        type = n->form == SWIFT_OPTIONAL || n->form == SWIFT_BOUND ? n->a : 0;
    }
    return false;
}

static void print_type(struct printer *p, uint16_t type) {
    const struct swift_node *n = node_of(p, type);
    if (!has_name(p, type)) {
        p->bad = true;
        return;
    }
    print(p, n->a);
    if (n->form == SWIFT_OPTIONAL) {
        add_word(p, "?");
    }
}

/* Of a type without a name only what is done: "outlined destroy". */
static void print_outlined(struct printer *p, const struct swift_node *n) {
    static const char *const links[] = {" of ", " for type ", " for "};
    if (n->word == NULL) {
        p->bad = true;
        return;
    }
    size_t bytes = strlen(n->word);
    if (n->a != 0 && has_name(p, n->a)) {
        add_word(p, n->word);
        print(p, n->a);
        return;
    }
    for (size_t i = 0; n->a != 0 && i < sizeof links / sizeof links[0]; i++) {
        size_t link = strlen(links[i]);
        if (bytes > link && strcmp(n->word + bytes - link, links[i]) == 0) {
            bytes -= link;
            break;
        }
    }
    add(p, n->word, bytes);
}

static void print_kind(struct printer *p, uint16_t node) {
    const struct swift_node *n = node_of(p, node);
    switch (n->kind) {
    case SWIFT_NOMINAL:
        print_nominal(p, n);
        break;
    case SWIFT_TYPE:
        print_type(p, node);
        break;
    case SWIFT_EXTENSION:
        print(p, n->a);
        break;
    case SWIFT_FUNCTION:
        print_function(p, n);
        break;
    case SWIFT_VARIABLE:
        print_variable(p, n);
        break;
    case SWIFT_SPECIAL:
        print_special(p, n);
        break;
    case SWIFT_CLOSURE:
        print_closure(p, n);
        break;
    case SWIFT_OF:
        print_of(p, n);
        break;
    case SWIFT_CONFORMING:
    case SWIFT_OVERRIDE:
        print_pair(p, n);
        break;
    case SWIFT_OUTLINED:
        print_outlined(p, n);
        break;
    default:
        p->bad = true;
    }
}

static void print(struct printer *p, uint16_t node) {
    if (p->bad || node == 0 || p->depth == DEPTH_MAX) {
        p->bad = true;
        return;
    }
    p->depth++;
    print_kind(p, node);
    p->depth--;
}

/* "(1) await resume partial function for "; "outlined variable #0 of ". */
static void print_attribute(struct printer *p, const struct swift_node *n) {
    bool behind = n->form != 0 && n->word != NULL && n->word[0] == ')';
    if (behind) {
        add_word(p, "(");
        add_number(p, n->number);
    }
    add_word(p, n->word);
    if (n->form != 0 && !behind) {
        add_number(p, n->number);
        add_word(p, " of ");
    }
}

size_t swift_print(const struct swift *s, char *out, size_t room) {
    struct printer p = {.s = s, .out = out, .room = room};
    bool specialized = false;
    for (uint16_t i = s->depth; i-- > 1;) {
        const struct swift_node *n = node_of(&p, s->stack[i]);
        if (n->kind != SWIFT_ATTRIBUTE) {
            return 0;
        }
        bool is_specialized = n->word != NULL && strcmp(n->word, SWIFT_SPECIALIZED) == 0;
        if (!is_specialized || !specialized) {
            print_attribute(&p, n);
        }
        specialized |= is_specialized;
    }
    enum swift_kind kind = s->depth != 0 ? s->nodes[s->stack[0]].kind : SWIFT_NONE;
    if (kind < SWIFT_FUNCTION || kind > SWIFT_OUTLINED) {
        return 0;
    }
    print(&p, s->stack[0]);
    if (p.bad) {
        return 0;
    }
    out[p.used] = 0;
    return p.used;
}
