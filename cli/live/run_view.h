/* SPDX-License-Identifier: MIT
 *
 * The loops that Hangdog watches in another process, read from that process's memory. Ordinary code; the
 * process may write anything there: each address is only ever read from, each number is bounded.
 */
#ifndef CLI_LIVE_RUN_VIEW_H
#define CLI_LIVE_RUN_VIEW_H

#include "loop/loop.h"

struct live_process; /* cli/live/process.h */

#define RUN_LOOPS_MAX 16u /* top reads so many loops, and counts the others */

struct run_loop {
    int tid;
    uint32_t slot, generation; /* which watch it is */
    char name[32];
    uint64_t busy_ns; /* of all its turns, also the one that runs */
    uint64_t turns[HD_TURN_HISTOGRAM];
    uint64_t frames;
    uint64_t running_ns; /* of the turn that runs; 0: it is idle */
};

struct run_hangs {
    uint64_t count, lost_ns, longest_ns; /* of ended hangs */
    bool lasts, ended;                   /* the hang in the record: is open; has ended */
    uint64_t since_ns, for_ns;
};

struct run_view {
    uint64_t place;     /* address of struct hd_run_place; 0: not found */
    uint64_t at_ns;     /* of the last reading */
    size_t loops, more; /* loops that were read; loops that were not */
    struct run_loop loop[RUN_LOOPS_MAX];
    struct run_hangs hangs;
};

/* Looks for a run in the process's memory: some milliseconds. False: it has none of this version. */
bool run_view_find(struct run_view *v, const struct live_process *p);

/* Reads the run that was found. False: it is over. */
bool run_view_read(struct run_view *v, const struct live_process *p);

#endif
