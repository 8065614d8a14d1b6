/* SPDX-License-Identifier: MIT
 *
 * The stacks of a thread merged by the names of their functions, outermost first. Ordinary code.
 */
#ifndef CLI_EXPORT_CALL_TREE_H
#define CLI_EXPORT_CALL_TREE_H

#include "cli/export/stacks.h"

struct export_node {
    const json_t *report, *frame; /* no frame: time without a stack */
    int depth;
    int64_t ns; /* of it and what it calls */
};

/* Calls `visit` for each node, a caller before what it calls. False: no memory. */
bool export_call_tree(const json_t *report, const struct export_thread *thread,
                      void visit(void *context, const struct export_node *node), void *context);

#endif
