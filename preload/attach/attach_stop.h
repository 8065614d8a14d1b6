/* SPDX-License-Identifier: MIT
 *
 * Ends a watch until the main thread's next wait, or for ever, for example before a seccomp filter. These
 * functions run on the program's threads, except hd_attach_end_on_monitor.
 */
#ifndef HD_ATTACH_STOP_H
#define HD_ATTACH_STOP_H

#include "record/record.h"

/* Stops the monitor and the worker. False: the worker has not ended in time, for example because a disk does
 * not answer. Such a worker may still use the main thread's wait table. */
bool hd_attach_stop(void);

/* Ends our threads until the main thread's next wait. The main thread calls this before a system call that
 * fails while other threads exist. It also calls this at a change of its own rights that our threads cannot
 * make. False: there was no thread to end. */
bool hd_attach_end_threads(void);

/* Ends the watch for ever, and stores the reason in the record. Any thread may call this. */
void hd_attach_end_watch(enum hd_unwatched why);

/* The calling thread, which may be any, is about to install a seccomp filter. Ends the watch for ever, even
 * if the kernel then refuses the filter. In a vforked child this function does nothing, because only the
 * child gets the filter. */
void hd_attach_before_filter(void);

/* Implements the port `exceeds` (watch/ports.h), on the monitor thread. The main thread gave up a right by a
 * call that Hangdog does not wrap, so our threads end by themselves. `filtered`: the call installed a seccomp
 * filter. */
void hd_attach_end_on_monitor(bool filtered);

#endif
