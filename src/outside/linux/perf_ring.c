/* SPDX-License-Identifier: MIT
 *
 * The kernel moves data_head, this code moves data_tail: then the kernel may overwrite what lies before it.
 */
#include "outside/linux/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static struct perf_event_mmap_page *page_of(const struct hd_perf_ring *r) {
    return (struct perf_event_mmap_page *)(void *)r->map;
}

int hd_perf_ring_open(struct hd_perf_ring *r, const struct perf_event_attr *attr, int tid, uint32_t bytes) {
    struct perf_event_attr a = *attr;
    a.size = sizeof a;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    *r = (struct hd_perf_ring){.bytes = bytes};
    r->fd = (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (r->fd < 0) {
        return -errno;
    }
    if (bytes == 0) {
        return 0;
    }
    void *map = mmap(NULL, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (map == MAP_FAILED) {
        int error = -errno;
        close(r->fd);
        r->fd = -1;
        return error;
    }
    r->map = map;
    return 0;
}

void hd_perf_ring_close(struct hd_perf_ring *r) {
    if (r->map != NULL) {
        munmap(r->map, page_bytes() + r->bytes);
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    *r = (struct hd_perf_ring){.fd = -1};
}

void hd_perf_ring_copy(const struct hd_perf_ring *r, uint64_t *at, void *to, size_t n) {
    const uint8_t *ring = r->map + page_bytes();
    size_t from = *at % r->bytes, first = r->bytes - from < n ? r->bytes - from : n;
    memcpy(to, ring + from, first);
    memcpy((uint8_t *)to + first, ring, n - first);
    *at += n;
}

bool hd_perf_ring_next(struct hd_perf_ring *r, struct hd_perf_record *record) {
    struct perf_event_mmap_page *page = page_of(r);
    __atomic_store_n(&page->data_tail, r->next, __ATOMIC_RELEASE); /* the record before this one is used up */
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    if (head - r->next < sizeof record->head) {
        return false;
    }
    record->body = r->next;
    hd_perf_ring_copy(r, &record->body, &record->head, sizeof record->head);
    if (record->head.size < sizeof record->head || record->head.size > head - r->next) {
        return false;
    }
    r->next += record->head.size;
    return true;
}

int hd_perf_keep_on(void) {
    struct perf_event_attr a = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1, .exclude_hv = 1};
    struct hd_perf_ring r;
    int rc = hd_perf_ring_open(&r, &a, 0, 0);
    return rc == 0 ? r.fd : rc;
}
