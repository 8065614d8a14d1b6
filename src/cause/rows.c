/* SPDX-License-Identifier: MIT */
#include "cause/rows.h"

#include "cause/sentence.h"
#include "os/syscall_table.h"

/* A sample of a blocked thread, with values that several rows of the table of causes read. */
struct blocked {
    const struct hd_probe *probe;
    enum hd_wait wait; /* the class of object that the thread's system call waits for */
    enum hd_fd_kind fd;
    bool uninterruptible;
    bool reply; /* the thread waits for the reply of another process */
};

/* The data of one sentence for the user. */
struct said {
    const struct hd_cause_sums *sums;
    enum hd_cause_kind kind;
    bool ran;     /* true: the sentence is about code on a CPU; false: about blocked calls */
    bool several; /* true: the cause's time includes blocked calls other than the one in `best` */
    const struct hd_cause_best *best;
    const struct hd_probe *probe; /* a sample of the blocked call that the sentence names */
};

static bool never(const struct blocked *b) {
    (void)b;
    return false;
}

static bool no_code(const struct hd_probe *p) {
    (void)p;
    return false;
}

/* Writes, for example, "waited for the disk in several calls, longest fsync of a.db". Says "one" instead of
 * "longest" if the call in the sentence had less than half of the cause's time. Writes nothing and returns
 * false if only one call is known, or none. */
static bool say_several(struct hd_text *t, const struct said *c, const char *waited, const char *with) {
    if (!c->several || c->probe->syscall_nr == HD_SYSCALL_NONE) {
        return false;
    }
    hd_text_str(t, waited);
    hd_text_str(t, " in several calls");
    hd_text_str(t, c->best->since_ns >= c->sums->ns[c->kind] / 2 ? ", longest" : ", one");
    hd_sentence_call(t, " ", c->probe);
    hd_sentence_object(t, with, c->probe);
    return true;
}

/* ---- cpu, starved ------------------------------------------------------------------------------- */

static void say_percent(struct hd_text *t, const struct said *c, const char *before,
                        enum hd_cause_kind kind) {
    hd_text_str(t, before);
    hd_sentence_percent(t, c->sums, c->sums->ns[kind]);
    hd_text_str(t, "%");
}

/* Appends the collector's share of the time on a CPU, such as ", of it 48% collecting garbage". */
static void say_collected(struct hd_text *t, const struct hd_cause_sums *s) {
    uint64_t cpu_ns = s->ns[HD_CAUSE_CPU], ns = hd_cause_ran_ns(s, HD_CAUSE_GC);
    if (hd_sentence_is_part(s, ns)) {
        hd_text_str(t, ", of it ");
        hd_text_u64(t, (ns * 100 + cpu_ns / 2) / cpu_ns);
        hd_text_str(t, "% collecting garbage");
    }
}

static void say_cpu(struct hd_text *t, const struct said *c) {
    say_percent(t, c, "ran on a CPU for ", HD_CAUSE_CPU);
    hd_text_str(t, " of the time");
    say_collected(t, c->sums);
}

static void say_starved(struct hd_text *t, const struct said *c) {
    const struct hd_cause_sums *s = c->sums;
    bool quota = s->throttled_ns > s->ns[HD_CAUSE_STARVED] / 2;
    say_percent(t, c, "no CPU was free for ", HD_CAUSE_STARVED);
    hd_text_str(t, quota ? " of the time (CPU quota)" : " of the time (load or quota)");
    if (hd_sentence_is_part(s, s->ns[HD_CAUSE_CPU])) {
        say_percent(t, c, "; ran on a CPU for ", HD_CAUSE_CPU);
        say_collected(t, s);
    }
}

/* ---- lock, gil ---------------------------------------------------------------------------------- */

static bool waits_for_lock(const struct blocked *b) {
    bool database = hd_evidence_lock(b->probe)->kind == HD_LOCK_DATABASE; /* SQLite sleeps between tries */
    return (b->wait == HD_WAIT_LOCK || database) && !b->reply;
}

static bool waits_for_gil(const struct blocked *b) {
    return waits_for_lock(b) && hd_evidence_lock(b->probe)->gil;
}

static void say_lock(struct hd_text *t, const struct said *c) {
    hd_sentence_lock(t, c->sums, c->best, c->several);
}

/* ---- gc ----------------------------------------------------------------------------------------- */

/* V8's collector takes locks to wait for its helper threads. In Python's collector, only a finalizer of the
 * program takes a lock. So the time for which that collector waits for a lock counts as HD_CAUSE_LOCK. */
static bool waits_for_collector(const struct blocked *b) {
    return waits_for_lock(b) && b->probe->collector == HD_COLLECTOR_V8;
}

static bool runs_collector(const struct hd_probe *p) {
    return p->collector != HD_COLLECTOR_NONE;
}

static void say_collector(struct hd_text *t, const struct said *c) {
    bool v8 = c->sums->collector == HD_COLLECTOR_V8;
    hd_text_str(t, v8 ? "ran V8's garbage collector" : "ran Python's garbage collector");
}

/* ---- page-fault --------------------------------------------------------------------------------- */

static bool is_stream(enum hd_fd_kind fd) {
    return fd == HD_FD_INET || fd == HD_FD_UNIX || fd == HD_FD_PIPE;
}

/* True: the thread waits for its own memory, to copy bytes from or to a socket or pipe. The memory is in
 * swap, or in a mapped file that is not read yet. The caller must have checked that no signal can wake the
 * thread. A thread that a signal can wake may wait for the other end of the socket or pipe instead. */
static bool waits_for_copied_memory(const struct blocked *b) {
    return (b->wait == HD_WAIT_DESCRIPTOR || b->wait == HD_WAIT_SOCKET) && is_stream(b->fd) &&
           hd_syscall_copies(b->probe->syscall_nr);
}

static bool waits_for_page(const struct blocked *b) {
    bool map = b->wait == HD_WAIT_MEMORY && !b->probe->child.vforked;
    return b->uninterruptible &&
           (b->probe->syscall_nr == HD_SYSCALL_NONE || map || waits_for_copied_memory(b));
}

static void say_page(struct hd_text *t, const struct said *c) {
    if (hd_syscall_wait(c->probe->syscall_nr) == HD_WAIT_MEMORY) {
        hd_text_str(t, "waited for its memory map");
        hd_sentence_call(t, " in ", c->probe);
    } else {
        hd_text_str(t, "waited for memory to come from disk");
    }
}

/* ---- disk --------------------------------------------------------------------------------------- */

/* No signal wakes a thread that waits for a disk, but a signal may wake one that waits for a file's server
 * (FUSE). Both count as threads that wait for a disk. If a signal can end the open of a named pipe or a
 * device, the thread waits for another process, and not for a disk. */
static bool waits_for_disk(const struct blocked *b) {
    switch (b->wait) {
    case HD_WAIT_FILE:
        return b->uninterruptible || (b->fd != HD_FD_PIPE && b->fd != HD_FD_TTY && b->fd != HD_FD_OTHER);
    case HD_WAIT_DESCRIPTOR:
        return b->fd == HD_FD_FILE || (b->uninterruptible && !is_stream(b->fd));
    case HD_WAIT_OTHER:
        return b->uninterruptible;
    default:
        return false;
    }
}

/* Writes, for example, "waited for the disk: fsync of session.log", or "waited for the NFS server
 * files.example:/export: fsync of session.log". */
static void say_disk(struct hd_text *t, const struct said *c) {
    char waited[96];
    struct hd_text w;
    bool party = !c->several || !c->best->several_parties;
    hd_text_init(&w, waited, sizeof waited);
    if (!party || !hd_sentence_party(&w, "waited for the ", c->probe, HD_PARTY_MOUNT)) {
        hd_text_str(&w, "waited for the disk");
    }
    if (say_several(t, c, waited, " of ")) {
        if (!party) {
            hd_sentence_party(t, " on the ", c->probe, HD_PARTY_MOUNT);
        }
        return;
    }
    hd_text_str(t, waited);
    hd_sentence_call(t, ": ", c->probe);
    hd_sentence_object(t, " of ", c->probe);
}

/* ---- network, ui -------------------------------------------------------------------------------- */

static bool waits_for_display(const struct blocked *b) {
    return b->probe->peer.display && (b->reply || b->fd == HD_FD_UNIX);
}

static bool runs_toolkit(const struct hd_probe *p) {
    return p->evidence.kind == HD_EVIDENCE_TOOLKIT;
}

/* A local socket counts as network too, because a local service answers over it as a remote service does. */
static bool waits_for_network(const struct blocked *b) {
    return b->reply || b->wait == HD_WAIT_SOCKET || b->fd == HD_FD_INET || b->fd == HD_FD_UNIX;
}

static void say_network_or(struct hd_text *t, const struct said *c, const char *several, const char *with) {
    if (hd_evidence_awaits_reply(c->probe)) {
        hd_sentence_reply(t, "waited", c->probe);
    } else if (!say_several(t, c, several, with)) {
        hd_sentence_peer(t, c->probe);
    }
}

static void say_network(struct hd_text *t, const struct said *c) {
    say_network_or(t, c, "waited for the network", " with ");
}

/* Writes, for example, "ran a toolkit's code in libpango-1.0". */
static void say_ui(struct hd_text *t, const struct said *c) {
    const struct hd_evidence *ran = &c->sums->best[HD_CAUSE_CPU].probe.evidence;
    if (!c->ran) {
        say_network_or(t, c, "waited", " of ");
        return;
    }
    hd_text_str(t, "ran a toolkit's code");
    if (ran->kind == HD_EVIDENCE_TOOLKIT && ran->name[0] != '\0') {
        hd_text_str(t, " in ");
        hd_sentence_field(t, ran->name, sizeof ran->name);
    }
}

/* ---- output ------------------------------------------------------------------------------------- */

static bool waits_for_reader(const struct blocked *b) {
    return b->probe->party.role == HD_PARTY_READER;
}

/* Writes, for example, "waited for less (4711), which does not read a pipe, in write". */
static void say_output(struct hd_text *t, const struct said *c) {
    hd_sentence_output(t, c->probe);
}

/* ---- child -------------------------------------------------------------------------------------- */

/* A local socket counts as a connection to a child if the socket's other end has no name, because a
 * service's end has a name. */
static bool waits_for_child(const struct blocked *b) {
    const struct hd_child_seen *child = &b->probe->child;
    if (waits_for_reader(b) && b->probe->party.pid != 0 && b->probe->party.pid != child->pid) {
        return false; /* another process has the other end */
    }
    bool named = b->probe->peer.name[0] != '\0';
    bool socket_of_child = b->fd == HD_FD_UNIX && !named;
    switch (b->wait) {
    case HD_WAIT_CHILD:
        return true;
    case HD_WAIT_SIGNAL: /* if a child is alive, the signal is assumed to be SIGCHLD */
        return child->alive;
    case HD_WAIT_MEMORY:
        return child->vforked;
    case HD_WAIT_SOCKET:
        return child->alive && socket_of_child;
    case HD_WAIT_FILE:
    case HD_WAIT_DESCRIPTOR:
        return child->alive && (socket_of_child || b->fd == HD_FD_PIPE);
    case HD_WAIT_ANY:
        return !b->reply && b->probe->evidence.kind == HD_EVIDENCE_DESCRIPTOR &&
               (b->fd == HD_FD_PROCESS ||
                (child->alive && b->fd != HD_FD_INET && (b->fd != HD_FD_UNIX || socket_of_child)));
    default:
        return false;
    }
}

/* Writes, for example, "waited for child 8510 (sleep) in wait4". */
static void say_child(struct hd_text *t, const struct said *c) {
    const struct hd_child_seen *child = &c->probe->child;
    hd_text_str(t, "waited for ");
    if (child->pid <= 0) {
        hd_text_str(t, "a child process");
    } else {
        hd_text_str(t, c->best->several ? "several children, longest for " : "child ");
        hd_text_i64(t, child->pid);
        if (child->name[0] != '\0') {
            hd_text_str(t, " (");
            hd_sentence_field(t, child->name, sizeof child->name);
            hd_text_str(t, ")");
        }
    }
    bool reads =
        c->probe->party.role == HD_PARTY_READER && c->probe->party.pid == child->pid && child->pid > 0;
    hd_text_str(t, reads ? ", which does not read," : "");
    hd_sentence_call(t, " in ", c->probe);
}

/* ---- sleep, unknown ----------------------------------------------------------------------------- */

/* A call of poll or select without descriptors counts as sleep, because some programs use it to sleep. */
static bool waits_for_time(const struct blocked *b) {
    bool no_descriptor = b->wait == HD_WAIT_ANY && b->probe->evidence.kind != HD_EVIDENCE_DESCRIPTOR;
    return b->wait == HD_WAIT_TIME || b->wait == HD_WAIT_SIGNAL || no_descriptor;
}

static void say_call(struct hd_text *t, const struct said *c, const char *verb) {
    const struct hd_probe *p = c->probe;
    if (!say_several(t, c, verb, " of ")) {
        hd_text_str(t, verb);
        hd_text_str(t, p->syscall_nr == HD_SYSCALL_NONE ? ", no sample shows for what" : "");
        hd_sentence_call(t, " in ", p);
        hd_sentence_object(t, p->evidence.name[0] != '\0' ? " of " : " on ", p);
    }
}

static void say_sleep(struct hd_text *t, const struct said *c) {
    say_call(t, c, "slept");
}

static void say_unknown(struct hd_text *t, const struct said *c) {
    say_call(t, c, "waited");
}

/* ---- the rows ----------------------------------------------------------------------------------- */

/* The rows of the table of causes. The columns are: the cause (HD_CAUSE_...), two functions that check
 * whether a blocked or a running thread fits, and the function that writes the sentence. The time of a
 * blocked sample goes to the first row that fits. The time of a running sample goes to HD_CAUSE_CPU, and is
 * also added to `ran_ns` of each row that fits the running code. ROWS is a macro, because each function
 * pointer in an array would cost the watched process a relocation. */
/* clang-format off */
#define ROWS(ROW) \
    ROW(CPU,        never,                 no_code,               say_cpu) \
    ROW(STARVED,    never,                 no_code,               say_starved) \
    ROW(GIL,        waits_for_gil,         no_code,               say_lock) \
    ROW(GC,         waits_for_collector,   runs_collector,        say_collector) \
    ROW(LOCK,       waits_for_lock,        no_code,               say_lock) \
    ROW(PAGE_FAULT, waits_for_page,        no_code,               say_page) \
    ROW(DISK,       waits_for_disk,        no_code,               say_disk) \
    ROW(UI,         waits_for_display,     runs_toolkit,          say_ui) \
    ROW(CHILD,      waits_for_child,       no_code,               say_child) \
    ROW(OUTPUT,     waits_for_reader,      no_code,               say_output) \
    ROW(NETWORK,    waits_for_network,     no_code,               say_network) \
    ROW(SLEEP,      waits_for_time,        no_code,               say_sleep) \
    ROW(UNKNOWN,    never,                 no_code,               say_unknown)
/* clang-format on */

enum hd_cause_kind hd_cause_of_block(const struct hd_probe *p) {
    const struct blocked b = {.probe = p,
                              .wait = hd_syscall_wait(p->syscall_nr),
                              .fd = hd_evidence_fd_kind(p),
                              .uninterruptible = p->state == HD_RUN_UNINTERRUPTIBLE,
                              .reply = hd_evidence_awaits_reply(p)};
#define FITS(kind, waits, runs, say) \
    if (waits(&b)) {                 \
        return HD_CAUSE_##kind;      \
    }
    ROWS(FITS)
    return HD_CAUSE_UNKNOWN;
}

void hd_cause_add_code(const struct hd_probe *p, uint64_t ns, uint64_t ran_ns[HD_CAUSE_KINDS]) {
#define RUNS(kind, waits, runs, say) ran_ns[HD_CAUSE_##kind] += runs(p) ? ns : 0;
    ROWS(RUNS)
}

/* ---- sentences ---------------------------------------------------------------------------------- */

static uint64_t time_of(const struct said *c) {
    return c->kind == HD_CAUSE_GC ? hd_cause_collected_ns(c->sums)
           : c->ran               ? hd_cause_ran_ns(c->sums, c->kind)
                                  : c->sums->ns[c->kind];
}

void hd_cause_say(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind, bool ran) {
    const struct hd_cause_best *best = &s->best[kind];
    const struct said c = {.sums = s,
                           .kind = kind,
                           .ran = ran,
                           .several = best->lead_ns < s->ns[kind] - s->ns[kind] / 64,
                           .best = best,
                           .probe = &best->probe};
    switch (kind) {
#define SAY(of, waits, runs, say) \
    case HD_CAUSE_##of:           \
        say(t, &c);               \
        break;
        ROWS(SAY)
    case HD_CAUSE_KINDS:
        return;
    }
    if (kind != HD_CAUSE_CPU && kind != HD_CAUSE_STARVED) {
        hd_sentence_share(t, s, time_of(&c));
    }
    hd_sentence_parts(t, s, kind);
}
