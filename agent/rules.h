/* SPDX-License-Identifier: MIT
 *
 * The rules file: which programs the agent watches, and how. The first rule that matches a process decides; a
 * process without a rule is watched. The administrator writes the file. Ordinary code.
 *
 *   ignore program=bash
 *   watch unit=nginx threshold=200ms app=front
 *   ignore user=alice
 *   ignore container=*
 */
#ifndef AGENT_RULES_H
#define AGENT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/base/error.h"

struct rule {
    bool watch;
    unsigned line;
    char *program, *unit, *container; /* patterns of fnmatch(3); NULL: any */
    bool has_user;
    uid_t user;
    uint64_t threshold_ns;                    /* 0: the agent's */
    char *app, *version, *environment, *loop; /* NULL: found by itself */
};

struct rules {
    struct rule *rule;
    size_t count;
};

/* The facts of a process. An empty text: the process has no such fact. */
struct rule_facts {
    const char *program, *unit;
    const char *container_id, *container_name, *image;
    uid_t user;
};

/* Reads the file. `optional`: a file that is missing has no rules. False, and why; *out is empty then. */
bool rules_read(const char *path, bool optional, struct rules *out, struct problem *why);
void rules_free(struct rules *r);

/* NULL: no rule matches. */
const struct rule *rules_find(const struct rules *r, const struct rule_facts *facts);

/* An earlier rule that matches each process of this one, so this one has no effect. NULL: none. */
const struct rule *rules_covering(const struct rules *r, const struct rule *later);

/* A process of this name is to be watched, if `rule` matches it. Hangdog's own programs need a rule. */
bool rules_watch(const struct rule *rule, const char *program);

/* ---- private ---------------------------------------------------------------------------------- */

/* One line, which it changes. False, and why: "unknown word 'x'". */
bool rules_add_line(struct rules *r, char *text, unsigned line, struct problem *why);

#endif
