/* SPDX-License-Identifier: MIT
 *
 * The call tree once code made at run time has names. Where it ran nothing told where a function begins, so
 * that each address became a function of its own; with names they are one, and so is their time.
 */
#ifndef CLI_MERGE_BY_NAME_H
#define CLI_MERGE_BY_NAME_H

#include <jansson.h>

/* Merges what the names say is one function, and finds the hot stack anew. A report without a tree, or with
 * one that is damaged, is left as it is. */
void jit_tree_merge(json_t *report);

#endif
