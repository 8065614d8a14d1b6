/* SPDX-License-Identifier: MIT */
#include "cause/linux/database.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/text.h"
#include "cause/linux/file_lock.h"
#include "cause/linux/holder.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_walk.h"
#include "os/os.h"

#define INNERMOST 12 /* the number of innermost frames that are searched for a library of SQLite */
#define FILES_CPU_NS_MAX (20 * HD_NS_PER_MS)
#define FILES_MAX 16 /* the number of files with SQLite's locks that are considered */

/* ---- the sleep ---------------------------------------------------------------------------------- */

/* sqliteDefaultBusyCallback's table of times; an older build without usleep sleeps for whole seconds. */
bool hd_database_is_delay(uint64_t ns) {
    static const uint8_t delays[] = {1, 2, 5, 10, 15, 20, 25, 50, 100};
    bool found = ns == HD_NS_PER_S;
    for (unsigned i = 0; i < sizeof delays; i++) {
        found |= ns == delays[i] * HD_NS_PER_MS;
    }
    return found;
}

static bool sleeps_as_sqlite(const struct hd_probe_context *ctx, const struct hd_capture *c) {
    struct timespec t;
    uint64_t at = c->syscall_args[c->syscall_nr == SYS_clock_nanosleep ? 2 : 0];
    return (c->syscall_nr == SYS_nanosleep || c->syscall_nr == SYS_clock_nanosleep) &&
           hd_os.pread(ctx->mem_fd, &t, sizeof t, at) == (long)sizeof t &&
           hd_database_is_delay((uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec);
}

static bool contains(const char *text, const char *part) {
    for (; *text != '\0' && !hd_proc_starts_with(text, part); text++) {
    }
    return *text != '\0';
}

/* Libraries of SQLite have its name: libsqlite3.so.0, better_sqlite3.node, libsqlcipher.so.0. */
static bool is_in_library(struct hd_modules *m, const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count && i < INNERMOST && frames[i].script == 0; i++) {
        char name[64];
        int module = hd_modules_at(m, hd_frame_lookup_pc(&frames[i]));
        hd_text_base_name(name, sizeof name, module >= 0 ? hd_module_path(m, (uint32_t)module) : "");
        if (contains(name, "sqlite") || contains(name, "sqlcipher")) {
            return true;
        }
    }
    return false;
}

/* ---- the locks ---------------------------------------------------------------------------------- */

/* A file with a lock that makes SQLite wait. */
struct file {
    uint64_t inode;
    int32_t writer; /* another process that writes; 0: none */
    int32_t reader; /* another process that reads */
    bool own;       /* the process itself writes, so that it waits for readers */
};

struct search {
    const struct hd_probe_context *ctx;
    int tid;
    struct file files[FILES_MAX];
    unsigned count;
    const struct file *found; /* the file that the process has open */
    char *name;               /* of that file */
    size_t size;
};

/* SQLite locks PENDING_BYTE of the database and the 511 bytes behind it. In the index of a write-ahead log,
 * SQLite locks the bytes from UNIX_SHM_BASE on. */
static bool is_of_sqlite(const struct hd_file_lock *lock) {
    enum {
        PENDING = 0x40000000,
        LAST_SHARED = PENDING + 511,
        SHM_FIRST = 120,
        SHM_LAST = 127
    };
    return lock->kind != 'F' && ((lock->start >= PENDING && lock->end <= LAST_SHARED) ||
                                 (lock->start >= SHM_FIRST && lock->end <= SHM_LAST));
}

static struct file *file_of(struct search *s, uint64_t inode) {
    unsigned i = 0;
    for (; i < s->count && s->files[i].inode != inode; i++) {
    }
    if (i == FILES_MAX) {
        return NULL;
    }
    if (i == s->count) {
        s->files[s->count++] = (struct file){.inode = inode};
    }
    return &s->files[i];
}

static void add_lock(struct search *s, const struct hd_file_lock *lock) {
    struct file *file = file_of(s, lock->inode);
    bool own = lock->pid == s->ctx->pid;
    if (file != NULL && lock->write && own) {
        file->own = true;
    } else if (file != NULL && !own) {
        *(lock->write ? &file->writer : &file->reader) = lock->pid;
    }
}

/* First searches for writers only, because a database may have many readers, which mostly do no harm. */
static void search_locks(struct search *s, bool write) {
    struct hd_file_locks locks;
    struct hd_file_lock lock;
    hd_file_locks_open(s->ctx, &locks);
    while (hd_file_locks_next(&locks, &lock)) {
        if (!lock.waits && lock.write == write && is_of_sqlite(&lock)) {
            add_lock(s, &lock);
        }
    }
    hd_file_locks_close(&locks);
}

/* Of the files, prefers one that another process writes, then one that another process reads, then any. */
enum {
    RANK_OWN = 1,
    RANK_READER,
    RANK_WRITER
};

static unsigned rank_of(const struct file *f) {
    return f == NULL ? 0 : f->writer != 0 ? RANK_WRITER : f->own && f->reader != 0 ? RANK_READER : RANK_OWN;
}

static bool is_open(void *arg, uint64_t fd) {
    struct search *s = arg;
    char path[48], link[PATH_MAX];
    uint64_t inode = hd_file_lock_inode(s->ctx, s->tid, (int)fd);
    for (unsigned i = 0; i < s->count; i++) {
        if (s->files[i].inode != inode || rank_of(&s->files[i]) <= rank_of(s->found)) {
            continue;
        }
        hd_proc_task_fd_path(path, sizeof path, s->tid, "fd", (int)fd);
        long n = hd_os.readlink_at(s->ctx->proc_fd, path, link, sizeof link - 1);
        if (n > 4 && link[0] == '/') {
            link[n] = '\0';
            if (strcmp(link + n - 4, "-shm") == 0) {
                link[n - 4] = '\0';
            }
            s->found = &s->files[i];
            hd_text_base_name(s->name, s->size, link);
        }
    }
    return rank_of(s->found) == RANK_WRITER;
}

static void search(struct search *s) {
    char path[32];
    bool own = false;
    search_locks(s, true);
    for (unsigned i = 0; i < s->count; i++) {
        own |= s->files[i].own && s->files[i].writer == 0;
    }
    if (own) {
        search_locks(s, false);
    }
    if (s->count != 0) {
        hd_proc_task_path(path, sizeof path, s->tid, "fd");
        hd_proc_walk_numbers(s->ctx->proc_fd, path, hd_os_thread_cpu_ns() + FILES_CPU_NS_MAX, is_open, s);
    }
}

void hd_database_find(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                      const struct hd_frame *frames, uint32_t count, struct hd_probe *out) {
    bool in_library = is_in_library(ctx->modules, frames, count);
    if ((!in_library && !sleeps_as_sqlite(ctx, c)) || hd_holder_recall(ctx, tid, 0, out)) {
        return;
    }
    struct search s = {.ctx = ctx, .tid = tid, .name = out->evidence.name, .size = sizeof out->evidence.name};
    search(&s);
    if (in_library || rank_of(s.found) == RANK_WRITER) {
        out->evidence.kind = HD_EVIDENCE_LOCK;
        out->evidence.lock.kind = HD_LOCK_DATABASE;
        if (s.found != NULL) {
            int32_t pid = s.found->writer != 0 ? s.found->writer : s.found->own ? s.found->reader : 0;
            hd_holder_set(ctx, HD_PARTY_HOLDER, pid != 0 ? pid : ctx->pid, out);
        }
    } else {
        out->evidence.name[0] = '\0';
    }
    hd_holder_store(ctx, tid, 0, out);
}
