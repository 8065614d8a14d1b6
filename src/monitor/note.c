/* SPDX-License-Identifier: MIT
 *
 * Worker, in programs that link the library: what tells a hang that the process died in. Nobody waits for
 * such a process and has its record, as the runner does. Beside the report of a hang that lasts stands an
 * empty file, locked as long as we live: one that can be locked is a dead process's. May wait for the disk.
 * No allocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "analysis/text.h"
#include "monitor/worker.h"
#include "report/spool_files.h"

/* The report of a dead process's note may be gone since, for the spool's limits. */
static int sweep_one(void *ctx, enum hd_spool_file what, const char *name) {
    const struct hd_spool *s = ctx;
    char report[HD_SPOOL_NAME_BYTES];
    struct stat st;
    if (what == HD_SPOOL_OPEN) {
        struct hd_text t;
        hd_text_init(&t, report, sizeof report);
        hd_text_mem(&t, name + 1, strlen(name) - sizeof ".open"); /* without the dot before it, too */
        hd_text_str(&t, ".json");
        if (hd_os.stat_at(s->dir_fd, report, &st, AT_SYMLINK_NOFOLLOW) == -ENOENT) {
            hd_os.unlink_at(s->dir_fd, name);
        }
    }
    return 0;
}

/* After the report is written: a note without one is swept. Nobody sees it before it is locked; what is left
 * of one that a sweeper took meanwhile, or of a process that died here, is a temporary file as any. The next
 * update tries again. */
static void leave(struct hd_worker *k, struct hd_hang *h, const char *name) {
    char temp[HD_SPOOL_NAME_BYTES];
    hd_spool_name(temp, h->id, HD_SPOOL_TEMP);
    int fd = hd_os.open_at(k->spool.dir_fd, temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;
    if (fd >= 0) {
        (void)hd_spool_allow_owner(fd, &st);
    }
    if (fd >= 0 && hd_os.flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        hd_os.rename_at(k->spool.dir_fd, temp, name) == 0) {
        h->note = fd + 1;
    } else if (fd >= 0) {
        hd_os.unlink_at(k->spool.dir_fd, temp);
        hd_os_close(fd);
    }
}

void hd_note_hang(struct hd_worker *k, struct hd_hang *h, bool over) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, h->id, HD_SPOOL_OPEN);
    if (!over && h->note == 0) {
        (void)hd_spool_walk(k->spool.dir_fd, sweep_one, &k->spool);
        leave(k, h, name);
    } else if (over && h->note != 0) {
        hd_os.unlink_at(k->spool.dir_fd, name);
        hd_os_close(h->note - 1);
        h->note = 0;
    }
}
