/* SPDX-License-Identifier: MIT */
#include "watch/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define ANSWER_NS (150 * HD_NS_PER_MS) /* beyond that the worker is at a disk */

/* Each thread's own: its descriptors are of its table. */
static __thread struct {
    int main_fd, own_fd; /* `status` of the main thread, and of its own; less than zero: no /proc */
    uint32_t number;     /* of the newest request that it has answered */
    bool filter;
    uint64_t main;    /* a hash of the rights to which it has come down; 0: it has not */
    uint64_t root[2]; /* device and inode */
} self;

/* Whether it is another one than when that was stored. */
static bool root_changed(bool store) {
    struct stat st = {0};
    (void)hd_os.stat_at(AT_FDCWD, "/", &st, 0);
    bool changed = self.root[0] != st.st_dev || self.root[1] != st.st_ino;
    self.root[0] = store ? st.st_dev : self.root[0];
    self.root[1] = store ? st.st_ino : self.root[1];
    return changed;
}

void hd_follow_open(void) {
    hd_credentials_open(&self.main_fd, &self.own_fd);
    (void)root_changed(true);
}

static uint64_t hash_of(const struct hd_credentials *c) {
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof *c; i++) {
        hash = (hash ^ ((const uint8_t *)c)[i]) * 0x100000001b3ULL;
    }
    return hash | 1;
}

int hd_follow_main(void) {
    struct hd_credentials main, own;
    int rc = hd_credentials_read(self.main_fd, &main);
    uint64_t hash = hash_of(&main);
    if (rc != 0 || hash == self.main) {
        return rc;
    }
    rc = hd_credentials_read(self.own_fd, &own);
    if (rc == 0 && hd_credentials_exceed(&own, &main)) {
        hd_credentials_lower(&own, &main);
        rc = hd_credentials_read(self.own_fd, &own);
    }
    bool exceeds = rc == 0 && hd_credentials_exceed(&own, &main);
    bool first = self.main == 0;
    self.filter = exceeds && (own.seccomp < main.seccomp || own.filters < main.filters);
    self.main = rc == 0 && !exceeds ? hash : 0;
    return exceeds ? -EPERM : rc == 0 ? !first : rc;
}

bool hd_follow_is_filter(void) {
    return self.filter;
}

bool hd_follow_answer(struct hd_run *r, enum hd_run_thread which, void (*confine)(void *of), void *of) {
    uint32_t number = atomic_load(&r->channel.follow_number);
    _Atomic uint32_t *answer = &r->channel.followed[which];
    if (number == self.number || (confine == NULL && root_changed(false))) {
        return false;
    }
    self.number = number;
    if (root_changed(true)) {
        confine(of);
    }
    self.main = 0; /* libc may have changed ours meanwhile, with all threads' */
    bool failed = hd_follow_main() != 0;
    atomic_store(answer, number << 1 | (uint32_t)failed);
    hd_os.futex_wake((uint32_t *)answer, INT_MAX, false);
    return true;
}

uint32_t hd_follow_request(struct hd_run *r) {
    uint32_t number = atomic_fetch_add(&r->channel.follow_number, 1) + 1;
    hd_run_wake(r);
    atomic_fetch_add_explicit(&r->channel.worker_wake, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)&r->channel.worker_wake, 1, false);
    return number;
}

/* Also where it has answered a newer one. */
static bool is_done(uint32_t answer, uint32_t number) {
    return (int32_t)(answer - (number << 1)) >= 0;
}

bool hd_follow_all(struct hd_run *r) {
    uint64_t until_ns = hd_os_now_ns() + ANSWER_NS;
    uint32_t number = hd_follow_request(r);
    bool all = true;
    for (unsigned i = 0; i < HD_RUN_THREADS; i++) {
        _Atomic uint32_t *answer = &r->channel.followed[i];
        uint32_t now;
        while (!is_done(now = atomic_load(answer), number) &&
               hd_os.futex_wait((uint32_t *)answer, now, until_ns, false) != -ETIMEDOUT) {
        }
        all &= is_done(atomic_load(answer), number) && (atomic_load(answer) & 1) == 0;
    }
    return all;
}
