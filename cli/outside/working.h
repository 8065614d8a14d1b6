/* SPDX-License-Identifier: MIT
 *
 * The process for which the watcher works now, in memory that a supervisor shares. A file of that process may
 * not answer, and the watcher has one thread. Any thread; lock-free.
 */
#ifndef CLI_OUTSIDE_WORKING_H
#define CLI_OUTSIDE_WORKING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct working {
    _Atomic uint64_t now; /* the upper half counts changes, the lower half is the process's number; 0: none */
    _Atomic uid_t user;   /* of this process, which may end before its file answers */
};

/* `w`: NULL: no supervisor. */
static inline void working_for(struct working *w, pid_t pid, uid_t user) {
    if (w != NULL) {
        atomic_store(&w->user, user);
        atomic_store(&w->now, ((atomic_load(&w->now) >> 32) + 1) << 32 | (uint32_t)pid);
    }
}

#endif
