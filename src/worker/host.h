/* SPDX-License-Identifier: MIT
 *
 * The program and the system, for the head of each report. On the worker thread.
 */
#ifndef HD_WORKER_HOST_H
#define HD_WORKER_HOST_H

#include "report/report.h"
#include "watch/run.h"

/* `app` and `host` point to the texts. */
struct hd_program_facts {
    struct hd_app app;
    struct hd_host host;
    char os_version[64], kernel[64], executable[64];
};

/* The process at an instant. */
struct hd_process {
    uint64_t rss_bytes; /* resident memory */
    bool debugger;      /* a debugger is attached */
};

/* Reads all of it, at the worker's start. Stores the program's name in the record: settle, which finishes the
 * reports of a dead process, has no other. `proc_fd`: descriptor of /proc/self. */
void hd_host_fill(struct hd_program_facts *facts, const struct hd_run *run, int proc_fd,
                  struct hd_modules *modules);
void hd_host_read_process(int proc_fd, struct hd_process *process);

#endif
