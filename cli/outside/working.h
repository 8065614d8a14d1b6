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

/* The upper half counts changes, the lower half is the process's number; 0: none. */
typedef _Atomic uint64_t working;

/* `w`: NULL: no supervisor. */
static inline void working_for(working *w, pid_t pid) {
    if (w != NULL) {
        atomic_store(w, ((atomic_load(w) >> 32) + 1) << 32 | (uint32_t)pid);
    }
}

#endif
