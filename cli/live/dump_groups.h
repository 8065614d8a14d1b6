/* SPDX-License-Identifier: MIT
 *
 * The threads of a live report, those that do the same at the same place together. Ordinary code.
 */
#ifndef CLI_LIVE_DUMP_GROUPS_H
#define CLI_LIVE_DUMP_GROUPS_H

#include "cli/render/render_parts.h"

struct dump_group;

struct dump_groups {
    const struct page *page;
    size_t *hidden; /* frames that the text leaves out */
    /* ---- private ---- */
    struct dump_group *item;
    size_t count, room;
};

/* Prints a line for each group, with its threads' names and numbers, and its stack. */
void dump_groups_put(struct dump_groups *g, const json_t *threads);

#endif
