/* SPDX-License-Identifier: MIT
 *
 * The states of a request for a stack, and the functions by which the monitor changes them. On the monitor
 * thread: no allocation, no lock.
 */
#include "capture/linux/signal_request.h"

#include <errno.h>
#include <string.h>

#include "capture/arch/machine.h"
#include "os/os.h"

#define BYTES HD_STACK_BYTES_MAX
#define FETCHED_BYTES (16u * 1024u)
#define CACHE_LINE 64u
/* The length of a back-off, during which a thread gets no signal from us. Without back-offs, our signals
 * could interrupt the same system call again and again, and the thread would never finish it. */
#define BACK_OFF_NS (100 * HD_NS_PER_MS) /* the back-off after the first interrupted system call */
#define BACK_OFF_MAX_NS (100 * HD_NS_PER_S)
/* this many clock ticks in user mode, and none inside the kernel, suspend a back-off: 100 ms, as a tick of
 * USER_HZ lasts 10 ms */
#define USER_TICKS 10

/* The state that all targets share. The buffers belong to the library, not to the caller of a capture,
 * because they must stay mapped. A handler may be preempted in mid-copy, and write to its buffer after the
 * monitor has given up on the answer. */
static struct {
    uint8_t *first, *spare;
    int signal;
    /* The mailbox of a handler that is still copying although its request is over; NULL: there is no such
     * handler. */
    const struct hd_mailbox *copying;
    /* The number of the newest request, whichever target it is for. */
    uint32_t sequence;
    /* The request whose late answer goes to `first`; NULL: `first` is not reserved. */
    const struct hd_signal_request *in_first;
    /* The number of seccomp filters that were in force when the handler's system calls last proved safe. A
     * thread with another number of filters gets no signal. */
    uint64_t filters;
} shared;

static int take_buffers(void) {
    if (shared.first == NULL) {
        uint8_t *bytes = hd_os_memory_take(2 * (size_t)BYTES);
        if (bytes == NULL) {
            return -ENOMEM;
        }
        /* Touch all pages of both buffers, because a page fault in the handler would take longer than the
         * copy. */
        memset(bytes, 0xff, 2 * (size_t)BYTES);
        shared.first = bytes;
        shared.spare = bytes + BYTES;
    }
    return 0;
}

int hd_capture_buffers(void) {
    /* A forked child inherits a pointer to its parent's request. Clear it, because the child has no such
     * request. */
    shared.in_first = NULL;
    return take_buffers();
}

int hd_signal_request_use(int signal) {
    int rc = take_buffers();
    shared.signal = rc == 0 ? signal : 0;
    return rc;
}

int hd_signal_request_signal(void) {
    return shared.signal;
}

void hd_capture_filters_are(uint64_t filters) {
    shared.filters = filters;
}

void hd_signal_request_fetch(void) {
    const uint8_t *bytes = __atomic_load_n(&shared.first, __ATOMIC_RELAXED);
    for (unsigned i = 0; bytes != NULL && i < FETCHED_BYTES; i += CACHE_LINE) {
        hd_machine_fetch(bytes + i);
    }
}

/* ---- the mailbox's word ------------------------------------------------------------------------------ */

static enum hd_mail_phase phase_of(uint64_t word) {
    return (enum hd_mail_phase)(word & 3);
}

static enum hd_mail_phase phase_now(const struct hd_mailbox *m) {
    return phase_of(__atomic_load_n(&m->word, __ATOMIC_ACQUIRE));
}

/* Returns the buffer to which a handler still writes an answer that is no longer expected; NULL if there is
 * none. */
static const uint8_t *copying_buffer(void) {
    if (shared.copying != NULL && phase_now(shared.copying) != HD_MAIL_COPYING) {
        shared.copying = NULL;
    }
    return shared.copying != NULL ? shared.copying->bytes : NULL;
}

static void put_request(struct hd_mailbox *m, uint32_t sequence, uint8_t *bytes,
                        const struct hd_stack_bounds *b) {
    m->bytes = bytes;
    hd_stack_bounds_share(b, m);
    __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_REQUESTED), __ATOMIC_RELEASE);
}

/* Cancels the request. A handler that has not started then writes no answer. A handler that is copying
 * finishes, but the monitor does not read its answer. Returns false if the answer has already come. */
static bool cancel(struct hd_mailbox *m, uint32_t sequence) {
    uint64_t request = hd_mail_word(sequence, HD_MAIL_REQUESTED);
    if (__atomic_compare_exchange_n(&m->word, &request, hd_mail_word(sequence, HD_MAIL_IDLE), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return true;
    }
    if (phase_of(request) == HD_MAIL_DONE) {
        return false;
    }
    shared.copying = m; /* the handler has started, and is still copying */
    return true;
}

static bool is_leaving(const struct hd_mailbox *m) {
    return __atomic_load_n(&m->ended, __ATOMIC_RELAXED) != 0;
}

uint8_t *hd_signal_request_spare(void) {
    return copying_buffer() != shared.spare ? shared.spare : NULL;
}

/* ---- the states -------------------------------------------------------------------------------------- */

bool hd_signal_request_may_be_in_place(const struct hd_signal_request *r) {
    return shared.in_first == NULL || shared.in_first == r;
}

bool hd_signal_request_passes(uint64_t filters) {
    return filters == shared.filters && filters != HD_FILTERS_UNKNOWN;
}

bool hd_signal_request_may_open(const struct hd_mailbox *m) {
    return shared.first != NULL && copying_buffer() == NULL && !is_leaving(m);
}

uint32_t hd_signal_request_open(const struct hd_signal_request *r, struct hd_mailbox *m,
                                const struct hd_stack_bounds *b) {
    uint32_t sequence = ++shared.sequence;
    put_request(m, sequence, r->in_place ? shared.first : shared.spare, b);
    return sequence;
}

bool hd_signal_request_is_late(struct hd_signal_request *r, struct hd_mailbox *m, uint32_t sequence,
                               const struct hd_instant *sent_at) {
    bool stays = r->in_place && !is_leaving(m);
    if (!stays && !cancel(m, sequence)) {
        return false;
    }
    shared.in_first = stays ? r : shared.in_first;
    r->sequence = sequence;
    r->sent_at = *sent_at;
    return true;
}

void hd_signal_request_is_pending(struct hd_signal_request *r, struct hd_mailbox *m,
                                  const struct hd_stack_bounds *b) {
    r->sequence = r->sequence != 0 ? r->sequence : r->forgotten;
    if (r->in_place && r->sequence != 0 && shared.in_first == NULL && shared.first != NULL &&
        copying_buffer() == NULL && !is_leaving(m)) {
        shared.in_first = r;
        put_request(m, r->sequence, shared.first, b);
    }
}

bool hd_signal_request_is_answering(const struct hd_signal_request *r, const struct hd_mailbox *m) {
    return r->sequence != 0 && shared.in_first == r && phase_now(m) != HD_MAIL_REQUESTED;
}

bool hd_signal_request_take_late(struct hd_signal_request *r, const struct hd_mailbox *m) {
    if (r->sequence == 0 || shared.in_first != r || !hd_signal_request_has_answer(m, r->sequence)) {
        return false;
    }
    shared.in_first = NULL;
    r->sequence = 0;
    return true;
}

void hd_signal_request_forget(struct hd_signal_request *r, struct hd_mailbox *m) {
    if (r->sequence == 0) {
        /* No request was sent. The worker captures threads that are not watched: they get no signal. */
        return;
    }
    if (shared.in_first == r) {
        shared.in_first = NULL;
        (void)cancel(m, r->sequence);
    }
    r->forgotten = r->sequence;
    r->sequence = 0;
}

/* If the mailbox's handler is still copying, gives up both buffers. They stay mapped for that handler, and
 * the next start of a run maps new ones. */
void hd_signal_request_close(const struct hd_mailbox *m) {
    if (m != NULL && copying_buffer() != NULL && shared.copying == m) {
        shared.copying = NULL;
        /* The store is atomic, because hd_signal_request_fetch reads the pointer on other threads. */
        __atomic_store_n(&shared.first, NULL, __ATOMIC_RELAXED);
        shared.spare = NULL;
    }
}

/* ---- back-off ---------------------------------------------------------------------------------------- */

/* Returns whether the thread ran in user mode for USER_TICKS or more, without one tick inside the kernel. */
static bool stays_in_user_mode(struct hd_back_off *b, const struct hd_thread_files *f) {
    struct hd_proc_stat stat;
    if (hd_thread_files_stat(f, &stat) != 0) {
        return false;
    }
    uint64_t user = stat.ticks_outside, kernel = stat.ticks_inside;
    if (kernel != b->kernel_ticks || user < b->user_ticks) {
        b->kernel_ticks = kernel;
        b->user_ticks = user;
    }
    /* A longer back-off requires more ticks, because the kernel only estimates how a thread's ticks divide
     * into user mode and kernel. The kernel lets neither number fall. So if one number was estimated too
     * high, only the other grows for a while. */
    return user - b->user_ticks >= USER_TICKS + b->ns / HD_NS_PER_S;
}

void hd_signal_request_begin(struct hd_signal_request *r, bool in_place, const struct hd_thread_files *f,
                             struct hd_mailbox *m) {
    struct hd_back_off *b = &r->back_off;
    b->on = b->until_ns != 0 && hd_os_now_ns() < b->until_ns && !stays_in_user_mode(b, f);
    if (r->sequence != 0 && shared.in_first == r && hd_signal_request_has_answer(m, r->sequence)) {
        hd_signal_request_forget(r, m);
    }
    r->in_place = in_place && hd_signal_request_may_be_in_place(r);
}

void hd_signal_request_calls_broken(struct hd_back_off *b, uint64_t before, uint64_t calls) {
    if (calls == before) {
        /* Our signals have interrupted no call since the last answer. Shrink the back-off slowly, because
         * the next signal may still interrupt a call. */
        b->ns = b->ns > BACK_OFF_NS ? b->ns - b->ns / 4 : 0;
        return;
    }
    if (b->ns < BACK_OFF_MAX_NS) {
        b->ns = b->ns == 0 ? BACK_OFF_NS : 2 * b->ns;
    }
    b->until_ns = hd_os_now_ns() + b->ns;
    /* The thread has just been inside the kernel, so stays_in_user_mode must count the thread's ticks
     * anew. */
    b->kernel_ticks = UINT64_MAX;
}
