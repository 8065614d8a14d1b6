/* SPDX-License-Identifier: MIT
 *
 * Prints reports of spools: each hang as it ends, and a line now and then while one lasts. It adds symbols,
 * counts hangs for the summary, and runs --on-hang. One thread, in the reporter's process.
 */
#ifndef CLI_PRINTER_H
#define CLI_PRINTER_H

#include <poll.h>

#include "cli/reporter/printer_state.h"

/* In the reporter's process, first. */
void printer_start(struct printer *r);

/* A file of this name is in the spool. It may be no report. `spool` stays valid. */
void printer_take(struct printer *r, const char *spool, const char *name);

/* The age by the report and the time since it was read: what `age` returns without a better source. */
uint64_t printer_age(const struct printed_report *p, uint64_t now_ns);

/* Prints what is due. When to call it again, UINT64_MAX: never. */
uint64_t printer_step(struct printer *r, uint64_t now_ns);

/* Waits until there may be more to do: a signal, a call of the starter, a readable descriptor among `fds`, or
 * next_ns. The first two of `fds` are the printer's. */
#define PRINTER_FDS 2
void printer_wait(struct printer *r, struct pollfd *fds, size_t count, uint64_t next_ns);

/* The programs have ended: prints pools that still are stalled, and waits for commands for a while. How many
 * reports --on-hang did not get. */
unsigned long printer_finish(struct printer *r);

/* Prints how many reports --on-hang skipped, and how many hangs are not printed. */
void printer_print_skipped(const struct printer *r, unsigned long skipped);

uint64_t printer_earlier(uint64_t a, uint64_t b);

#endif
