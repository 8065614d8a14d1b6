/* SPDX-License-Identifier: MIT
 *
 * All threads of another process with their stacks and what they wait for, read without stopping any.
 * Ordinary code.
 */
#ifndef CLI_LIVE_THREADS_H
#define CLI_LIVE_THREADS_H

#include "cause/cause.h"
#include "cli/live/module_map.h"
#include "report/report.h"
#include "script/script.h"

struct live_reading; /* private state of the reading */

struct live_threads {
    const struct live_process *process;
    struct live_reading *reading;
    struct module_map map;
    struct hd_modules *modules;
    struct hd_scripts *scripts;
    size_t count, room;
    size_t own;                      /* threads of Hangdog, which are not among them */
    struct hd_thread_record *record; /* as a report has them */
    struct live_wait {
        struct hd_probe probe;
        struct hd_sched sched;  /* when its stack was read */
        uint64_t at_ns, cpu_ns; /* of the first look, for its share of a CPU */
    } *wait;                    /* of the same thread */
    size_t frames, frames_room;
    struct hd_frame *frame;
    uint64_t began_ns, ended_ns;
    uint64_t pause_total_ns, pause_max_ns; /* for which threads stood still */
};

/* Reads all of them. `stop`: those that run and of which the kernel gives no sample are stopped, each for one
 * copy. 0 or a negative errno value; free it in both cases. */
int live_threads_read(struct live_threads *t, const struct live_process *p, bool stop);
/* Reads the threads again, after live_threads_read, with the same results. Takes a fraction of the time,
 * since data about modules stays while the process has the same modules. */
int live_threads_again(struct live_threads *t);
/* The number that the thread has in the process's own PID namespace. */
int live_threads_own_number(const struct live_threads *t, int tid);
/* The thread that has this number there; 0: none. */
int live_threads_called(const struct live_threads *t, int tid);
void live_threads_free(struct live_threads *t);

#endif
