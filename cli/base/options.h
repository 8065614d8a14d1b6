/* SPDX-License-Identifier: MIT
 *
 * A command's options as a table, which is parsed and is the help. Ordinary code.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_LIST_MAX 16

/* The values of an option that may be given several times. */
struct text_list {
    const char *text[TEXT_LIST_MAX];
    size_t count;
};

/* Exactly one of flag, text, number and list says where the value goes. */
struct command_option {
    const char *name;
    const char *value; /* what the help calls it; NULL for a flag */
    const char *help;  /* lines */
    bool *flag;
    const char **text;
    struct {
        long *to, min, max;
    } number; /* milliseconds, or as `value` says */
    struct text_list *list;
};

struct command {
    const char *name;
    const char *about, *usage; /* of the help: its first lines, and what follows the command's name */
    const char *operands;      /* of the help: its lines on them, or NULL */
    const char *after;         /* of the help: its last lines */
    bool stops;                /* at the first operand: what follows is another program's */
    const struct command_option *options; /* the last one has no name */
};

/* The index of the first operand in argv, which is sorted for it. -1: the command ends with *status, since
 * help was asked for or a wrong use was told. */
int options_parse(const struct command *c, int argc, char **argv, int *status);

#endif
