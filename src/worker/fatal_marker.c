/* SPDX-License-Identifier: MIT
 *
 * Worker, in programs that link the library: what tells a hang that the process died in. Nobody waits for
 * such a process and has its record, as the runner does. Beside the report of a hang that lasts stands a
 * file, locked as long as we live: one that can be locked is a dead process's. The duration is the first word
 * of a file of that name in XDG_RUNTIME_DIR or /dev/shm, which are memory, else of that file. It is mapped,
 * and the monitor keeps it current. May wait for the disk. No allocation.
 */
#include "worker/fatal_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/text.h"
#include "report/spool_files.h"

static void remove_note(const struct hd_worker *k, const char *name) {
    hd_os.unlink_at(k->spool.dir_fd, name);
    if (k->runtime_fd >= 0) {
        hd_os.unlink_at(k->runtime_fd, name);
    }
}

/* The report of a dead process's note may be gone since, for the spool's limits. */
static int sweep_one(void *ctx, enum hd_spool_file what, const char *name) {
    const struct hd_worker *k = ctx;
    char report[HD_SPOOL_NAME_BYTES];
    struct stat st;
    if (what == HD_SPOOL_OPEN) {
        struct hd_text t;
        hd_text_init(&t, report, sizeof report);
        hd_text_mem(&t, name + 1, strlen(name) - sizeof ".open"); /* without the dot before it, too */
        hd_text_str(&t, ".json");
        if (hd_os.stat_at(k->spool.dir_fd, report, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT) {
            remove_note(k, name);
        }
    }
    return 0;
}

/* After the report is written: a note without one is swept. Nobody sees it before it is locked; what is left
 * of one that a sweeper took meanwhile, or of a process that died here, is a temporary file as any. The next
 * update tries again. */
static void leave(struct hd_worker *k, struct hd_turn *h, const char *name) {
    char temp[HD_SPOOL_NAME_BYTES];
    hd_spool_name(temp, h->report.id, HD_SPOOL_TEMP);
    int fd = hd_os.open_at(k->spool.dir_fd, temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;
    if (fd >= 0) {
        (void)hd_spool_allow_owner(fd, &st);
    }
    if (fd >= 0 && hd_os.flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        hd_os.rename_at(k->spool.dir_fd, temp, name) == 0) {
        h->report.note = fd + 1;
    } else if (fd >= 0) {
        hd_os.unlink_at(k->spool.dir_fd, temp);
        hd_os_close(fd);
    }
}

static uint8_t *page_of(struct hd_worker *k, const struct hd_turn *h) {
    return k->notes[h - k->turns.turn];
}

/* From here on each look stores the duration there. Written before it is mapped: a page for which a file has
 * no room is the end of who touches it. */
static void map_note(struct hd_worker *k, struct hd_turn *h, const char *name) {
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop.slot);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = k->runtime_fd >= 0 ? hd_os.open_at(k->runtime_fd, name, flags, 0600) : -1;
    h->report.mapped = fd >= 0 ? fd + 1 : h->report.note;
    if (hd_os.write(h->report.mapped - 1, &h->times.duration_ns, sizeof h->times.duration_ns) !=
            sizeof h->times.duration_ns ||
        w->generation != h->loop.generation) {
        return;
    }
    uint8_t *page = page_of(k, h);
    if (hd_os_memory_of_file(page, HD_FATAL_MARKER_BYTES, h->report.mapped - 1) == 0) {
        atomic_store_explicit(&w->worker.fatal_marker_start_ns, h->times.start_ns, memory_order_relaxed);
        atomic_store_explicit(&w->worker.fatal_marker, (_Atomic uint64_t *)(void *)page,
                              memory_order_release);
    }
}

/* The monitor may be at it just now: memory takes the file's place. */
static void unmap_note(struct hd_worker *k, const struct hd_turn *h) {
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop.slot);
    _Atomic uint64_t *page = (_Atomic uint64_t *)(void *)page_of(k, h);
    atomic_compare_exchange_strong(&w->worker.fatal_marker, &page, NULL);
    (void)hd_os_memory_of_file(page_of(k, h), HD_FATAL_MARKER_BYTES, -1);
    if (h->report.mapped != h->report.note) {
        hd_os_close(h->report.mapped - 1);
    }
}

void hd_fatal_marker_update(struct hd_worker *k, struct hd_turn *h, bool over) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, h->report.id, HD_SPOOL_OPEN);
    if (!over && h->report.note == 0) {
        (void)hd_spool_walk(k->spool.dir_fd, sweep_one, k);
        leave(k, h, name);
        if (h->report.note != 0) {
            map_note(k, h, name);
        }
    } else if (over && h->report.note != 0) {
        remove_note(k, name);
        unmap_note(k, h);
        hd_os_close(h->report.note - 1);
        h->report.note = 0;
    }
}
