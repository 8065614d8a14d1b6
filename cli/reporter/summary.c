/* SPDX-License-Identifier: MIT */
#include "cli/reporter/summary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/base/error.h"
#include "cli/base/message.h"
#include "cli/base/old_libc.h"
#include "cli/base/output.h"
#include "cli/base/proc.h"
#include "cli/base/sanitize.h"
#include "cli/base/shell_quote.h"
#include "cli/render/render.h"
#include "cli/reporter/hang_rows.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/no_loop.h"
#include "cli/reporter/reporter.h"
#include "cli/settle/liveness.h"
#include "report/spool.h"

/* ---- a run with hangs ------------------------------------------------------------------------ */

#define POOLS_BYTES (RENDER_DURATION_BYTES + 64)
#define RAN_BYTES (RENDER_DURATION_BYTES + sizeof ", until it crashed (SIGTRAP)")
#define START_BYTES (RENDER_DURATION_BYTES + sizeof ", started in ")

static bool is_child(const struct hd_record *c) {
    return atomic_load(&c->owner.pid) != 0 && atomic_load(&c->owner.superseded_ns) == 0 &&
           c->options.of_child;
}

/* The number of processes that had hangs. The first record has the sum of all. */
static unsigned hanging_processes(const struct reporter *r) {
    uint64_t rest = atomic_load(&r->records->hangs.count);
    unsigned processes = 0;
    for (unsigned i = 1; i < HD_RECORDS; i++) {
        uint64_t hangs = is_child(&r->records[i]) ? atomic_load(&r->records[i].hangs.count) : 0;
        processes += hangs > 0;
        rest -= hangs < rest ? hangs : rest;
    }
    return processes + (rest > 0);
}

/* ", but 2 pool stalls of 7.9 s in all"; empty: none, as in nearly all runs. */
static const char *put_pools(const struct reporter *r, const char *word, char to[POOLS_BYTES]) {
    char time[RENDER_DURATION_BYTES];
    uint64_t stalls = atomic_load(&r->records->pools.stalls) + r->printer.open_stalls;
    uint64_t stall_ns = atomic_load(&r->records->pools.stall_ns) + r->printer.open_stall_ns;
    to[0] = '\0';
    if (stalls > 0) {
        snprintf(to, POOLS_BYTES, ", %s %llu pool stall%s of %s%s", word, (unsigned long long)stalls,
                 cli_plural((int64_t)stalls, "", "s"), render_duration(time, (int64_t)stall_ns),
                 stalls > 1 ? " in all" : "");
    }
    return to;
}

/* ", started in 4.2 s": from the program's start to its loop's first wait; empty: no loop waited. */
static const char *put_start(const struct reporter *r, char to[START_BYTES]) {
    char took[RENDER_DURATION_BYTES];
    uint64_t launch_ns = atomic_load(&r->records->turns.launch_ns);
    to[0] = '\0';
    if (launch_ns > 0) {
        snprintf(to, START_BYTES, ", started in %s", render_duration(took, (int64_t)launch_ns));
    }
    return to;
}

/* " (36%)", or " in 4 processes", whose times overlap. */
static void put_share(const struct reporter *r, char *to, size_t size, uint64_t hang_ns, uint64_t ran_ns) {
    unsigned processes = hanging_processes(r);
    if (processes > 1) {
        snprintf(to, size, " in %u processes", processes);
    } else if (hang_ns <= ran_ns) {
        snprintf(to, size, " (%.0f%%)", ran_ns > 0 ? 100.0 * (double)hang_ns / (double)ran_ns : 0.0);
    } else { /* the sum of several threads, or a hostile record */
        to[0] = '\0';
    }
}

/* `ran_ns`: for how long the program ran; `ran`: the same as text. */
static void end_table_print(const struct reporter *r, uint64_t ran_ns, const char *ran) {
    char lost[RENDER_DURATION_BYTES], share[32], start[START_BYTES], text[512];
    char pools[POOLS_BYTES];
    uint64_t hangs = atomic_load(&r->records->hangs.count),
             hang_ns = atomic_load(&r->records->hangs.total_ns);
    render_duration(lost, (int64_t)hang_ns);
    put_share(r, share, sizeof share, hang_ns, ran_ns);
    snprintf(text, sizeof text, "%.255s ran for %s: %llu hang%s, %s lost%s%s%s%s", r->options->name, ran,
             (unsigned long long)hangs, cli_plural((int64_t)hangs, "", "s"), lost, share,
             r->printer.shared->table.rows == 0 ? ", without a report" : "", put_pools(r, "and", pools),
             put_start(r, start));
    message_print(MESSAGE_BOLD, &(struct message_part){text, NULL}, 1);
    if (r->printer.shared->table.rows > 0) {
        hang_rows_print(&r->printer.shared->table, !r->options->print.not_kept, r->printer.colour);
    }
}

/* ---- how the run ended ------------------------------------------------------------------------ */

/* The signal of a crash that ended the program; 0: none did. */
static int crash_of(const struct reporter *r) {
    static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    int status = r->shared->end.status;
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        if (WIFSIGNALED(status) && WTERMSIG(status) == crashes[i]) {
            return crashes[i];
        }
    }
    return 0;
}

/* "900 ms", "900 ms, until it crashed (SIGSEGV)": without hangs the line must not say that all went well. */
static void put_ran(const struct reporter *r, char to[RAN_BYTES], uint64_t ran_ns) {
    char ran[RENDER_DURATION_BYTES];
    int crash = crash_of(r);
    snprintf(to, RAN_BYTES, crash != 0 ? "%s, until it crashed (SIG%s)" : "%s",
             render_duration(ran, (int64_t)ran_ns), sigabbrev_np(crash));
}

/* ---- what was not watched -------------------------------------------------------------------- */

/* NULL: it was watched to its end. */
static const char *unwatched_reason(enum hd_unwatched why) {
    switch (why) {
    case HD_UNWATCHED_FILTER:
        return "its seccomp filter may kill it";
    case HD_UNWATCHED_EXEC:
        return "it became a program that takes no preload (a static one, set-user-id, of another C library or "
               "architecture, under a seccomp filter, or by a user who may not read our library)";
    case HD_UNWATCHED_RIGHTS:
        return "a thread changed its user";
    case HD_UNWATCHED_ROOT:
        return "it changed root";
    case HD_UNWATCHED_FAILED:
        return "no memory or no thread for the monitor";
    case HD_UNWATCHED_TABLE:
        return "seccomp forbids close_range; allow it";
    case HD_UNWATCHED_NOT:
    case HD_UNWATCHED_NO_WAIT:
    case HD_UNWATCHED_KINDS:
    default:
        return NULL;
    }
}

static const char *reason_of(const struct hd_record *c) {
    return unwatched_reason((enum hd_unwatched)atomic_load(&c->status.unwatched));
}

static bool is_whole(const struct reporter *r) {
    return reason_of(r->records) == NULL && atomic_load(&r->records->loop.certainty) != HD_RECORD_NO_LOOP;
}

static void print_unwatched_children(const struct reporter *r) {
    unsigned count[HD_UNWATCHED_KINDS] = {[HD_UNWATCHED_EXEC] =
                                              atomic_load(&r->records->shared.children_unwatched)};
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        uint32_t why =
            is_child(&r->records[i]) ? atomic_load(&r->records[i].status.unwatched) : HD_UNWATCHED_NOT;
        if (why < HD_UNWATCHED_KINDS) {
            count[why]++;
        }
    }
    for (unsigned why = 0; why < HD_UNWATCHED_KINDS; why++) {
        const char *reason = unwatched_reason((enum hd_unwatched)why);
        if (reason != NULL && count[why] > 0) {
            print_error("%u %s not watched to the end: %s", count[why],
                        cli_plural(count[why], "child was", "children were"), reason);
        }
    }
}

/* ---- what is missing -------------------------------------------------------------------------- */

/* A bit for each name of --thread: such a thread waited, in any image of the program or child of it. */
static uint32_t threads_seen(const struct reporter *r) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        seen |= atomic_load(&r->records[i].threads_seen);
    }
    return seen;
}

static void print_missing_threads(const struct reporter *r) {
    const struct main_thread *t = &r->shared->main_thread;
    const struct text_list *wanted = r->options->threads;
    char seen[128] = "";
    for (uint32_t i = 0; i < t->threads; i++) {
        size_t n = strlen(seen);
        snprintf(seen + n, sizeof seen - n, "%s%s", n > 0 ? ", " : "; seen: ", t->thread[i]);
    }
    for (size_t i = 0; i < wanted->count && atomic_load(&r->records->status.attached) != 0; i++) {
        if ((threads_seen(r) >> i & 1) == 0) {
            print_error("--thread %s: none waited%s", wanted->text[i], seen);
        }
    }
}

/* The kernel ends a thread that blocks the signal of its own fault: no handler runs. */
static void print_missing_crash(const struct reporter *r) {
    const struct hd_record *c = r->records;
    bool wanted = c->options.crash && atomic_load(&c->status.attached) != 0 && reason_of(c) == NULL;
    if (wanted && !r->printer.shared->crash_reported && crash_of(r) != 0) {
        print_error("no report of the crash (SIG%s): the thread blocked the signal, or the program has "
                    "a handler of its own",
                    sigabbrev_np(crash_of(r)));
    }
}

static void print_missing(const struct reporter *r) {
    json_file_print_missing(&r->printer);
    struct hd_record *c = r->records;
    unsigned long long failed = atomic_load(&c->losses.spool_failures),
                       dropped = atomic_load(&c->losses.dropped_reports);
    unsigned long long all = atomic_load(&c->hangs.count) + 1; /* the session's too */
    int error = atomic_load(&c->losses.spool_error);
    if (error != 0 && failed != 0) {
        print_error("%llu of %llu reports lost: cannot write '%.500s': %s", failed,
                    all > failed ? all : failed, c->options.spool, strerror(error));
    }
    if (dropped != 0) {
        print_error("removed the %llu oldest report%s in '%.500s' (limit %d, %llu MiB)", dropped,
                    cli_plural((int64_t)dropped, "", "s"), c->options.spool, HD_SPOOL_REPORTS,
                    HD_SPOOL_BYTES >> 20);
    }
    if (atomic_load(&c->status.attached) != 0 && !proc_is_ours()) {
        print_error_try("mount -t proc proc /proc", "no stacks: /proc is of another PID namespace");
    }
    print_missing_threads(r);
    print_missing_crash(r);
}

static void print_children(const struct reporter *r) {
    unsigned all = 0, running = 0;
    char numbers[128] = "";
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &r->records[i];
        size_t n = strlen(numbers);
        pid_t pid = is_child(c) ? liveness_pid(c) : 0;
        all += is_child(c);
        if (pid != 0) {
            running++;
            snprintf(numbers + n, sizeof numbers - n, "%s%d", n == 0 ? "" : ", ", (int)pid);
        }
    }
    if (running > 0) {
        print_error("%u of %u %s still %s (%s); see the spool", running, all,
                    cli_plural(all, "child", "children"), cli_plural(running, "runs", "run"), numbers);
    }
}

static void print_survivor(const struct reporter *r) {
    pid_t pid = r->shared->survivor;
    char command[256];
    if (pid != 0 && r->options->follow) {
        print_error("process %d of %s still runs; see the spool", (int)pid, r->options->name);
    } else if (pid != 0) {
        snprintf(command, sizeof command, "%.200s run --follow", shell_own_command());
        print_error_try(command, "process %d of %s runs on unwatched", (int)pid, r->options->name);
    }
}

/* ---- the run ---------------------------------------------------------------------------------- */

static void print_unwatched(const struct reporter *r, const char *ran, const char *why) {
    bool ever = atomic_load(&r->records->status.attached) > 1;
    char text[1024];
    snprintf(text, sizeof text, "%.255s ran for %s, %s: %s", r->options->name, ran,
             ever ? "not watched to its end" : "not watched", why);
    message_print(MESSAGE_WARNING, &(struct message_part){text, NULL}, 1);
}

static void print_no_hang(const struct reporter *r, const char *ran) {
    char text[512], threshold[RENDER_DURATION_BYTES], start[START_BYTES], pools[POOLS_BYTES];
    snprintf(text, sizeof text, "%.255s ran for %s: no hang of %s or more%s%s", r->options->name, ran,
             render_duration(threshold, r->options->threshold_ns), put_pools(r, "but", pools),
             put_start(r, start));
    if (!no_loop_print_children(r, text)) {
        message_print(MESSAGE_PLAIN, &(struct message_part){text, NULL}, 1);
    }
}

static void print_run(const struct reporter *r) {
    struct hd_record *c = r->records;
    uint64_t ran_ns = r->shared->end.ended_ns - c->options.started_ns;
    char ran[RAN_BYTES];
    put_ran(r, ran, ran_ns);
    const char *why = reason_of(c);
    uint32_t seen = atomic_load(&c->loop.certainty);
    if (atomic_load(&c->status.attached) == 0) {
        print_unwatched(r, ran, "it dropped LD_PRELOAD");
    } else if (why != NULL) {
        print_unwatched(r, ran, why);
    } else if (seen == HD_RECORD_NO_LOOP && no_loop_print_start(r, ran_ns, ran)) {
        return;
    } else if (seen == HD_RECORD_NO_LOOP && r->options->loop != NULL) {
        no_loop_print_option(r, ran);
    } else if (seen == HD_RECORD_NO_LOOP) {
        no_loop_print(r, ran);
    } else if (atomic_load(&c->hangs.count) != 0) {
        end_table_print(r, ran_ns, ran);
        no_loop_print_children(r, "these are hangs of the program's own process");
    } else if (seen == HD_RECORD_LOOP_DOUBTFUL) {
        no_loop_print_uncertain(r, ran);
    } else {
        print_no_hang(r, ran);
    }
}

void summary_print(const struct reporter *r, unsigned long skipped) {
    printer_print_skipped(&r->printer, skipped);
    print_survivor(r);
    print_missing(r);
    /* a session of an image before says nothing of the last one */
    if (!atomic_load(&r->printer.shared->session_printed) || !is_whole(r)) {
        print_run(r);
    }
    if (r->options->follow) {
        print_unwatched_children(r);
        print_children(r);
    }
}
