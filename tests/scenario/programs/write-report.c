/* SPDX-License-Identifier: MIT
 *
 * Writes reports by the library's own writer into a spool, without any hang: what the tests of the schema and
 * of the command read. Ordinary code.
 *
 *   write-report SPOOL KIND...      full live brief session nasty empty deadlock; prints the id of each, a
 * line each
 *
 * The stacks are this program's own, so that their functions, files, lines and inlined frames are known.
 */
#include "cause/deadlock.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES 64

struct stack {
    struct hd_frame frame[FRAMES];
    uint32_t count;
};

static struct hd_modules modules;
static struct hd_tree_pool pool;

/* ---- real stacks -------------------------------------------------------------------------- */

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *ctx) {
    struct stack *stack = ctx;
    if (stack->count == FRAMES || _Unwind_GetIP(context) == 0) {
        return _URC_END_OF_STACK;
    }
    stack->frame[stack->count++] = (struct hd_frame){
        .pc = _Unwind_GetIP(context),
        .start = _Unwind_GetRegionStart(context),
        .trust = HD_TRUST_CFI,
    };
    return _URC_NO_REASON;
}

__attribute__((noinline)) static void take_stack(struct stack *stack) {
    stack->count = 0;
    _Unwind_Backtrace(add_frame, stack);
    /* Without this function's own frame; the caller's is taken for the innermost. */
    stack->count--;
    memmove(stack->frame, stack->frame + 1, stack->count * sizeof stack->frame[0]);
}

static inline __attribute__((always_inline)) void inlined_step(struct stack *stack) {
    take_stack(stack);
    __asm__ volatile("");
}

__attribute__((noinline)) static void hot_function(struct stack *stack) {
    inlined_step(stack);
    __asm__ volatile("");
}

__attribute__((noinline)) static void other_function(struct stack *stack) {
    take_stack(stack);
    __asm__ volatile("");
}

/* ---- reports ------------------------------------------------------------------------------ */

struct made {
    struct hd_report report;
    struct hd_app app;
    struct hd_host host;
    struct hd_cause cause;
    struct hd_tree tree;
    struct hd_timeline_entry timeline[8];
    struct hd_thread_record threads[3];
    struct hd_frame thread_frames[FRAMES];
    struct hd_monitor_cost monitor;
    struct hd_session session;
};

static void make_base(struct made *m) {
    uint64_t wall_ns = 0;
    memset(m, 0, sizeof *m);
    hd_os.wall_clock(&wall_ns);
    hd_tree_init(&m->tree, &pool);
    m->app = (struct hd_app){.name = "write-report", .version = "1.2", .executable = "write-report"};
    m->app.pid = (int)getpid();
    m->app.started_wall_ns = wall_ns - 10 * HD_NS_PER_S;
    hd_uuid_make(m->app.session, wall_ns);
    m->host = (struct hd_host){.os_version = "12", .kernel = "6.1.0", .cpus = 2, .memory_bytes = 1u << 30};
    m->report = (struct hd_report){
        .kind = HD_REPORT_HANG,
        .started_wall_ns = wall_ns,
        .started_ns = HD_NS_PER_S,
        .duration_ns = 2003 * HD_NS_PER_MS,
        .threshold_ns = 500 * HD_NS_PER_MS,
        .complete = true,
        .fingerprint = 0x0123456789abcdef,
        .app = &m->app,
        .host = &m->host,
        .cpu_percent = 12.34,
        .rss_bytes = 123456789,
        .thread_count = 3,
        .loop_name = "main",
        .loop_thread = hd_thread_id_of(m->app.pid),
        .loop_activity = "after-waiting",
        .loop_state = "foreground",
        .loop_scheme = "activity",
        .interval_ns = 50 * HD_NS_PER_MS,
        .modules = &modules,
    };
    hd_uuid_make(m->report.id, wall_ns);
}

/* Samples in two functions: most of the time in one, the last sample in the other. */
static void add_samples(struct made *m) {
    struct stack hot, other;
    struct hd_cause_sums sums = {0};
    uint32_t leaf[2];
    hot_function(&hot);
    other_function(&other);
    leaf[0] = hd_tree_add(&m->tree, hot.frame, hot.count, HD_NS_PER_S);
    leaf[1] = hd_tree_add(&m->tree, other.frame, other.count, 2 * HD_NS_PER_S);
    for (uint32_t i = 0; i < 5; i++) {
        struct hd_probe e = {.for_ns = 400 * HD_NS_PER_MS, .state = HD_RUN_BLOCKED, .syscall_nr = 230};
        m->timeline[(i + 6) % 8] = (struct hd_timeline_entry){
            .at_ns = HD_NS_PER_S + i * e.for_ns,
            .for_ns = e.for_ns,
            .leaf = i == 3 ? HD_TREE_NONE : leaf[i == 4],
            .syscall_nr = e.syscall_nr,
            .state = HD_RUN_BLOCKED,
        };
        hd_tree_charge(&m->tree, leaf[i == 4], e.for_ns);
        hd_cause_add(&sums, &e);
    }
    hd_cause_decide(&sums, &m->cause);
    m->report.cause = &m->cause;
    m->report.tree = &m->tree;
    m->report.taken = 5;
    m->report.timeline = m->timeline;
    m->report.timeline_first = 6;
    m->report.timeline_count = 5;
    m->report.timeline_size = 8;

    memcpy(m->thread_frames, hot.frame, hot.count * sizeof hot.frame[0]);
    m->threads[0] = (struct hd_thread_record){.thread = hd_thread_id_of(m->app.pid + 3),
                                              .name = "write-report",
                                              .watched = true,
                                              .cpu_percent = 0.5,
                                              .state = HD_RUN_BLOCKED,
                                              .syscall_nr = 230,
                                              .count = hot.count};
    m->threads[1] = (struct hd_thread_record){.thread = hd_thread_id_of(m->app.pid + 1),
                                              .name = "worker",
                                              .cpu_percent = 99.9,
                                              .state = HD_RUN_RUNNING,
                                              .syscall_nr = HD_SYSCALL_NONE,
                                              .error = 11};
    m->threads[2] = (struct hd_thread_record){.thread = hd_thread_id_of(m->app.pid + 2),
                                              .name = "no\xff"
                                                      "end-of-text1",
                                              .cpu_percent = -1,
                                              .state = HD_RUN_GONE,
                                              .syscall_nr = 9999,
                                              .error = 3};
    m->report.threads = m->threads;
    m->report.thread_records = 3;
    m->report.threads_left_out = 1;
    m->report.thread_frames = m->thread_frames;
    m->monitor =
        (struct hd_monitor_cost){.samples = 5, .pause_max_ns = 3000, .pause_total_ns = 9000, .cpu_ns = 50000};
    m->report.monitor = &m->monitor;
}

static void make_session(struct made *m) {
    m->report.kind = HD_REPORT_SESSION;
    m->report.duration_ns = 12 * HD_NS_PER_S;
    m->session = (struct hd_session){.used_ns = 12 * HD_NS_PER_S,
                                     .idle_ns = 9 * HD_NS_PER_S,
                                     .busy_ns = 3 * HD_NS_PER_S,
                                     .hangs = 1,
                                     .turns = 40,
                                     .hang_ns = 2003 * HD_NS_PER_MS,
                                     .suppressed_count = 2,
                                     .reports_dropped = 1,
                                     .withdrawn = 2,
                                     .suppressed_total_ns = 5,
                                     .suppressed_max_ns = 3};
    m->session.turn_histogram[20] = 39;
    m->session.turn_histogram[31] = 1;
    m->report.session = &m->session;
}

/* Everything that a string or a number must not break. */
static void make_nasty(struct made *m) {
    m->app.name = "quote\" back\\slash \x01\n\t\x7f caf\xc3\xa9 \xff\xfe \xed\xa0\x80 \xf0\x9f\x98\x80 \xc3";
    m->app.version = "";
    m->report.cpu_percent = 1e300;
    m->report.duration_ns = INT64_MAX;
    memset(m->cause.path, 'x', sizeof m->cause.path); /* no NUL */
    memcpy(m->cause.peer, "\xe2\x82", 3);
    m->cause.party.role = HD_PARTY_HOLDER;
    memset(m->cause.party.name, 0xc3, sizeof m->cause.party.name); /* no NUL */
    memset(m->cause.detail, 0xc3, sizeof m->cause.detail);
    m->cause.kind = 200;
    m->cause.share = 1.5;
    m->cause.deadlock_count = 99;
    m->report.hot_stop = m->report.hot_way = 200;
    m->timeline[6].state = m->timeline[7].state = 200;
}

static void make_deadlock(struct made *m) {
    const hd_thread_id thread = hd_thread_id_of(m->app.pid), next = hd_thread_id_of(m->app.pid + 1);
    const struct hd_waits_for edges[] = {{thread, next}, {next, thread}};
    m->cause.kind = HD_CAUSE_LOCK;
    m->cause.lock_address = 0x1234560;
    m->cause.lock_owner = next;
    m->cause.syscall_nr = 202;
    m->threads[0].waits_for = next;
    m->threads[1].waits_for = thread;
    hd_cause_find_ring(&m->cause, edges, 2, thread);
}

static bool make(struct made *m, const char *kind) {
    static const uint8_t earlier[HD_UUID_BYTES] = {1, 2, 3, 4, 5, 6, 0x70, 8, 0x80};
    make_base(m);
    if (strcmp(kind, "session") != 0 && strcmp(kind, "empty") != 0) {
        add_samples(m);
    }
    if (strcmp(kind, "live") == 0) {
        m->report.kind = HD_REPORT_LIVE;
        m->report.complete = false;
    } else if (strcmp(kind, "brief") == 0) {
        m->report.brief = true;
        memcpy(m->report.repeat_of, earlier, sizeof earlier);
    } else if (strcmp(kind, "session") == 0) {
        make_session(m);
    } else if (strcmp(kind, "nasty") == 0) {
        make_nasty(m);
    } else if (strcmp(kind, "deadlock") == 0) {
        make_deadlock(m);
    } else if (strcmp(kind, "empty") == 0) {
        m->report = (struct hd_report){.started_wall_ns = 1, .cpu_percent = -1};
        hd_uuid_make(m->report.id, 0);
    } else if (strcmp(kind, "full") != 0) {
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    static struct made made;
    struct hd_spool spool = {0};
    if (argc < 3) {
        return 2;
    }
    struct hd_report_scratch *scratch = malloc(hd_report_scratch_bytes());
    if (scratch == NULL) {
        return 1;
    }
    hd_os_clock_init();
    hd_modules_init_live(&modules, open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    hd_tree_pool_init(&pool);
    int result = hd_spool_open(&spool, argv[1]);
    for (int i = 2; i < argc && result == 0; i++) {
        char id[37];
        result = make(&made, argv[i]) ? hd_spool_write(&spool, &made.report, scratch, false) : -EINVAL;
        hd_uuid_text(made.report.id, id);
        printf("%s\n", id);
        hd_tree_free(&made.tree);
    }
    hd_spool_close(&spool);
    free(scratch);
    return result != 0;
}
