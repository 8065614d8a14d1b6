/* SPDX-License-Identifier: MIT
 * For how long a thread has not run, by the kernel's scheduler. Nothing is sent to the thread. Ordinary code.
 */
#ifndef CLI_LIVE_LAST_RAN_H
#define CLI_LIVE_LAST_RAN_H

#include <stddef.h>
#include <stdint.h>

struct last_ran {
    int tid; /* 0: not read */
    int cpu; /* on which it ran; -1: not known */
    uint64_t ran_ns;
    uint64_t still_ns; /* the result; 0: the kernel does not say */
};

/* Sets `still_ns` of each thread. A blocked thread is in its call for so long, or longer: a call may run for
 * a moment and block again. `proc_fd`: the process's folder of /proc.
 *
 * The calling thread visits each CPU on which such a thread ran last: the clocks of two CPUs may differ. */
void last_ran_read(int proc_fd, struct last_ran *item, size_t count);

/* ---- private ---------------------------------------------------------------------------------- */

/* The time of the last run in the text of a task's file `sched`, by its CPU's clock. 0: not there. */
uint64_t last_ran_parse(const char *text);

#endif
