/* SPDX-License-Identifier: MIT
 *
 * The tasks of event loops as text: a tree, in which tasks that do the same are one entry. Ordinary code.
 */
#ifndef CLI_LIVE_DUMP_TASKS_H
#define CLI_LIVE_DUMP_TASKS_H

#include "cli/render/render_parts.h"

/* `hidden` grows by the frames that the text leaves out. */
void dump_tasks(const struct page *p, size_t *hidden);

#endif
