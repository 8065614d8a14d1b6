/* SPDX-License-Identifier: MIT
 *
 * Finds the lock of a SQLite database that a thread waits for. SQLite waits in short sleeps and tries the
 * lock again after each (sqliteDefaultBusyCallback), so the kernel sees no waiting thread. But the locks of
 * SQLite have bytes of their own, which /proc/locks shows. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_DATABASE_H
#define HD_DATABASE_H

#include "cause/probe_context.h"

/* Fills out->evidence with a lock of kind HD_LOCK_DATABASE, and out->party with the lock's holder, in two
 * cases. 1: the thread sleeps in a library of SQLite. 2: the thread sleeps for one of SQLite's times, and
 * another process has a lock of SQLite's on a file that this process has open. Case 2 is for programs that
 * contain SQLite. */
void hd_database_find(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                      const struct hd_frame *frames, uint32_t count, struct hd_probe *out);

/* The time for which call `c` sleeps is one of SQLite's. */
bool hd_database_is_delay(uint64_t ns);

#endif
