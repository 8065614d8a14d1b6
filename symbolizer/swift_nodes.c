/* SPDX-License-Identifier: MIT
 *
 * Characters, nodes and the stack of the machine. Ordinary code.
 */
#include "symbolizer/swift_nodes.h"

uint16_t swift_fail(struct swift *s) {
    s->bad = true;
    return 0;
}

/* ---- characters --------------------------------------------------------------------------- */

char swift_peek(const struct swift *s) {
    return s->at < s->end ? *s->at : 0;
}

char swift_next(struct swift *s) {
    return s->at < s->end ? *s->at++ : 0;
}

bool swift_next_if(struct swift *s, char c) {
    bool is = s->at < s->end && *s->at == c;
    s->at += is;
    return is;
}

bool swift_is_digit(char c) {
    return c >= '0' && c <= '9';
}

uint32_t swift_natural(struct swift *s) {
    uint32_t value = 0;
    if (!swift_is_digit(swift_peek(s))) {
        return swift_fail(s);
    }
    while (swift_is_digit(swift_peek(s))) {
        value = value * 10 + (uint32_t)(swift_next(s) - '0');
        if (value > 1U << 24) {
            return swift_fail(s);
        }
    }
    return value;
}

uint32_t swift_index(struct swift *s) {
    if (swift_next_if(s, '_')) {
        return 0;
    }
    uint32_t value = swift_natural(s);
    return swift_next_if(s, '_') ? value + 1 : swift_fail(s);
}

/* ---- nodes -------------------------------------------------------------------------------- */

uint16_t swift_make(struct swift *s, enum swift_kind kind, uint16_t a, uint16_t b) {
    if (s->bad || s->nodes_used >= SWIFT_NODES_MAX) {
        return swift_fail(s);
    }
    s->nodes[s->nodes_used] =
        (struct swift_node){.kind = (uint8_t)kind, .a = a, .b = b, .labels = SWIFT_NO_LABELS};
    return s->nodes_used++;
}

uint16_t swift_make_type(struct swift *s, enum swift_form form, uint16_t a, uint16_t count) {
    uint16_t node = swift_make(s, SWIFT_TYPE, a, 0);
    if (node != 0) {
        s->nodes[node].form = (uint8_t)form;
        s->nodes[node].count = count;
    }
    return node;
}

uint16_t swift_make_word(struct swift *s, enum swift_kind kind, uint16_t a, const char *word) {
    uint16_t node = swift_make(s, kind, a, 0);
    if (node != 0) {
        s->nodes[node].word = word;
    }
    return node;
}

void swift_push(struct swift *s, uint16_t node) {
    if (node == 0 || s->depth >= SWIFT_STACK_MAX) {
        swift_fail(s);
        return;
    }
    s->stack[s->depth++] = node;
}

void swift_remember(struct swift *s, uint16_t node) {
    if (node == 0 || s->substitutions_used >= SWIFT_SUBSTITUTIONS_MAX) {
        swift_fail(s);
        return;
    }
    s->substitutions[s->substitutions_used++] = node;
}

/* ---- the stack ---------------------------------------------------------------------------- */

static enum swift_kind top(const struct swift *s) {
    return s->bad || s->depth == 0 ? SWIFT_NONE : s->nodes[s->stack[s->depth - 1]].kind;
}

static uint16_t pop_if(struct swift *s, bool fits) {
    return fits ? s->stack[--s->depth] : 0;
}

uint16_t swift_pop(struct swift *s, enum swift_kind kind) {
    return pop_if(s, top(s) == kind);
}

uint16_t swift_pop_type(struct swift *s) {
    return pop_if(s, top(s) == SWIFT_NOMINAL || top(s) == SWIFT_TYPE);
}

uint16_t swift_pop_declared(struct swift *s) {
    return pop_if(s, top(s) >= SWIFT_IDENTIFIER && top(s) <= SWIFT_RELATED);
}

uint16_t swift_pop_entity(struct swift *s) {
    return pop_if(s, top(s) >= SWIFT_FUNCTION && top(s) <= SWIFT_OVERRIDE);
}

uint16_t swift_pop_module(struct swift *s) {
    if (top(s) == SWIFT_MODULE) {
        return s->stack[--s->depth];
    }
    uint16_t name = swift_pop(s, SWIFT_IDENTIFIER);
    return name != 0 ? swift_make(s, SWIFT_MODULE, name, 0) : 0;
}

static uint16_t need(struct swift *s, uint16_t node) {
    return node != 0 ? node : swift_fail(s);
}

uint16_t swift_need_type(struct swift *s) {
    return need(s, swift_pop_type(s));
}

uint16_t swift_need_entity(struct swift *s) {
    return need(s, swift_pop_entity(s));
}

uint16_t swift_need_nominal(struct swift *s) {
    uint16_t type = swift_need_type(s);
    /* a generic type with its arguments is a context, too */
    return type != 0 && (s->nodes[type].kind == SWIFT_NOMINAL || s->nodes[type].form == SWIFT_BOUND)
               ? type
               : swift_fail(s);
}

uint16_t swift_need_context(struct swift *s) {
    uint16_t node = swift_pop_module(s);
    node = node != 0 ? node : swift_pop(s, SWIFT_NOMINAL);
    node = node != 0 ? node : swift_pop(s, SWIFT_EXTENSION);
    return need(s, node != 0 ? node : swift_pop_entity(s));
}

uint16_t swift_need_protocol(struct swift *s) {
    uint16_t type = swift_pop_type(s);
    if (type != 0) {
        return s->nodes[type].kind == SWIFT_NOMINAL && s->nodes[type].form == 'P' ? type : swift_fail(s);
    }
    uint16_t name = need(s, swift_pop_declared(s));
    uint16_t context = swift_need_context(s);
    type = swift_make(s, SWIFT_NOMINAL, context, name);
    if (type != 0) {
        s->nodes[type].form = 'P';
    }
    return type;
}
