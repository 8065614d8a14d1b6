/* SPDX-License-Identifier: MIT
 *
 * The line that says which loop is watched, so that the user sees a wrong one.
 */
#ifndef CLI_LOOP_LINE_H
#define CLI_LOOP_LINE_H

#include "cli/reporter/reporter.h"

/* On a terminal: prints it, once the loop is known. Elsewhere it reads where the waits come from, for the
 * summary. When to call it again, UINT64_MAX: never for the line's sake. */
uint64_t loop_line_print(struct reporter *r, uint64_t now_ns);

/* Where the waits of a process's loop are, with the printer's symbolizer. */
void loop_line_read(struct printer *p, struct loop_place *l, pid_t pid, uint64_t call_pc, uint64_t caller_pc);
/* "watching the loop of redis-server[8605]: epoll_wait in aeApiPoll" */
void loop_line_add(struct printer *p, const char *name, pid_t pid, const struct loop_place *l);

#endif
