/* SPDX-License-Identifier: MIT */
#include "cli/live/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "cause/rows.h"
#include "cause/sentence.h"
#include "cli/base/json_text.h"
#include "cli/base/path.h"
#include "cli/reader/lock_function.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/script_frames.h"
#include "os/syscall_table.h"

static const json_t *thread_of(const json_t *report, int tid) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (json_integer_value(json_object_get(thread, "tid")) == tid) {
            return thread;
        }
    }
    return NULL;
}

static const json_t *frames_of(const json_t *thread) {
    return json_object_get(json_object_get(thread, "stack"), "frames");
}

/* ---- locks ------------------------------------------------------------------------------------ */

static const struct hd_probe *evidence_of(const struct live_threads *t, int tid) {
    for (size_t i = 0; i < t->count; i++) {
        if (hd_thread_id_tid(t->record[i].thread) == tid && t->record[i].error == 0) {
            return &t->wait[i].probe;
        }
    }
    return NULL;
}

/* "8371 "db-writer", which is in compact_log (lock.c:11), in fsync of journal.db". */
static void say_owner(FILE *out, const json_t *report, const struct live_threads *t, int tid) {
    const json_t *owner = thread_of(report, tid);
    const char *name = json_text_or_null(owner, "name");
    fprintf(out, "%d", tid);
    if (name != NULL) {
        fprintf(out, " \"%s\"", name);
    }
    const json_t *frame = report_own_frame_of(report, frames_of(owner));
    const char *function = json_text_or_null(frame, "function"), *file = json_text_or_null(frame, "file");
    if (function != NULL) {
        fprintf(out, ", which is in %s", function);
        if (file != NULL) {
            fprintf(out, " (%s:%d)", file_name(file),
                    (int)json_integer_value(json_object_get(frame, "line")));
        }
    }
    const struct hd_probe *e = evidence_of(t, tid);
    if (function != NULL && e != NULL && e->evidence.name[0] != '\0') {
        fprintf(out, ", in %s of %s", hd_syscall_name(e->syscall_nr), e->evidence.name);
    }
}

/* "waits for a read-write lock held for reading by 2 threads" */
static void say_without_owner(FILE *out, const struct hd_lock_seen *lock, const json_t *frames) {
    const char *name = hd_words_lock_name(lock->kind);
    name = name != NULL ? name : report_lock_function(frames);
    fprintf(out, name != NULL ? "waits for %s" : "waits in futex", name);
    if (lock->readers != 0) {
        fprintf(out, " held for reading by %u thread%s", lock->readers, lock->readers == 1 ? "" : "s");
    }
}

/* Prints what `say` writes, behind its first `skip` bytes. */
static void say_text(FILE *out, const char *skip, const struct hd_probe *e,
                     void (*say)(struct hd_text *t, const struct hd_probe *p)) {
    char text[192];
    struct hd_text t;
    hd_text_init(&t, text, sizeof text);
    say(&t, e);
    fputs(text + strlen(skip), out);
}

static void say_holder(struct hd_text *t, const struct hd_probe *p) {
    hd_sentence_party(t, " held by ", p, HD_PARTY_HOLDER);
}

static void say_lock(FILE *out, const json_t *report, const struct live_threads *t, size_t i) {
    const struct hd_probe *e = &t->wait[i].probe;
    const struct hd_lock_seen *lock = hd_evidence_lock(e);
    if (lock->kind == HD_LOCK_DATABASE) {
        fputs("waits", out);
        say_text(out, "waited", e, hd_sentence_database);
    } else if (lock->address == 0 && lock->kind == HD_LOCK_UNKNOWN) {
        fprintf(out, "waits for a lock of %s", e->evidence.name[0] != '\0' ? e->evidence.name : "a file");
        say_text(out, "", e, say_holder);
    } else if (!hd_thread_id_is_none(lock->joined)) {
        fputs("waits for the end of thread ", out);
        say_owner(out, report, t, hd_thread_id_tid(lock->joined));
    } else if (!hd_thread_id_is_none(lock->owner)) {
        const char *what = lock->gil                     ? "Python's GIL held"
                           : lock->kind == HD_LOCK_MUTEX ? "a mutex held"
                                                         : "a read-write lock held for writing";
        fprintf(out, "waits for %s by thread ", what);
        say_owner(out, report, t, hd_thread_id_tid(lock->owner));
    } else if (lock->gil) {
        fputs("waits for Python's GIL", out);
    } else {
        say_without_owner(out, lock, frames_of(thread_of(report, hd_thread_id_tid(t->record[i].thread))));
    }
}

/* ---- the rest --------------------------------------------------------------------------------- */

static const char *object_word(const struct hd_probe *e) {
    static const char words[][24] = {
        [HD_FD_FILE] = "a file", [HD_FD_INET] = "a socket",    [HD_FD_UNIX] = "a local socket",
        [HD_FD_PIPE] = "a pipe", [HD_FD_TTY] = "the terminal", [HD_FD_OTHER] = "a device"};
    enum hd_fd_kind kind = hd_evidence_fd_kind(e);
    return kind < sizeof words / sizeof words[0] && words[kind][0] != '\0' ? words[kind] : NULL;
}

static void say_child(FILE *out, const struct hd_probe *e, const char *call) {
    char name[64] = "";
    if (e->child.pid > 0) {
        live_process_name(e->child.pid, name, sizeof name);
        fprintf(out, "waits for child %d", e->child.pid);
    } else {
        fputs("waits for a child", out);
    }
    if (name[0] != '\0') {
        fprintf(out, " (%s)", name);
    }
    fprintf(out, " in %s", call);
}

/* Prints, for example, "waits for the FUSE file system slowfs at share". False, and prints nothing: no party
 * with role `role` is known. */
static bool say_party(FILE *out, const char *before, const struct hd_probe *e, enum hd_party_role role) {
    char text[128];
    struct hd_text t;
    hd_text_init(&t, text, sizeof text);
    return hd_sentence_party(&t, before, e, role) && fputs(text, out) >= 0;
}

static void say_wait(FILE *out, const struct hd_probe *e, enum hd_cause_kind kind, const char *call) {
    const char *object = object_word(e);
    if (kind == HD_CAUSE_CHILD) {
        say_child(out, e, call);
    } else if (kind == HD_CAUSE_OUTPUT) {
        fputs("waits", out);
        say_text(out, "waited", e, hd_sentence_output);
    } else if (kind == HD_CAUSE_GC) {
        fputs("waits for V8's garbage collector", out);
    } else if (kind == HD_CAUSE_PAGE_FAULT) {
        fputs("waits for memory to come from disk", out);
    } else if (kind == HD_CAUSE_DISK) {
        if (!say_party(out, "waits for the ", e, HD_PARTY_MOUNT)) {
            fputs("waits for the disk", out);
        }
        fprintf(out, ": %s", call);
        fprintf(out, e->evidence.name[0] != '\0' ? " of %s" : "", e->evidence.name);
    } else if (kind == HD_CAUSE_SLEEP) {
        bool signal = hd_syscall_wait(e->syscall_nr) == HD_WAIT_SIGNAL;
        fprintf(out, signal ? "waits for a signal in %s" : "sleeps in %s", call);
    } else if (e->peer.request != NULL) {
        char text[192];
        struct hd_text t;
        hd_text_init(&t, text, sizeof text);
        hd_sentence_reply(&t, "waits", e);
        fputs(text, out);
    } else if (say_party(out, "waits for the display server ", e, HD_PARTY_SERVER)) {
        fprintf(out, " in %s", call);
    } else if (e->peer.name[0] != '\0' || e->evidence.name[0] != '\0') {
        fprintf(out, "waits for %s in %s", e->peer.name[0] != '\0' ? e->peer.name : e->evidence.name, call);
    } else if (object != NULL) {
        fprintf(out, "waits for %s in %s", object, call);
    } else {
        fprintf(out, "waits in %s", call);
    }
}

/* "waits at exit for child 71 (python3) in wait4". Takes the text. */
static char *at_exit(char *text) {
    char *more = NULL;
    if (strncmp(text, "waits for ", strlen("waits for ")) != 0 ||
        asprintf(&more, "waits at exit%s", text + strlen("waits")) < 0) {
        return text;
    }
    free(text);
    return more;
}

static char *detail_of(const json_t *report, const struct live_threads *t, size_t i,
                       enum hd_cause_kind kind) {
    const struct hd_probe *e = &t->wait[i].probe;
    char number[32], *text = NULL;
    size_t bytes;
    const char *call = e->syscall_nr != HD_SYSCALL_NONE ? hd_syscall_name(e->syscall_nr) : "a page fault";
    if (call == NULL) {
        snprintf(number, sizeof number, "system call %d", e->syscall_nr);
        call = number;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    if (kind == HD_CAUSE_LOCK || kind == HD_CAUSE_GIL) {
        say_lock(out, report, t, i);
    } else {
        say_wait(out, e, kind, call);
    }
    fclose(out);
    const json_t *thread = thread_of(report, hd_thread_id_tid(t->record[i].thread));
    return text != NULL && script_frames_at_exit(frames_of(thread)) ? at_exit(text) : text;
}

static void set_text(json_t *object, const char *name, const char *value) {
    if (value[0] != '\0') {
        json_object_set_new(object, name, json_string(value)); /* NULL, and not set, where it is no UTF-8 */
    }
}

static void set_number(json_t *object, const char *name, int value) {
    if (value != 0) {
        json_object_set_new(object, name, json_integer(value));
    }
}

static void set_party(json_t *cause, const struct hd_party_seen *p) {
    if (p->role != HD_PARTY_NONE) {
        json_t *party = json_object();
        json_object_set_new(party, "role", json_string(hd_words_party(p->role)));
        set_text(party, "name", p->name);
        set_number(party, "pid", p->pid);
        json_object_set_new(cause, "party", party);
    }
}

json_t *wait_cause(const json_t *report, const struct live_threads *t, size_t i) {
    const struct hd_thread_record *r = &t->record[i];
    const struct hd_probe *e = &t->wait[i].probe;
    if (r->error != 0 || (r->state != HD_RUN_BLOCKED && r->state != HD_RUN_UNINTERRUPTIBLE)) {
        return NULL;
    }
    enum hd_cause_kind kind = hd_cause_of_block(e);
    char *detail = detail_of(report, t, i, kind), address[32] = "";
    json_t *cause = json_object();
    json_object_set_new(cause, "kind", json_string(hd_words_cause(kind)));
    if (detail != NULL) {
        set_text(cause, "detail", detail);
    }
    free(detail);
    set_text(cause, "path", e->evidence.name);
    set_text(cause, "peer", e->peer.name);
    set_party(cause, &e->party);
    set_number(cause, "child_pid", kind == HD_CAUSE_CHILD ? e->child.pid : 0);
    set_number(cause, "lock_owner_tid", hd_thread_id_tid(hd_evidence_lock(e)->owner));
    const struct hd_lock_seen *lock = hd_evidence_lock(e);
    if (kind == HD_CAUSE_LOCK && hd_words_lock(lock->kind) != NULL) {
        set_text(cause, "lock_kind", hd_words_lock(lock->kind));
    }
    if (lock->address != 0) {
        snprintf(address, sizeof address, "0x%lx", (unsigned long)lock->address);
        set_text(cause, "lock_address", address);
    }
    return cause;
}

/* ---- rings ------------------------------------------------------------------------------------ */

static int32_t owner_of(const struct live_threads *t, int32_t tid) {
    for (size_t i = 0; i < t->count; i++) {
        if (hd_thread_id_tid(t->record[i].thread) == tid) {
            return t->record[i].error == 0 ? hd_thread_id_tid(hd_evidence_lock(&t->wait[i].probe)->owner) : 0;
        }
    }
    return 0;
}

/* The deadlock ring that starts and ends at `tid`. NULL: no ring, or `tid` is not its lowest thread id, at
 * which the ring is reported. */
static json_t *ring_at(const struct live_threads *t, int32_t tid) {
    json_t *ring = json_array();
    int32_t at = tid;
    for (size_t steps = 0; steps <= t->count; steps++) {
        json_array_append_new(ring, json_integer(at));
        at = owner_of(t, at);
        if (at == tid) {
            return ring;
        }
        if (at < tid) { /* no ring, or reported at that thread */
            break;
        }
    }
    json_decref(ring);
    return NULL;
}

json_t *wait_rings(const struct live_threads *t) {
    json_t *rings = json_array();
    for (size_t i = 0; i < t->count; i++) {
        json_t *ring = owner_of(t, hd_thread_id_tid(t->record[i].thread)) != 0
                           ? ring_at(t, hd_thread_id_tid(t->record[i].thread))
                           : NULL;
        if (ring != NULL) {
            json_array_append_new(rings, ring);
        }
    }
    return rings;
}
