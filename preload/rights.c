/* SPDX-License-Identifier: MIT
 *
 * libc makes every thread change its ids, and ends the program when not all of them come to the same.
 * Capabilities and securebits are each thread's own: where the caller's are others than those that ours were
 * born with, ours must be gone before. Ordinary code, on any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "monitor/proc_files.h"
#include "os/os.h"
#include "process.h"

/* Ids, groups and capabilities as the kernel has them for one thread: lines of its status, of which that of
 * the groups may be longer than any buffer. */
static const char *const keys[] = {"Uid", "Gid", "Groups", "CapPrm", "CapEff"};
#define KEYS (sizeof keys / sizeof keys[0])

struct rights {
    uint64_t hash[KEYS];
    unsigned found;
};

/* What is read of a line. */
struct line {
    char key[8];
    unsigned length;
    bool in_key;
    uint64_t *hash; /* NULL: nobody asks for it */
};

static void take(struct rights *r, struct line *line, char c) {
    if (c == '\n') {
        *line = (struct line){.in_key = true};
    } else if (line->in_key && c == ':') {
        line->in_key = false;
        for (unsigned i = 0; i < KEYS; i++) {
            if (strncmp(line->key, keys[i], sizeof line->key) == 0) {
                line->hash = &r->hash[i];
                r->found++;
            }
        }
    } else if (line->in_key) {
        line->key[line->length] = c;
        line->length += line->length + 1 < sizeof line->key;
    } else if (line->hash != NULL) {
        *line->hash = (*line->hash ^ (unsigned char)c) * 0x100000001b3ULL;
    }
}

static bool read_rights(int tid, struct rights *r) {
    char text[1024];
    struct line line = {.in_key = true};
    *r = (struct rights){0};
    int fd = hd_open_own_task(tid, "status", O_RDONLY | O_CLOEXEC);
    for (long n; fd >= 0 && (n = hd_os.read(fd, text, sizeof text)) > 0;) {
        for (long i = 0; i < n; i++) {
            take(r, &line, text[i]);
        }
    }
    if (fd >= 0) {
        hd_os.close(fd);
    }
    return r->found == KEYS;
}

/* Whether a thread of ours, born with the rights of the program's first, would come to the same as the
 * caller. */
static bool has_the_same_rights(int tid) {
    struct rights own, ours;
    return read_rights(hd_os.get_tid(), &own) && read_rights(tid, &ours) &&
           memcmp(own.hash, ours.hash, sizeof own.hash) == 0 &&
           prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == hd_process_securebits();
}

/* libc has each thread that it knows of change its ids, and waits for it: also for a worker of ours at a disk
 * that does not answer. Where the program itself has one thread, libc need not know of ours. The worker that
 * is left keeps what it is until it comes back, and then ends. */
static bool libc_sees_one(void) {
    const char *note = hd_os_single_threaded.note[0];
    return note != NULL && *note != 0;
}

void hd_process_changes_ids(void) {
    int saved = errno;
    int tid = hd_process_own_thread();
    bool waits = tid != 0 && libc_sees_one() && (hd_process_has_stray() || hd_process_worker_is_stuck());
    if (tid != 0 && (waits || !has_the_same_rights(tid)) && !hd_process_alone()) {
        hd_process_ends_watch(HD_UNWATCHED_ALONE);
    }
    errno = saved;
}
