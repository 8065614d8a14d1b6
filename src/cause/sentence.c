/* SPDX-License-Identifier: MIT
 *
 * Worker: may run while a hang lasts; no allocation.
 */
#include "cause/sentence.h"

#include "os/syscall_table.h"

#include <string.h>

#define PERCENT_OF_ALL 95 /* a larger part is as good as all of the time */

static const char *descriptor_name(uint8_t kind) {
    static const char text[][24] = {
        [HD_FD_FILE] = "a file",         [HD_FD_INET] = "a network socket",
        [HD_FD_UNIX] = "a local socket", [HD_FD_PIPE] = "a pipe",
        [HD_FD_EPOLL] = "an epoll set",  [HD_FD_EVENT] = "an event descriptor",
        [HD_FD_TTY] = "the terminal",    [HD_FD_OTHER] = "a descriptor",
    };
    return kind != HD_FD_NONE && kind < sizeof text / sizeof text[0] ? text[kind] : NULL;
}

static void add_field(struct hd_text *t, const char *field, size_t size) {
    hd_text_mem(t, field, strnlen(field, size));
}

static void add_peer(struct hd_text *t, const struct hd_probe *e) {
    add_field(t, e->peer.name, sizeof e->peer.name);
}

/* Nothing where the thread was in no call. */
static void say_call(struct hd_text *t, const char *before, const struct hd_probe *e) {
    const char *call = e->syscall_nr == HD_SYSCALL_NONE ? NULL : hd_syscall_name(e->syscall_nr);
    if (e->syscall_nr == HD_SYSCALL_NONE) {
        return;
    }
    hd_text_str(t, before);
    if (call != NULL) {
        hd_text_str(t, call);
    } else {
        hd_text_str(t, "system call ");
        hd_text_i64(t, e->syscall_nr);
    }
}

/* What the call is about: a file, a peer, or a kind of descriptor. */
static void say_object(struct hd_text *t, const char *before, const struct hd_probe *e) {
    const char *kind = descriptor_name((uint8_t)hd_evidence_fd_kind(e));
    if (e->evidence.name[0] == 0 && e->peer.name[0] == 0 && kind == NULL) {
        return;
    }
    hd_text_str(t, before);
    if (e->evidence.name[0] != 0) {
        add_field(t, e->evidence.name, sizeof e->evidence.name);
    } else if (e->peer.name[0] != 0) {
        add_peer(t, e);
    } else {
        hd_text_str(t, kind);
    }
}

static bool is_read_write(const struct hd_lock_seen *lock) {
    return lock->kind == HD_LOCK_READ || lock->kind == HD_LOCK_WRITE;
}

/* "waited for a semaphore", "waited for a read-write lock held for reading by 3 threads". Other threads only
 * signal a condition: nothing is said of an owner where there cannot be one. */
static void say_without_owner(struct hd_text *t, const struct hd_lock_seen *lock) {
    const char *name = hd_words_lock_name(lock->kind);
    if (name == NULL) {
        hd_text_str(t, "waited for a condition or lock, owner unknown");
        return;
    }
    hd_text_str(t, "waited for ");
    hd_text_str(t, name);
    if (lock->readers != 0) {
        hd_text_str(t, " held for reading by ");
        hd_text_u64(t, lock->readers);
        hd_text_str(t, lock->readers == 1 ? " thread" : " threads");
    } else if (lock->ownable) {
        hd_text_str(t, ", owner unknown");
    }
}

/* " (db-writer), which was in fsync of journal.db" */
static void say_owner(struct hd_text *t, const struct hd_cause_sums *s) {
    if (s->owner.name[0] != 0) {
        hd_text_str(t, " (");
        add_field(t, s->owner.name, sizeof s->owner.name);
        hd_text_str(t, ")");
    }
    if (s->owner.syscall_nr != HD_SYSCALL_NONE && hd_syscall_name(s->owner.syscall_nr) != NULL) {
        hd_text_str(t, ", which was in ");
        hd_text_str(t, hd_syscall_name(s->owner.syscall_nr));
        hd_text_str(t, s->owner.path != NULL ? " of " : "");
        hd_text_str(t, s->owner.path != NULL ? s->owner.path : "");
    }
}

static void say_lock(struct hd_text *t, const struct hd_cause_sums *s, const struct hd_cause_best *best,
                     bool several) {
    const struct hd_probe *e = &best->probe;
    const struct hd_lock_seen *lock = hd_evidence_lock(e);
    if (lock->address == 0) {
        hd_text_str(t, "waited for a file lock");
        say_call(t, " in ", e);
        say_object(t, " on ", e);
    } else if (lock->joined_tid != 0) {
        hd_text_str(t, several ? "waited for several threads to end, one thread " : "waited for thread ");
        hd_text_i64(t, lock->joined_tid);
        hd_text_str(t, several ? "" : " to end");
    } else if (lock->gil && lock->owner_tid == 0) {
        hd_text_str(t, "waited for Python's GIL");
    } else if (lock->owner_tid == 0) {
        say_without_owner(t, lock);
    } else {
        hd_text_str(t, lock->gil             ? "waited for Python's GIL held by "
                       : is_read_write(lock) ? "waited for a read-write lock held for writing by "
                                             : "waited for a mutex held by ");
        hd_text_str(t, best->several ? "several threads, longest by thread " : "thread ");
        hd_text_i64(t, lock->owner_tid);
        if (lock->owner_tid == s->owner.tid) {
            say_owner(t, s);
        }
    }
}

/* "waited for child 8510 (sleep) in wait4" */
static void say_child(struct hd_text *t, const struct hd_cause_sums *s, const struct hd_probe *e) {
    hd_text_str(t, "waited for ");
    if (e->child.pid <= 0) {
        hd_text_str(t, "a child process");
    } else {
        hd_text_str(t, s->best[HD_CAUSE_CHILD].several ? "several children, longest for " : "child ");
        hd_text_i64(t, e->child.pid);
        if (e->child.name[0] != 0) {
            hd_text_str(t, " (");
            add_field(t, e->child.name, sizeof e->child.name);
            hd_text_str(t, ")");
        }
    }
    say_call(t, " in ", e);
}

static void say_reply(struct hd_text *t, const struct hd_probe *e) {
    hd_text_str(t, "waited for ");
    hd_text_str(t, e->peer.awaited);
    hd_text_str(t, " in ");
    hd_text_str(t, e->peer.request);
    if (e->peer.name[0] != 0) {
        hd_text_str(t, ", through ");
        add_peer(t, e);
    }
}

/* "waited for the network: 10.0.0.5:5432 in poll"; a local service has a name and is in no network. */
static void say_network(struct hd_text *t, const struct hd_probe *e) {
    if (hd_evidence_fd_kind(e) == HD_FD_UNIX && e->peer.name[0] != 0) {
        hd_text_str(t, e->peer.display ? "waited for the display server " : "waited for the service ");
        add_peer(t, e);
        say_call(t, " in ", e);
        return;
    }
    hd_text_str(t, "waited for the network");
    if (e->peer.name[0] != 0 || e->evidence.name[0] != 0) {
        say_object(t, ": ", e);
        say_call(t, " in ", e);
    } else {
        say_call(t, ": ", e);
        say_object(t, " on ", e);
    }
}

/* "waited for the disk: fsync of session.log" */
static void say_disk(struct hd_text *t, const struct hd_probe *e) {
    hd_text_str(t, "waited for the disk");
    say_call(t, ": ", e);
    say_object(t, " of ", e);
}

static void say_page(struct hd_text *t, const struct hd_probe *e) {
    if (hd_syscall_wait(e->syscall_nr) == HD_WAIT_MEMORY) {
        hd_text_str(t, "waited for its memory map");
        say_call(t, " in ", e);
    } else {
        hd_text_str(t, "waited for memory to come from disk");
    }
}

static void say_other(struct hd_text *t, const char *verb, const struct hd_probe *e) {
    hd_text_str(t, verb);
    if (e->syscall_nr == HD_SYSCALL_NONE) {
        hd_text_str(t, ", no sample shows for what");
    }
    say_call(t, " in ", e);
    say_object(t, e->evidence.name[0] != 0 ? " of " : " on ", e);
}

/* The call that had half of the time, or one of several. */
static void say_several(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    const struct hd_probe *e = &s->best[kind].probe;
    bool half = s->best[kind].run_ns >= s->ns[kind] / 2;
    hd_text_str(t, kind == HD_CAUSE_DISK      ? "waited for the disk in several calls"
                   : kind == HD_CAUSE_NETWORK ? "waited for the network in several calls"
                   : kind == HD_CAUSE_SLEEP   ? "slept in several calls"
                                              : "waited in several calls");
    hd_text_str(t, half ? ", longest" : ", one");
    say_call(t, " ", e);
    say_object(t, kind == HD_CAUSE_NETWORK ? " with " : " of ", e);
}

static void say_wait(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind,
                     bool several) {
    const struct hd_probe *e = &s->best[kind].probe;
    if ((kind == HD_CAUSE_NETWORK || kind == HD_CAUSE_UI) && hd_cause_waits_for_reply(e)) {
        say_reply(t, e);
    } else if (several && e->syscall_nr != HD_SYSCALL_NONE) {
        say_several(t, s, kind);
    } else if (kind == HD_CAUSE_NETWORK || kind == HD_CAUSE_UI) {
        say_network(t, e);
    } else if (kind == HD_CAUSE_DISK) {
        say_disk(t, e);
    } else {
        say_other(t, kind == HD_CAUSE_SLEEP ? "slept" : "waited", e);
    }
}

static uint64_t percent_of(uint64_t ns, const struct hd_cause_sums *s) {
    ns = ns < s->total_ns ? ns : s->total_ns;
    return s->total_ns != 0 ? (ns * 100 + s->total_ns / 2) / s->total_ns : 100;
}

/* " (75% of the time)" */
static void say_share(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind,
                      uint64_t ns) {
    uint64_t percent = percent_of(ns, s);
    if (kind == HD_CAUSE_CPU || kind == HD_CAUSE_STARVED) {
        hd_text_str(t, " for ");
        hd_text_u64(t, percent);
        hd_text_str(t, kind == HD_CAUSE_CPU       ? "% of the time"
                       : s->throttled_ns > ns / 2 ? "% of the time (CPU quota)"
                                                  : "% of the time (load or quota)");
    } else if (percent < PERCENT_OF_ALL) {
        hd_text_str(t, " (");
        hd_text_u64(t, percent);
        hd_text_str(t, "% of the time)");
    }
}

void hd_cause_say(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    if (kind >= HD_CAUSE_KINDS) {
        hd_text_str(t, "no sample shows why");
        return;
    }
    const struct hd_probe *e = &s->best[kind].probe;
    bool several = s->best[kind].ns < s->ns[kind] - s->ns[kind] / 64; /* other waits took some of the time */
    switch (kind) {
    case HD_CAUSE_CPU:
        hd_text_str(t, "ran on a CPU");
        break;
    case HD_CAUSE_STARVED:
        hd_text_str(t, "no CPU was free");
        break;
    case HD_CAUSE_GC:
        hd_text_str(t, s->collector == HD_COLLECTOR_V8 ? "ran V8's garbage collector"
                                                       : "ran Python's garbage collector");
        break;
    case HD_CAUSE_GIL:
    case HD_CAUSE_LOCK:
        say_lock(t, s, &s->best[kind], several);
        break;
    case HD_CAUSE_CHILD:
        say_child(t, s, e);
        break;
    case HD_CAUSE_PAGE_FAULT:
        say_page(t, e);
        break;
    case HD_CAUSE_NETWORK:
    case HD_CAUSE_SLEEP:
    case HD_CAUSE_DISK:
    case HD_CAUSE_UI:
    case HD_CAUSE_UNKNOWN:
    case HD_CAUSE_KINDS:
        say_wait(t, s, kind, several);
        break;
    }
    say_share(t, s, kind, kind == HD_CAUSE_GC ? hd_cause_collected_ns(s) : s->ns[kind]);
    if (kind == HD_CAUSE_STARVED && s->ns[HD_CAUSE_CPU] >= s->total_ns / 10) { /* the program's own part */
        hd_text_str(t, "; ran on a CPU for ");
        hd_text_u64(t, percent_of(s->ns[HD_CAUSE_CPU], s));
        hd_text_str(t, "%");
    }
}

void hd_cause_say_drawing(struct hd_text *t, const struct hd_cause_sums *s) {
    const struct hd_probe *e = &s->best[HD_CAUSE_CPU].probe;
    hd_text_str(t, "ran a toolkit's code");
    if (e->evidence.kind == HD_EVIDENCE_TOOLKIT && e->evidence.name[0] != 0) {
        hd_text_str(t, " in ");
        add_field(t, e->evidence.name, sizeof e->evidence.name);
    }
    say_share(t, s, HD_CAUSE_UI, hd_cause_drawn_ns(s));
}
