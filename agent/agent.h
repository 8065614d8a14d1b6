/* SPDX-License-Identifier: MIT
 *
 * The agent: finds processes, decides by the rules, lets the watcher watch them, keeps within its budget.
 * One thread.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "agent/budget.h"
#include "agent/processes.h"
#include "agent/rules.h"
#include "agent/server.h"
#include "agent/supervisor.h"
#include "agent/totals.h"
#include "cli/fleet/fleet.h"
#include "cli/outside/origin.h"
#include "cli/outside/watcher.h"

/* The agent's data of a watched process. */
struct agent_watch {
    pid_t pid;
    uid_t reader; /* may see its reports: its user, or root where it has more rights than the user */
    size_t total; /* index in the totals */
    struct hd_origin origin;
    char folder[4 * HD_RECORD_STRING];
    bool has_new; /* reports in the folder that are not the reader's yet */
    unsigned open;
    uint64_t open_since_ns;      /* CLOCK_MONOTONIC */
    uint64_t added_ns, spent_ns; /* `spent_ns`: the watcher's, at the last check of the budget */
    char last_report[40];
    int64_t last_wall_s; /* of the last hang's end; 0: none */
};

struct agent {
    const struct agent_options *options;
    struct watcher *watcher;
    struct processes processes;
    struct rules rules;
    struct totals totals;
    struct budget budget;
    struct server *server;                                   /* open before agent_start */
    struct supervision *supervision;                         /* the same */
    uint64_t started_ns, scan_ns, look_ns, tick_ns, file_ns; /* of the next scan, looks, and so on */
    enum budget_verdict verdict;
    unsigned shed;    /* processes that are left out for the budget */
    char less[160];   /* for a person: what the budget did last; empty: nothing */
    unsigned printed; /* lines in this minute */
    uint64_t minute_ns;
    bool no_lists_said;
    int notify_fd;
};

/* False, and why. Fills *a, which has its server and supervision; agent_stop empties it in either case. */
bool agent_start(struct agent *a, const struct agent_options *options, struct problem *why);
/* Until a signal comes: `stop` ends it, `reload` reads the rules again. */
void agent_run(struct agent *a, const volatile sig_atomic_t *stop, volatile sig_atomic_t *reload);
void agent_stop(struct agent *a);

/* Prints what the rules say of the processes of now. */
int agent_check(const struct agent_options *options);

/* ---- private ---------------------------------------------------------------------------------- */

/* The watcher's calls (agent_events.c). */
extern const struct watcher_events agent_watcher_events;
/* Forgets the data of a process; its counters stay in the sums. `p`: NULL where they are not known. */
void agent_forget(struct agent *a, struct host_process *of, const struct watched_process *p);
/* One line to stderr, unless there were many in this minute. */
void agent_print(struct agent *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same without a limit, for what happens at most once a second. */
void agent_print_always(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Gives new reports of all processes to their users. */
void agent_give_reports(struct agent *a);

/* The pages /status and /metrics, for `user` (agent_status.c); as server_options.answer. */
const char *agent_answer(void *agent, const char *page, uid_t user, FILE *out);
/* The figures as a file for node_exporter. */
void agent_write_figures(struct agent *a, const char *path);
uint64_t agent_cpu_ns(void);
uint64_t agent_resident_bytes(void);

#endif
