/* SPDX-License-Identifier: MIT
 *
 * Reads the facts about the program and the system that all reports have. On the worker thread.
 */
#ifndef HD_WORKER_HOST_H
#define HD_WORKER_HOST_H

#include "cause/probe_context.h"
#include "report/report.h"
#include "watch/run.h"

/* Do not copy this struct: pointers in `app` and `host` refer to its texts. */
struct hd_program_facts {
    struct hd_app app;
    struct hd_host host;
    char os_version[64], kernel[64], executable[64], model[32];
};

/* The state of the process at one time. */
struct hd_process {
    uint64_t rss_bytes; /* resident memory */
    bool debugger;      /* true: a debugger is attached */
    struct hd_system_state system;
};

/* Fills *facts; call it when the worker starts. Also stores the program's name in the record, because settle
 * gets the name of a dead process only from the record. `proc_fd`: descriptor of /proc/self. */
void hd_host_fill(struct hd_program_facts *facts, const struct hd_run *run, int proc_fd,
                  struct hd_modules *modules);
/* Like hd_host_fill, for a process that may be another one. The caller has set facts->executable, and sets
 * app.pid later. `proc_fd`: the descriptor of that process's folder in /proc. */
void hd_host_fill_named(struct hd_program_facts *facts, const struct hd_run *run, int proc_fd,
                        struct hd_modules *modules);
/* Returns the CPU time of the probed process, which may be another one: then in steps of 10 ms. */
uint64_t hd_host_process_cpu_ns(const struct hd_probe_context *probe);
void hd_host_read_process(int proc_fd, struct hd_process *process);

#endif
