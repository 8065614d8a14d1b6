/* SPDX-License-Identifier: MIT
 *
 * The steps of a watched process's life that start a watch or pass the record on: constructor, first wait,
 * exec. On the threads of the program.
 */
#ifndef HD_ATTACH_H
#define HD_ATTACH_H

#include "record/record.h"

/* Called by the constructor. Watches the main thread, at once or from its first wait on. The latter is for a
 * program that must be single-threaded for a while: `needs_single_threaded` says so, or the program imports
 * unshare or setns. */
void hd_attach_begin(struct hd_record *r, bool needs_single_threaded);

/* The calling thread is about to change its ids or its root. Starts a watch that would start at the first
 * wait, since the process may then be unable to open /proc and the spool. */
void hd_attach_before_rights_drop(void);

/* The calling thread is about to exec. Returns the record that the next program may take over; NULL: none. */
struct hd_record *hd_attach_before_exec(void);

#endif
