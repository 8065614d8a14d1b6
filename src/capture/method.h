/* SPDX-License-Identifier: MIT
 *
 * The functions by which hd_capture_take uses the system's capture methods. The array hd_methods has the
 * methods themselves. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_METHOD_H
#define HD_METHOD_H

#include "capture/target.h"

/* Starts an attempt to take a sample: stores the time and the thread's statistics in *out, and clears all
 * other members. Returns 0, or the error of reading the statistics. */
int hd_method_begin_attempt(struct hd_target *t, struct hd_capture *out);
/* Clears all members of *out except at_ns and sched. */
void hd_method_reset(struct hd_capture *out);
/* Starts an attempt to take a sample of a thread that need not be watched. Tries only the methods that send
 * the thread no signal. Returns one of the results that struct hd_capture_method explains. */
int hd_method_read_in_place(struct hd_target *t, struct hd_capture *out);

/* Takes an answer that came after hd_method_signalled had returned. Returns 0, or -EAGAIN if no answer has
 * come yet. */
int hd_method_signalled_late(struct hd_target *t, struct hd_capture *out);

#endif
