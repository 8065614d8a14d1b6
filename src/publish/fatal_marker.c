/* SPDX-License-Identifier: MIT
 *
 * The worker maps one small file for each fatal marker. The file's first 64 bits are the hang's duration,
 * which the monitor updates by a store into the mapped memory. The file has the marker's name. It is in the
 * folder settings.runtime (XDG_RUNTIME_DIR or /dev/shm), because that folder is in memory, not on a disk. If
 * the worker can create no file there, it maps the marker itself. On the worker thread.
 */
#include "publish/fatal_marker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/text.h"
#include "report/spool_files.h"

static void remove_marker(const struct hd_publisher *p, const char *name) {
    hd_os.unlink_at(p->spool.dir_fd, name);
    if (p->marker_fd >= 0) {
        hd_os.unlink_at(p->marker_fd, name);
    }
}

/* hd_spool_walk calls this function for each file of the spool. If the file is a marker without a report,
 * removes the marker. A process that dies in a hang leaves its marker in the spool. If the spool's limits
 * later remove the report, the marker has no report any more. */
static int sweep_one(void *ctx, enum hd_spool_file what, const char *name) {
    const struct hd_publisher *p = ctx;
    char report[HD_SPOOL_NAME_BYTES];
    struct stat st;
    if (what == HD_SPOOL_OPEN) { /* a marker: its name is .ID.open */
        struct hd_text t;
        hd_text_init(&t, report, sizeof report);
        hd_text_mem(&t, name + 1, strlen(name) - sizeof ".open");
        hd_text_str(&t, ".json");
        if (hd_os.stat_at(p->spool.dir_fd, report, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT) {
            remove_marker(p, name);
        }
    }
    return 0;
}

/* Creates the marker under a temporary name, locks it, and then renames it, so that readers never see a
 * marker without a lock. If the lock or the rename fails, the next call of hd_fatal_marker_update tries
 * again. If the process dies before the rename, a later process removes the temporary file when that process
 * opens the spool. */
static void create_marker(struct hd_publisher *p, struct hd_turn *turn, const char *name) {
    char temp[HD_SPOOL_NAME_BYTES];
    hd_spool_name(temp, turn->report.id, HD_SPOOL_TEMP);
    int fd = hd_os.open_at(p->spool.dir_fd, temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;
    if (fd >= 0) {
        (void)hd_spool_allow_owner(fd, &st);
    }
    if (fd >= 0 && hd_os.flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        hd_os.rename_at(p->spool.dir_fd, temp, name) == 0) {
        turn->report.marker = fd + 1;
    } else if (fd >= 0) {
        hd_os.unlink_at(p->spool.dir_fd, temp);
        hd_os_close(fd);
    }
}

static uint8_t *page_of(struct hd_publisher *p, const struct hd_turn *turn) {
    return p->marker_page[turn - p->turns->turn];
}

/* Maps the file with the hang's duration, so that the monitor can update the duration. First writes the
 * duration by a system call: on a full disk, that call returns an error, and nothing is mapped. A store into
 * a page that is mapped there would end the program by SIGBUS. */
static void map_duration(struct hd_publisher *p, struct hd_turn *turn, const char *name) {
    struct hd_watch *w = hd_watch_at(&p->run->watches, turn->loop.slot);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = p->marker_fd >= 0 ? hd_os.open_at(p->marker_fd, name, flags, 0600) : -1;
    turn->report.mapped = fd >= 0 ? fd + 1 : turn->report.marker;
    fd = turn->report.mapped - 1;
    uint64_t duration_ns = turn->times.duration_ns;
    if (hd_os.write(fd, &duration_ns, sizeof duration_ns) != sizeof duration_ns ||
        w->generation != turn->loop.generation) {
        return;
    }
    uint8_t *page = page_of(p, turn);
    if (hd_os_memory_of_file(page, HD_FATAL_MARKER_BYTES, fd) == 0) {
        atomic_store_explicit(&w->worker.fatal_marker_start_ns, turn->times.start_ns, memory_order_relaxed);
        atomic_store_explicit(&w->worker.fatal_marker, (_Atomic uint64_t *)(void *)page,
                              memory_order_release);
    }
}

/* Replaces the mapped file by anonymous memory, and closes the file. Does not unmap the page, because the
 * monitor may store into the page at this moment. */
static void unmap_duration(struct hd_publisher *p, const struct hd_turn *turn) {
    struct hd_watch *w = hd_watch_at(&p->run->watches, turn->loop.slot);
    _Atomic uint64_t *page = (_Atomic uint64_t *)(void *)page_of(p, turn);
    atomic_compare_exchange_strong(&w->worker.fatal_marker, &page, NULL);
    (void)hd_os_memory_of_file(page_of(p, turn), HD_FATAL_MARKER_BYTES, -1);
    if (turn->report.mapped != turn->report.marker) {
        hd_os_close(turn->report.mapped - 1);
    }
}

void hd_fatal_marker_update(struct hd_publisher *p, struct hd_turn *turn, bool over) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, turn->report.id, HD_SPOOL_OPEN);
    if (!over && turn->report.marker == 0) {
        (void)hd_spool_walk(p->spool.dir_fd, sweep_one, p);
        create_marker(p, turn, name);
        if (turn->report.marker != 0) {
            map_duration(p, turn, name);
        }
    } else if (over && turn->report.marker != 0) {
        remove_marker(p, name);
        unmap_duration(p, turn);
        hd_os_close(turn->report.marker - 1);
        turn->report.marker = 0;
    }
}
