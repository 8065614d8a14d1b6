/* SPDX-License-Identifier: MIT */
#include "cli/settle/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/shell_quote.h"
#include "cli/base/temp_file.h"
#include "cli/settle/liveness.h"
#include "cli/settle/previous_run.h"
#include "cli/settle/settle.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool_files.h"

#define SECONDS_PER_DAY 86400
#define DEFERRED_DAYS 30
/* the number of last digits of a report's id that a message shows; hangdog show accepts them */
#define ID_DIGITS 6

/* Copies the records of a record file, and does not map the file. The file's owner may truncate it, and a
 * read of a truncated mapping raises SIGBUS. False: the file is too short, a read failed, or `copy` is
 * NULL. */
static bool read_table(int fd, struct hd_record *copy) {
    char *at = (char *)copy;
    ssize_t n = 0;
    for (size_t done = 0; at != NULL && done < ORPHAN_TABLE_BYTES; done += (size_t)n) {
        n = pread(fd, at + done, ORPHAN_TABLE_BYTES - done, (off_t)done);
        if (n <= 0) {
            return false;
        }
    }
    return true;
}

/* True: the file is a record of another version of Hangdog. */
static bool is_of_another_version(int fd) {
    struct {
        uint64_t magic, bytes;
    } head;
    const uint64_t version = 0xff; /* the last byte of the magic number has the version */
    return pread(fd, &head, sizeof head, 0) == sizeof head &&
           (head.magic & ~version) == (HD_RECORD_MAGIC & ~version);
}

static bool is_ours(const struct hd_record *table) {
    return table != NULL && table->magic == HD_RECORD_MAGIC && table->bytes == sizeof *table;
}

/* True: a program that has a record in `table` is alive, although it may not have the lock of the record
 * file. Such a program has not taken its record yet after an exec, or has outlived the runner that made this
 * copy of the records. The calling process does not count. It may own a record, because a watched program may
 * have executed hangdog. */
static bool is_alive_unlocked(const struct hd_record *table) {
    for (unsigned i = 0; is_ours(table) && i < HD_RECORDS; i++) {
        const struct hd_record *c = &table[i];
        if (atomic_load(&c->owner.pid) != 0 && atomic_load(&c->owner.superseded_ns) == 0 &&
            (atomic_load(&c->status.unwatched) == HD_UNWATCHED_EXEC ||
             atomic_load(&c->runner.mirrored_ns) != 0)) {
            pid_t owner = liveness_pid(c);
            if (owner != 0 && owner != getpid()) {
                return true;
            }
        }
    }
    return false;
}

static bool died_in_a_hang(const struct hd_record *c) {
    return atomic_load(&c->owner.pid) != 0 && !c->options.of_child &&
           atomic_load(&c->open.state) == HD_RECORD_HANG_FATAL;
}

static void print_fatal_hang(const struct hd_record *c, const char *spool) {
    char id[37], where[16 * HD_RECORD_STRING];
    hd_uuid_text(c->open.hang_id, id);
    quote_spool(where, sizeof where, spool);
    print_error("the run before died in a hang of %.1f s; more: %s show %s%s",
                (double)atomic_load(&c->open.duration_ns) / HD_NS_PER_S, shell_own_command(),
                id + strlen(id) - ID_DIGITS, where);
}

/* Prints each fatal hang unless `quiet`. If a runner died with its program, the spool still has a line
 * which says that the run lasts. This function replaces that line by one which says that the program died in
 * a hang (previous_run.h). */
static void report_fatal_hangs(const struct hd_record *table, const char *spool, bool quiet) {
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        const struct hd_record *c = &table[i];
        if (died_in_a_hang(c) && atomic_load(&c->runner.mirrored_ns) != 0) {
            previous_note_fatal_hang(spool, c->options.app_name);
        }
        if (died_in_a_hang(c) && !quiet) {
            print_fatal_hang(c, spool);
        }
    }
}

/* Settles a record file. The caller has locked the file. The file's programs are dead: a living one would
 * have the lock, or is_alive_unlocked would have found it. */
static int settle_locked(int fd, struct hd_record *table, const char *path, const char *spool, bool quiet) {
    int rc = 0;
    if (is_ours(table)) {
        rc = settle_orphan(table, spool);
        if (rc == 0) {
            report_fatal_hangs(table, spool, quiet);
        }
        /* Stores in the file which records are settled, so that the next call settles only the others. */
        if (rc != 0 && pwrite(fd, table, ORPHAN_TABLE_BYTES, 0) < 0) {
            rc = -errno;
        }
    } else if (!quiet && is_of_another_version(fd)) {
        print_error("skipped '%.500s': of another version; may have a fatal hang", path);
    }
    if (rc == 0) {
        unlink(path);
    }
    return rc;
}

/* True: the file belongs to the user to whom this process's new files in the spool belong. Makes a new
 * file and compares the owners, since some file systems give all files, or root's files, another owner. */
static bool is_own(const struct stat *st, const char *spool) {
    char made[5 * HD_RECORD_STRING], name[HD_SPOOL_NAME_BYTES];
    uint8_t id[HD_UUID_BYTES];
    struct stat own = {0};
    if (st->st_uid == geteuid()) {
        return true;
    }
    hd_uuid_make(id, (uint64_t)time(NULL) * HD_NS_PER_S);
    hd_spool_name(name, id, HD_SPOOL_TEMP);
    snprintf(made, sizeof made, "%s/%s", spool, name);
    int fd = temp_file_open(made);
    bool known = fd >= 0 && fstat(fd, &own) == 0;
    if (fd >= 0) {
        unlink(made);
        close(fd);
    }
    return known && own.st_uid == st->st_uid;
}

/* Settles the record file at `path`. Skips a file of another user, and a file with a living program.
 * Returns 0 or a negative errno value. */
static int settle_one(const char *path, const char *spool, bool quiet) {
    struct stat st;
    int rc = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0 || !is_own(&st, spool)) {
        close(fd);
        return 0;
    }
    bool fits = (size_t)st.st_size == ORPHAN_TABLE_BYTES;
    struct hd_record *table = fits ? malloc(ORPHAN_TABLE_BYTES) : NULL;
    /* is_alive_unlocked runs before this function takes the file's lock, since a living program must find
     * the lock free. It runs again under the lock, because the records in the file may have changed
     * meanwhile. */
    if (fits && table == NULL) {
        rc = -ENOMEM;
    } else if (read_table(fd, table) && !is_alive_unlocked(table) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
               read_table(fd, table) && !is_alive_unlocked(table)) {
        rc = settle_locked(fd, table, path, spool, quiet);
    }
    free(table);
    close(fd);
    return rc;
}

static bool is_deferred(const char *name) {
    return hd_spool_what(name) == HD_SPOOL_DEFERRED;
}

static bool is_record(const char *name) {
    size_t n = strlen(name), suffix = strlen(ORPHAN_SUFFIX);
    return n == 1 + 36 + suffix && name[0] == '.' && strcmp(name + n - suffix, ORPHAN_SUFFIX) == 0;
}

/* Removes old deferred reports. They stay in the spool when a runner is killed. A living program may need
 * days until its loop is certain, so a deferred report stays for a month. If the spool has more than
 * HD_SPOOL_REPORTS deferred reports, each stays for only a day. */
static void sweep_deferred(DIR *dir) {
    const struct dirent *e;
    struct stat st;
    unsigned count = 0;
    for (rewinddir(dir); (e = readdir(dir)) != NULL;) {
        count += is_deferred(e->d_name);
    }
    time_t since = time(NULL) - (count > HD_SPOOL_REPORTS ? 1 : DEFERRED_DAYS) * SECONDS_PER_DAY;
    for (rewinddir(dir); (e = readdir(dir)) != NULL;) {
        if (is_deferred(e->d_name) && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_mtime < since) {
            unlinkat(dirfd(dir), e->d_name, 0);
        }
    }
}

int settle_orphans(const char *spool, bool quiet) {
    DIR *dir = opendir(spool);
    int failed = 0;
    if (dir == NULL) {
        return 0;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[5 * HD_RECORD_STRING];
        if (is_record(e->d_name) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", spool, e->d_name) < sizeof path) {
            int rc = settle_one(path, spool, quiet);
            failed = rc != 0 ? rc : failed;
        }
    }
    /* After a failure this function keeps all deferred reports, since a later call may settle those of a
     * dead program. */
    if (failed == 0) {
        sweep_deferred(dir);
    }
    closedir(dir);
    return failed;
}
