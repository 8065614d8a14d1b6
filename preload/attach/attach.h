/* SPDX-License-Identifier: MIT
 *
 * Starts the watch of a process, in the constructor or at the first wait. Passes the record on at exec. On
 * the program's threads.
 */
#ifndef HD_ATTACH_H
#define HD_ATTACH_H

#include "record/record.h"

/* Called by the constructor. Watches the main thread at once, or from its first wait on. The second is for a
 * followed child, which may end soon, and for a program that must be single-threaded for a while. Such a
 * program imports unshare or setns, or `needs_single_threaded` is true. */
void hd_attach_begin(struct hd_record *r, bool needs_single_threaded);

/* The calling thread is about to change its ids or its root folder. If the watch is to start at the first
 * wait, starts it now. After the change the process may be unable to open /proc and the spool. */
void hd_attach_before_rights_drop(void);

/* The calling thread is about to exec. Returns the record that the next program may take over. NULL: this
 * process is not watched. */
struct hd_record *hd_attach_before_exec(void);

#endif
