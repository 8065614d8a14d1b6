/* SPDX-License-Identifier: MIT
 *
 * The watched process's life: from when on it is watched, and what ends it. Ordinary code, on the threads of
 * the program.
 */
#ifndef HD_ATTACH_H
#define HD_ATTACH_H

#include "record/record.h"

/* The constructor's: the main thread is watched from now on, or from its first wait: that it will need to be
 * alone is known, or is seen from what it imports. */
void hd_attach_begin(struct hd_record *r, bool needs_single_threaded);

/* The main thread's alternate stack, which the program does not see; NULL: none of ours. Written once, before
 * the program's own code runs; not wiped in a forked child, which has it still. */
extern void *hd_attach_alt_stack;

/* Called in the process that the watch is of: not in a child. */
bool hd_attach_is_own(void);

/* Where children are followed: a forked or vforked one, of which nothing is known yet. */
bool hd_attach_is_child(void);

/* The calling thread is about to exec: the record of this process if it is ours, and its next program may be.
 */
struct hd_record *hd_attach_before_exec(void);

/* The calling thread is about to install a seccomp filter, which may end the program for any call of ours:
 * the watch ends before, also where the kernel then refuses the filter. A vforked child's filter is its own.
 */
void hd_attach_before_filter(void);

/* A filter is on some thread of the program: nothing of ours makes a system call on any of them. */
bool hd_attach_is_filtered(void);

/* The calling thread is about to make a call that fails while there are other threads: ours end, until it
 * waits. True when there were some. */
bool hd_attach_end_threads(void);
/* The calling thread is about to change its ids or its root. A process that is to be watched from its first
 * wait on is watched from now on: later neither /proc nor the spool may be open to it. */
void hd_attach_loses_rights(void);

/* The same for good, from any thread. */
void hd_attach_end_watch(enum hd_unwatched why);
/* A thread of ours in this process, 0: there is none, -1: nobody knows its number yet. And the securebits
 * that all threads began with. */
int hd_attach_own_thread(void);
int hd_attach_securebits(void);

/* Our prctl: by that name the program's own may be found. */
int hd_own_prctl(int option, ...);

#endif
