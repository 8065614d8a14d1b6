/* SPDX-License-Identifier: MIT
 *
 * The ends of a watch: for a while, for good, and before a seccomp filter. On the threads of the program,
 * except hd_attach_end_on_monitor.
 */
#ifndef HD_ATTACH_STOP_H
#define HD_ATTACH_STOP_H

#include "record/record.h"

/* Stops the monitor and the worker. False: the worker did not end in time, for example at a disk that does
 * not answer. The main thread's wait table may then still be in use. */
bool hd_attach_stop(void);

/* Ends our threads until the main thread's next wait. Reasons: a call that fails while other threads exist,
 * or a change of rights that our threads cannot follow. Main thread. False: there was no thread to end. */
bool hd_attach_end_threads(void);

/* Ends the watch for good. Any thread. */
void hd_attach_end_watch(enum hd_unwatched why);

/* Ends the watch for good before the calling thread installs a seccomp filter, even if the kernel then
 * refuses the filter. Any thread. In a vforked child nothing to do: the filter is the child's only. */
void hd_attach_before_filter(void);

/* The port `exceeds`, on the monitor. The main thread gave up a right by a call that Hangdog does not wrap.
 * Our threads end by themselves. `filtered`: the call installed a seccomp filter. */
void hd_attach_end_on_monitor(bool filtered);

#endif
