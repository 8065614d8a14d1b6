/* SPDX-License-Identifier: MIT
 *
 * The ways of Linux. ways.c puts those of this build in their order.
 */
#ifndef HD_WAYS_H
#define HD_WAYS_H

#include "outside/hook.h"

/* As hd_counter_way, and the kernel records each switch of a thread with a loop: a turn is exact if the
 * thread blocked before it. */
extern const struct hd_hook_way hd_records_way;
/* Only looks. A long turn is certain only while the thread is blocked outside of the loop's wait. */
extern const struct hd_hook_way hd_looks_way;

/* Looks, and breakpoints behind the loop's wait while a thread may be in a long turn (perf_proof.h). */
extern const struct hd_hook_way hd_counter_way;

#endif
