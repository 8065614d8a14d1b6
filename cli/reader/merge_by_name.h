/* SPDX-License-Identifier: MIT
 * Merges JIT functions in the call tree once they have names. The watched machine did not know where such a
 * function starts, so each address became a function. Names show which addresses are one function. One
 * thread.
 */
#ifndef CLI_MERGE_BY_NAME_H
#define CLI_MERGE_BY_NAME_H

#include <jansson.h>

/* Merges nodes of one function, and finds the hot stack again. Does not change a report without a tree, or
 * with a damaged one. */
void jit_tree_merge(json_t *report);

#endif
