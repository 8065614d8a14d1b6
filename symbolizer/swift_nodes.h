/* SPDX-License-Identifier: MIT
 *
 * The machine that reads a name of Swift: it reads characters and puts nodes on a stack. All arrays have
 * fixed sizes; a name that needs more fails. The rules are facts of docs/ABI/Mangling.rst in the repository
 * swiftlang/swift.
 */
#ifndef SYMBOLIZER_SWIFT_NODES_H
#define SYMBOLIZER_SWIFT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFT_NAME_MAX 4096 /* bytes of a mangled name */
#define SWIFT_NODES_MAX 4096
#define SWIFT_STACK_MAX 1024
#define SWIFT_SUBSTITUTIONS_MAX 1024
#define SWIFT_WORDS_MAX 26 /* a letter each */
#define SWIFT_LABELS_MAX 1024
#define SWIFT_TEXT_MAX 8192 /* bytes of all identifiers */

enum swift_kind {
    SWIFT_NONE,
    SWIFT_IDENTIFIER, /* its text; form: an operator's */
    SWIFT_LOCAL,      /* a: name; number */
    SWIFT_PRIVATE,    /* a: name, 0: the declaration has no name */
    SWIFT_RELATED,    /* a: name; number: the letter of what the importer made of it */
    SWIFT_MODULE,
    SWIFT_NOMINAL,    /* a type with a name. a: context, b: name; form: its letter; word: a standard type */
    SWIFT_TYPE,       /* another type; form; a: the type within it */
    SWIFT_EXTENSION,  /* a: what it extends */
    SWIFT_FUNCTION,   /* a: context, b: name; labels, count */
    SWIFT_VARIABLE,   /* a: context, b: name; word: an accessor */
    SWIFT_SPECIAL,    /* a: context; word: init, deinit, subscript ..; form: labels follow; labels, count */
    SWIFT_CLOSURE,    /* a: context; word; number */
    SWIFT_OF,         /* a: an entity; word: what of it; number, if form is set */
    SWIFT_CONFORMING, /* a: the requirement, b: the type that conforms */
    SWIFT_OVERRIDE,   /* a: the base's, b: the derived class's */
    SWIFT_OUTLINED,   /* a: a type or 0; word */
    SWIFT_ATTRIBUTE,  /* word: what stands before the name; number, if form is set */
    SWIFT_EMPTY,      /* y */
    SWIFT_FIRST,      /* _ behind the first of a list */
    SWIFT_VARIADIC,
    SWIFT_ANNOTATION, /* throws, async .. of a function type */
    SWIFT_SIGNATURE,
    SWIFT_REQUIREMENT,
    SWIFT_CONFORMANCE,
    SWIFT_CONFORMANCE_REF,
    SWIFT_RETROACTIVE,
    SWIFT_OPAQUE_OF,
};

enum swift_form {
    SWIFT_PLAIN,
    SWIFT_TUPLE,    /* count */
    SWIFT_CALLABLE, /* a function type; count of parameters */
    SWIFT_OPTIONAL, /* a: the wrapped one */
    SWIFT_BOUND,    /* a: the generic one */
};

struct swift_node {
    uint8_t kind, form;
    uint16_t a, b;
    uint16_t labels, count; /* labels of `count` parameters at labels[]; UINT16_MAX: no labels */
    uint16_t text, bytes;
    uint32_t number;
    const char *word;
};

#define SWIFT_NO_LABELS UINT16_MAX

/* Swift's own words for a call through a protocol, and for the table of such calls. */
#define SWIFT_CONFORMING_CALL "protocol witness"
#define SWIFT_CONFORMING_TABLE "witness table"

#define SWIFT_SPECIALIZED "specialized " /* a name says this once */

struct swift {
    const char *at, *end;
    bool bad;
    uint16_t nodes_used, depth, substitutions_used, labels_used, text_used, words_used;
    struct {
        uint16_t text, bytes;
    } words[SWIFT_WORDS_MAX];
    uint16_t stack[SWIFT_STACK_MAX], substitutions[SWIFT_SUBSTITUTIONS_MAX], labels[SWIFT_LABELS_MAX];
    struct swift_node nodes[SWIFT_NODES_MAX];
    char text[SWIFT_TEXT_MAX];
};

/* The name is not one of Swift that this machine knows. Returns 0. */
uint16_t swift_fail(struct swift *s);

/* ---- characters --------------------------------------------------------------------------- */

/* 0: the end. */
char swift_peek(const struct swift *s);
char swift_next(struct swift *s);
bool swift_next_if(struct swift *s, char c);
bool swift_is_digit(char c);

/* Digits; fails if there is none, or above 2^24. */
uint32_t swift_natural(struct swift *s);

/* `_` is 0, `0_` is 1. */
uint32_t swift_index(struct swift *s);

/* ---- nodes -------------------------------------------------------------------------------- */

uint16_t swift_make(struct swift *s, enum swift_kind kind, uint16_t a, uint16_t b);
uint16_t swift_make_type(struct swift *s, enum swift_form form, uint16_t a, uint16_t count);
uint16_t swift_make_word(struct swift *s, enum swift_kind kind, uint16_t a, const char *word);
void swift_push(struct swift *s, uint16_t node);
void swift_remember(struct swift *s, uint16_t node);

/* Each returns 0 and leaves the stack as it is where another kind is on top. */
uint16_t swift_pop(struct swift *s, enum swift_kind kind);
uint16_t swift_pop_type(struct swift *s);
uint16_t swift_pop_declared(struct swift *s);
uint16_t swift_pop_entity(struct swift *s);
uint16_t swift_pop_module(struct swift *s);

/* Each fails where another kind is on top. */
uint16_t swift_need_type(struct swift *s);
uint16_t swift_need_context(struct swift *s);
uint16_t swift_need_entity(struct swift *s);
uint16_t swift_need_protocol(struct swift *s);
uint16_t swift_need_nominal(struct swift *s);

#endif
