/* SPDX-License-Identifier: MIT
 *
 * Takes a thread's port, and reads its state and memory. On the monitor or worker thread: no allocation, no
 * lock.
 */
#include "capture/darwin/thread_files.h"

#include <errno.h>

#include "os/darwin/thread_ports.h"

#define PIECE_BYTES (16u * 1024u)
#define PAGE_BYTES (4u * 1024u) /* the smallest page of a Mac */

int hd_capture_files_open(void) {
    struct hd_mach_thread unused;
    hd_port own = hd_mach.self();
    (void)hd_mach.thread_times(own, &unused);
    hd_mach.release(own);
    return 0;
}

int hd_thread_files_open(struct hd_thread_files *f, hd_thread_id thread) {
    f->port = hd_thread_port(thread);
    return f->port != 0 ? 0 : -ENOENT;
}

void hd_thread_files_close(struct hd_thread_files *f) {
    f->port = 0;
}

static enum hd_run_state run_state(int32_t state) {
    switch (state) {
    case HD_MACH_WAITING:
        return HD_RUN_BLOCKED;
    case HD_MACH_UNINTERRUPTIBLE:
        return HD_RUN_UNINTERRUPTIBLE;
    case HD_MACH_STOPPED:
        return HD_RUN_STOPPED;
    case HD_MACH_HALTED:
        return HD_RUN_GONE;
    default:
        return HD_RUN_RUNNING;
    }
}

int hd_thread_files_times(const struct hd_thread_files *f, uint64_t *cpu_ns, enum hd_run_state *state) {
    struct hd_mach_thread now = {0};
    int rc = f->port != 0 ? hd_mach.thread_times(f->port, &now) : -ENOENT;
    if (rc == 0) {
        *cpu_ns = now.user_ns + now.system_ns;
        *state = run_state(now.state);
    }
    return rc;
}

int hd_thread_files_state(const struct hd_thread_files *f, enum hd_run_state *out) {
    uint64_t unused;
    return hd_thread_files_times(f, &unused, out);
}

/* A read of a piece is all or nothing. After a failure the function reads up to the end of the page, which
 * may be the last mapped one. */
long hd_thread_files_memory(uint64_t addr, void *to, size_t n) {
    size_t got = 0, largest = PIECE_BYTES;
    while (got < n) {
        uint64_t from = addr + got;
        size_t bytes = largest - (size_t)(from % largest);
        bytes = bytes < n - got ? bytes : n - got;
        if (hd_mach.read(from, (uint8_t *)to + got, bytes) == 0) {
            got += bytes;
        } else if (largest == PIECE_BYTES) {
            largest = PAGE_BYTES;
        } else {
            break;
        }
    }
    return got != 0 || n == 0 ? (long)got : -EFAULT;
}
