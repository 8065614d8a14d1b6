/* SPDX-License-Identifier: MIT
 *
 * A thread of its own makes the copy of the records, since symbol lookups may keep the reporter's main thread
 * busy for seconds. The watched program and its monitor write only memory, and this thread writes the file.
 * So a disk that does not answer blocks neither the program nor the monitor.
 */
#include "cli/settle/record_mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/spool_folder.h"
#include "cli/base/temp_file.h"
#include "cli/settle/orphans.h"
#include "cli/settle/record_copy.h"
#include "os/os.h"
#include "record/uuid.h"

#define STACK_BYTES (256u * 1024)
/* The shortest time between two updates of the copy: 50 ms, a tenth of the duration of the shortest hang
 * (500 ms). */
#define UPDATE_MIN_NS (50 * HD_NS_PER_MS)
#define UPDATE_MAX_NS HD_NS_PER_S
/* The time between two updates of the copy is the open hang's duration divided by this number, but not
 * below UPDATE_MIN_NS. So the hang's duration in the copy is too short by at most a twentieth or by 50 ms. */
#define HANG_PARTS 20

static void path_of(const struct hd_record_options *decided, const char *suffix,
                    char path[5 * HD_RECORD_STRING]) {
    char id[37];
    hd_uuid_text(decided->session, id);
    snprintf(path, 5 * HD_RECORD_STRING, "%s/.%s%s", spool_folder(decided->spool), id, suffix);
}

/* Opens the copy's file only for reading, so that its file system can become read-only while a hang is
 * open. Locks the file, to show other runs that the program lives. Some file systems lock only files that are
 * open for writing. On these the function opens the file with O_RDWR. */
static int lock_for_reading(const char *path) {
    static const int modes[] = {O_RDONLY, O_RDWR};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        int fd = open(path, modes[i] | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}

/* Creates the copy's file under a temporary name, and renames the file after locking it. So no other run
 * finds an unlocked record file. */
static void make(struct record_mirror *m) {
    char made[5 * HD_RECORD_STRING], path[5 * HD_RECORD_STRING];
    path_of(m->decided, ".tmp", made);
    path_of(m->decided, ORPHAN_SUFFIX, path);
    int fd = temp_file_open(made);
    if (fd < 0) {
        return;
    }
    bool sized = ftruncate(fd, (off_t)ORPHAN_TABLE_BYTES) == 0;
    close(fd);
    memset(m->copied, 0, sizeof m->copied);
    m->fd = sized ? lock_for_reading(made) : -1;
    if (m->fd < 0 || rename(made, path) != 0) {
        unlink(made);
        if (m->fd >= 0) {
            close(m->fd);
        }
        m->fd = -1;
    }
}

static void drop(struct record_mirror *m) {
    if (m->fd >= 0) {
        record_mirror_remove(m->decided);
        close(m->fd);
        m->fd = -1;
    }
}

static bool has_open_hang(const struct hd_record *c) {
    uint32_t open = atomic_load(&c->open.state);
    return atomic_load(&c->owner.pid) != 0 && (open == HD_RECORD_HANG_LASTS || open == HD_RECORD_HANG_ENDED);
}

/* Copies record `i` into the copy's file. `open`: the record has an open hang. If it has none, its copy
 * gets no owner, so that no run settles this copy. The caller always copies record 0, because that record has
 * the file's version. */
static void copy_one(struct record_mirror *m, int fd, unsigned i, bool open, uint64_t now) {
    record_copy(&m->copy, &m->records[i], m->decided, i == 0);
    /* marks the copy like the file of a run with --exec, so that the next run settles it */
    m->copy.options.exec_mode = 1;
    atomic_store(&m->copy.runner.mirrored_ns, now);
    if (!open) {
        atomic_store(&m->copy.owner.pid, 0);
    }
    m->copied[i] =
        pwrite(fd, &m->copy, sizeof m->copy, (off_t)(i * sizeof m->copy)) == sizeof m->copy && open;
}

static bool any_open_hang(const struct record_mirror *m) {
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        if (has_open_hang(&m->records[i])) {
            return true;
        }
    }
    return false;
}

/* Updates the copy's file, and returns the time when the next update is due. If no hang is open, removes
 * the file and returns UINT64_MAX. */
static uint64_t update(struct record_mirror *m) {
    uint64_t now = hd_os_now_ns(), apart_ns = UPDATE_MAX_NS;
    char path[5 * HD_RECORD_STRING];
    if (!any_open_hang(m)) {
        drop(m);
        return UINT64_MAX;
    }
    if (m->fd < 0) {
        make(m);
    }
    path_of(m->decided, ORPHAN_SUFFIX, path);
    int fd = m->fd >= 0 ? open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    for (unsigned i = 0; fd >= 0 && i < HD_RECORDS; i++) {
        bool open = has_open_hang(&m->records[i]);
        if (open || m->copied[i] || i == 0) {
            copy_one(m, fd, i, open, now);
            uint64_t part_ns = atomic_load(&m->copy.open.duration_ns) / HANG_PARTS;
            apart_ns = open && part_ns < apart_ns ? part_ns : apart_ns;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return now + (apart_ns > UPDATE_MIN_NS ? apart_ns : UPDATE_MIN_NS);
}

static void mirror(void *of) {
    struct record_mirror *m = of;
    for (;;) {
        uint32_t wakes = atomic_load(&m->wakes);
        uint64_t due_ns = update(m);
        hd_os.futex_wait((uint32_t *)&m->wakes, wakes, due_ns, false);
    }
}

void record_mirror_start(struct record_mirror *m, const struct hd_record *records,
                         const struct hd_record_options *decided) {
    pthread_t thread;
    m->records = records;
    m->decided = decided;
    m->fd = -1;
    if (deep_stack_start(&thread, STACK_BYTES, mirror, m)) {
        pthread_detach(thread);
    }
}

void record_mirror_wake(struct record_mirror *m) {
    atomic_fetch_add(&m->wakes, 1);
    hd_os.futex_wake((uint32_t *)&m->wakes, 1, false);
}

void record_mirror_remove(const struct hd_record_options *decided) {
    char path[5 * HD_RECORD_STRING];
    path_of(decided, ORPHAN_SUFFIX, path);
    unlink(path);
}
