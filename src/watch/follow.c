/* SPDX-License-Identifier: MIT */
#include "watch/follow.h"

#include <errno.h>
#include <limits.h>

#include "base/hash.h"

#define CHANGE_NS (2 * HD_NS_PER_MS) /* a change of ids is shorter */
#define LOOKS_MAX 50
#define ANSWER_NS (150 * HD_NS_PER_MS) /* beyond that the worker is at a disk */

/* Each thread's own: its descriptors are of its table. */
static __thread struct {
    int main_fd, own_fd; /* `status` of the main thread, and of its own; less than zero: no /proc */
    uint32_t number;     /* of the newest request that it has answered */
    bool filter;
    uint64_t main;    /* a hash of the rights to which it has come down; 0: it has not */
    uint64_t root[2]; /* device and inode */
} self;

void hd_follow_open(void) {
    hd_credentials_open(&self.main_fd, &self.own_fd);
    (void)hd_credentials_have_root(self.root, true);
}

_Atomic uint32_t hd_follow_id_changes;

/* libc has one thread after the other change its ids, and ends the process where not all can. So none of ours
 * comes down while the main thread may be only the first that has. */
static bool is_passing(unsigned looks, bool at_once) {
    bool changes = atomic_load(&hd_follow_id_changes) != 0; /* after both were read */
    bool passing = looks < LOOKS_MAX && (changes || (!at_once && looks == 0));
    if (passing) {
        hd_os_nap(CHANGE_NS);
    }
    return passing;
}

int hd_follow_main(bool at_once) {
    struct hd_credentials main, own;
    bool exceeds, first = self.main == 0;
    uint64_t hash;
    unsigned looks = 0;
    do {
        int rc = hd_credentials_read(self.main_fd, &main);
        hash = hd_hash(HD_HASH_BEGIN, &main, sizeof main) | 1;
        if (rc != 0 || hash == self.main) {
            return rc;
        }
        rc = hd_credentials_read(self.own_fd, &own);
        if (rc != 0) {
            return rc;
        }
        exceeds = hd_credentials_exceed(&own, &main);
    } while (exceeds && is_passing(looks++, at_once));
    if (exceeds && atomic_load(&hd_follow_id_changes) == 0) {
        hd_credentials_lower(&own, &main);
        exceeds = hd_credentials_read(self.own_fd, &own) != 0 || hd_credentials_exceed(&own, &main);
    }
    self.filter = exceeds && (own.seccomp < main.seccomp || own.filters < main.filters);
    self.main = exceeds ? 0 : hash;
    return exceeds ? -EPERM : !first;
}

bool hd_follow_is_filter(void) {
    return self.filter;
}

bool hd_follow_answer(struct hd_run *r, enum hd_run_thread which, void (*confine)(void *of), void *of) {
    uint32_t number = atomic_load(&r->channel.follow_number);
    _Atomic uint32_t *answer = &r->channel.followed[which];
    if (number == self.number || (confine == NULL && !hd_credentials_have_root(self.root, false))) {
        return false;
    }
    self.number = number;
    if (!hd_credentials_have_root(self.root, true) && confine != NULL) {
        confine(of);
    }
    self.main = 0; /* libc may have changed ours meanwhile, with all threads' */
    bool failed = hd_follow_main(true) != 0;
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
