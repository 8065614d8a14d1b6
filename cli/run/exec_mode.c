/* SPDX-License-Identifier: MIT */
#include "cli/run/exec_mode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/base/signal_state.h"
#include "cli/base/temp_file.h"
#include "cli/run/runner.h"
#include "cli/settle/orphans.h"
#include "os/os.h"
#include "record/uuid.h"

static struct hd_record *map_table(int fd) {
    void *table = mmap(NULL, ORPHAN_TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return table != MAP_FAILED ? table : NULL;
}

/* All of it: on a disk that fills up later the program would end at the first touch of a page that has none.
 */
static int reserve_space(int fd) {
    int rc = runner_enlarge(fd, (off_t)ORPHAN_TABLE_BYTES);
    return rc == 0 && fallocate(fd, 0, 0, (off_t)ORPHAN_TABLE_BYTES) != 0 && errno != EOPNOTSUPP ? -errno
                                                                                                 : rc;
}

int exec_mode_prepare(struct exec_mode *e, const struct hd_record_options *options) {
    char id[37], made[sizeof e->path];
    hd_uuid_text(options->session, id);
    snprintf(made, sizeof made, "%s/.%s.tmp", options->spool,
             id); /* not the name of a record yet, so that no other run settles the file */
    snprintf(e->path, sizeof e->path, "%s/.%s" ORPHAN_SUFFIX, options->spool, id);
    e->fd = temp_file_open(made);
    e->record = NULL;
    int rc = e->fd < 0 ? e->fd : 0;
    /* The file must be locked before the rename: the lock shows other runs that the program lives. */
    if (rc == 0 && flock(e->fd, LOCK_EX | LOCK_NB) == 0 && (rc = reserve_space(e->fd)) == 0) {
        e->record = map_table(e->fd);
    }
    if (e->record == NULL) {
        rc = rc != 0 ? rc : -errno;
        unlink(made);
        return rc;
    }
    e->record->magic = HD_RECORD_MAGIC;
    e->record->bytes = sizeof *e->record;
    e->record->options = *options;
    e->record->options.exec_mode = 1;
    e->record->options.journal = getenv("JOURNAL_STREAM") != NULL; /* a server may empty its environment */
    snprintf(e->record->options.link, sizeof e->record->options.link, "%s", e->path);
    if (rename(made, e->path) != 0) {
        rc = -errno;
        unlink(made);
        return rc;
    }
    return 0;
}

int exec_mode_become(struct exec_mode *e, char *const argv[], const char *preload) {
    char number[16];
    snprintf(number, sizeof number, "%d", fcntl(e->fd, F_DUPFD, STDERR_FILENO + 1)); /* no close-on-exec */
    e->record->options.pid = getpid();
    setenv("HANGDOG_LINK", number, 1);
    setenv("LD_PRELOAD", preload, 1);
    e->record->options.started_ns = hd_os_now_ns();
    e->record->options.started_wall_ns = hd_os_wall_ns();
    signal_state_restore();
    execvp(argv[0], argv);
    int rc = -errno;
    unlink(e->path);
    return rc;
}
