/* SPDX-License-Identifier: MIT
 *
 * A slot's state is one 64-bit word. It has the address that the slot's thread waits for. The two lowest
 * bits, which are 0 in an address, say whether the thread still waits or was woken. So a waker changes "waits
 * for this address" to "woken" in one step. If the slot has another address by then, the step fails.
 *
 * Only the waker that made this step signals the semaphore, once. If the waiter's time ends just then, the
 * signal comes later, while the slot's next user sleeps. That user's state says that no waker has come, so it
 * waits again.
 */
#include "os/darwin/wait.h"

#include <errno.h>
#include <stdatomic.h>

#include "os/darwin/mach.h"
#include "os/os.h"

#define POLL_NS (1 * HD_NS_PER_MS)
#define SIGNAL_TRIES 8u

enum {
    FREE = 0,
    CLAIMED = 1, /* without an address: a thread fills or empties the slot */
    WAITS = 2,
    WOKEN = 3,
    STATES = 3 /* the bits */
};

static struct {
    _Atomic uint64_t state[HD_WAIT_SLOTS];
    _Atomic uint32_t semaphore[HD_WAIT_SLOTS]; /* hd_port, made by a slot's first user; lives on */
    _Atomic uint32_t used;                     /* slots from here on were never used */
    _Atomic uint32_t polls;                    /* hd_port: the semaphore that no thread signals */
} table;

/* Returns the semaphore in `place`, and makes it if it is missing. 0: the system refuses. */
static hd_port semaphore_of(_Atomic uint32_t *place) {
    hd_port made = atomic_load(place), none = 0;
    if (made == 0 && hd_mach.semaphore_new(&made) == 0 &&
        !atomic_compare_exchange_strong(place, &none, made)) {
        hd_mach.semaphore_free(made);
        made = none; /* another thread's, which came first */
    }
    return made;
}

/* Returns a slot for the calling thread, or HD_WAIT_SLOTS. */
static uint32_t claim(void) {
    for (uint32_t i = 0; i < HD_WAIT_SLOTS; i++) {
        uint64_t state = FREE;
        if (atomic_load_explicit(&table.state[i], memory_order_relaxed) == FREE &&
            atomic_compare_exchange_strong(&table.state[i], &state, CLAIMED)) {
            uint32_t used = atomic_load(&table.used);
            while (used <= i && !atomic_compare_exchange_weak(&table.used, &used, i + 1)) {
            }
            return i;
        }
    }
    return HD_WAIT_SLOTS;
}

/* Sleeps for at most a millisecond. Returns as if a signal had come, so that the caller checks its word. */
static int poll_word(const uint32_t *word, uint32_t expected, uint64_t until_ns) {
    uint64_t now_ns = hd_os_now_ns();
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != expected) {
        return -EAGAIN;
    }
    if (now_ns >= until_ns) {
        return -ETIMEDOUT;
    }
    hd_port semaphore = semaphore_of(&table.polls);
    uint64_t next_ns = until_ns - now_ns < POLL_NS ? until_ns : now_ns + POLL_NS;
    if (semaphore != 0) {
        (void)hd_mach.semaphore_wait(semaphore, next_ns);
    }
    return -EINTR;
}

/* Sleeps until a waker takes the slot. */
static int sleep_in(uint32_t slot, hd_port semaphore, uint64_t until_ns) {
    for (;;) {
        int rc = hd_mach.semaphore_wait(semaphore, until_ns);
        if ((atomic_load(&table.state[slot]) & STATES) == WOKEN) {
            return 0;
        }
        if (rc != 0) {
            return rc;
        }
        /* the signal was for the slot's user before */
    }
}

int hd_wait_until_woken(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared) {
    uint32_t slot = shared ? HD_WAIT_SLOTS : claim();
    hd_port semaphore = slot < HD_WAIT_SLOTS ? semaphore_of(&table.semaphore[slot]) : 0;
    int rc;
    if (semaphore == 0) {
        if (slot < HD_WAIT_SLOTS) {
            atomic_store(&table.state[slot], FREE);
        }
        return poll_word(word, expected, until_ns);
    }
    /* The slot's store comes before the load of the word, and a waker changes the word before it loads the
     * slot. So at least one of the two threads sees the other. */
    atomic_store(&table.state[slot], (uint64_t)(uintptr_t)word | WAITS);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != expected) {
        rc = -EAGAIN;
    } else {
        rc = sleep_in(slot, semaphore, until_ns);
    }
    uint64_t last = atomic_exchange(&table.state[slot], FREE);
    return (last & STATES) == WOKEN && rc != -EAGAIN ? 0 : rc;
}

/* Signals again if the system refuses: no other waker signals this waiter, which would sleep for ever. */
static void signal_waiter(hd_port semaphore) {
    for (unsigned i = 0; i < SIGNAL_TRIES && hd_mach.semaphore_signal(semaphore) != 0; i++) {
    }
}

int hd_wait_wake(uint32_t *word, int count, bool shared) {
    uint64_t waits = (uint64_t)(uintptr_t)word | WAITS;
    int woken = 0;
    (void)shared;
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0, used = atomic_load(&table.used); i < used && woken < count; i++) {
        uint64_t state = waits;
        if (atomic_load(&table.state[i]) == waits &&
            atomic_compare_exchange_strong(&table.state[i], &state, (uint64_t)(uintptr_t)word | WOKEN)) {
            signal_waiter(atomic_load(&table.semaphore[i])); /* a slot that waits has one */
            woken++;
        }
    }
    return woken;
}

void hd_wait_forget(void) {
    for (uint32_t i = 0; i < HD_WAIT_SLOTS; i++) {
        atomic_store(&table.state[i], FREE);
        atomic_store(&table.semaphore[i], 0);
    }
    atomic_store(&table.polls, 0);
}
