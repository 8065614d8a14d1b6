/* SPDX-License-Identifier: MIT */
#include "watch/follow.h"

#include <errno.h>

#include "base/hash.h"
#include "watch/futex.h"

/* The time between two checks of is_passing. In this time libc can change the user or group ids of all
 * threads. */
#define CHANGE_NS (2 * HD_NS_PER_MS)
#define CHECKS_MAX 50
/* The longest time for which hd_follow_all blocks its caller until the monitor and the worker have answered.
 * If the worker needs longer, a disk blocks it. */
#define ANSWER_NS (150 * HD_NS_PER_MS)

/* These variables are thread-local, because the monitor and the worker have one descriptor table each. A
 * descriptor is valid only in the table of the thread that opened it. */
static __thread struct {
    /* the descriptors of the `status` files in /proc of the main thread and of this thread; negative: the
     * file could not be opened */
    int main_fd, own_fd;
    /* the number of the newest request (hd_follow_request) that this thread has answered */
    uint32_t answered;
    bool filter; /* the result of hd_follow_is_filter */
    /* The hash of the main thread's credentials at this thread's last comparison of them with its own. It is
     * set if this thread had no more rights than the main thread. 0: this thread had more rights, or must
     * compare again. */
    uint64_t main;
    uint64_t root[2]; /* device and inode of the root folder, as this thread read them last */
} self;

void hd_follow_open(void) {
    hd_credentials_open(&self.main_fd, &self.own_fd);
    (void)hd_credentials_have_root(self.root, true);
}

_Atomic uint32_t hd_follow_id_changes;

/* Returns true if libc may still be changing the user or group ids of all threads. Sleeps before it returns
 * true, so that the caller can check again. After CHECKS_MAX checks it returns false. To change the ids, libc
 * makes one thread after the other do so, and ends the process if a thread lacks the right. Hangdog's threads
 * would lack it if they gave up rights too early. So they keep their rights until libc has changed their ids
 * too. libc may change the main thread's ids before theirs. */
static bool is_passing(unsigned checks, bool at_once) {
    /* The caller has read the credentials of the main thread and of this thread before this load. So the load
     * also sees a change of ids that started during those reads. */
    bool changes = atomic_load(&hd_follow_id_changes) != 0;
    bool passing = checks < CHECKS_MAX && (changes || (!at_once && checks == 0));
    if (passing) {
        hd_os_nap(CHANGE_NS);
    }
    return passing;
}

int hd_follow_main(bool at_once) {
    struct hd_credentials main, own;
    bool exceeds, first = self.main == 0;
    uint64_t hash;
    unsigned checks = 0;
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
    } while (exceeds && is_passing(checks++, at_once));
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
    uint32_t number = atomic_load(&r->channel.follow.requests);
    _Atomic uint32_t *answer = &r->channel.follow.answered[which];
    if (number == self.answered || (confine == NULL && !hd_credentials_have_root(self.root, false))) {
        return false;
    }
    self.answered = number;
    if (!hd_credentials_have_root(self.root, true) && confine != NULL) {
        confine(of);
    }
    /* 0 makes hd_follow_main compare the credentials again, because libc may have changed this thread's ids
     * too */
    self.main = 0;
    bool failed = hd_follow_main(true) != 0;
    atomic_store(answer, number << 1 | (uint32_t)failed);
    hd_futex_wake_all(answer);
    return true;
}

uint32_t hd_follow_request(struct hd_run *r) {
    uint32_t number = atomic_fetch_add(&r->channel.follow.requests, 1) + 1;
    hd_run_wake(r);
    hd_futex_add_and_wake(&r->channel.worker_wake);
    return number;
}

/* Returns whether `answer` is the answer to request `number` or to a newer request. */
static bool is_done(uint32_t answer, uint32_t number) {
    return (int32_t)(answer - (number << 1)) >= 0;
}

bool hd_follow_all(struct hd_run *r) {
    uint64_t until_ns = hd_os_now_ns() + ANSWER_NS;
    uint32_t number = hd_follow_request(r);
    bool all = true;
    for (unsigned i = 0; i < HD_RUN_THREADS; i++) {
        _Atomic uint32_t *answer = &r->channel.follow.answered[i];
        uint32_t now;
        while (!is_done(now = atomic_load(answer), number) &&
               hd_os.futex_wait((uint32_t *)answer, now, until_ns, false) != -ETIMEDOUT) {
        }
        all &= is_done(atomic_load(answer), number) && (atomic_load(answer) & 1) == 0;
    }
    return all;
}
