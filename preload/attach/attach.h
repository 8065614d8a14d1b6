/* SPDX-License-Identifier: MIT
 *
 * Starts the watch of a process, in the preload's constructor or at the main thread's first wait. At an exec,
 * offers the process's record to the next program. These functions run on the program's threads.
 */
#ifndef HD_ATTACH_H
#define HD_ATTACH_H

#include "record/record.h"

/* Called by the preload's constructor. Watches the main thread at once, except in two cases, in which the
 * watch starts at the main thread's first wait. First, a followed child without --exec may end soon. Second,
 * a program may have to be single-threaded for a while: it imports unshare or setns, or
 * `needs_single_threaded` is true. */
void hd_attach_begin(struct hd_record *r, bool needs_single_threaded);

/* The calling thread is about to change its user or group ids or its root folder. After the change the
 * process may be unable to open /proc and the spool. So if the process is root's, a watch that would start at
 * the first wait starts now. */
void hd_attach_before_rights_drop(void);

/* The calling thread is about to exec. Returns the record that the next program may take over. NULL: this
 * process is not watched. */
struct hd_record *hd_attach_before_exec(void);

#endif
