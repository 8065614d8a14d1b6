/* SPDX-License-Identifier: MIT
 *
 * The monitor requests a running thread's stack by a signal, and the thread answers. Each target has one
 * request, which is in one of these states:
 *
 * idle: `sequence` is 0.
 *
 * sent: the monitor has sent the signal, and waits 5 or 50 ms for the answer.
 *
 * late: no answer came in time. The thread is inside the kernel, or has no CPU, and the signal stays pending.
 * The monitor sends no other signal, and takes the answer later.
 *
 * forgotten: the answer is of no use any more, because the turn is over. The signal may still be pending.
 *
 * Two buffers serve all targets. Only watched threads write to the first buffer, and the worker reads it in
 * place. The spare buffer is for stacks that the monitor copies, and for answers while the worker reads the
 * first buffer. On the monitor thread, except hd_signal_request_fetch: no allocation, no lock.
 */
#ifndef HD_SIGNAL_REQUEST_H
#define HD_SIGNAL_REQUEST_H

#include "capture/mailbox.h"
#include "capture/stack_bounds.h"

/* One instant by both clocks: the CPU's tick counter and CLOCK_MONOTONIC. */
struct hd_instant {
    uint64_t ticks, ns;
};

/* A signal may interrupt a system call that the thread then makes again. After such a call the monitor sends
 * the thread no signal for some time. Each further such call doubles that time, up to about 100 s. */
struct hd_back_off {
    bool on; /* true if the thread gets no signal in this sample */
    /* the length of the back-off; 0: no back-off, since the last signals interrupted no system call */
    uint64_t ns;
    uint64_t until_ns;     /* the time when the back-off ends; 0: no back-off yet */
    uint64_t kernel_ticks; /* the number of clock ticks that the thread has spent inside the kernel */
    uint64_t user_ticks;   /* the thread's clock ticks in user mode when `kernel_ticks` last changed */
};

struct hd_signal_request {
    /* the signal by which the monitor requests a stack; 0: none, because the program uses that signal
     * itself */
    int signal;
    uint32_t sequence;  /* the number of the request that has no answer yet; 0: there is none */
    uint32_t forgotten; /* the number of the forgotten request; 0: there is none */
    /* True once a check saw that the thread blocks the signal; false again once checks see it unblocked. */
    bool blocks_signal;
    bool no_space; /* true if at the last check a signal's frame did not fit the thread's stack */
    bool in_place; /* true if the thread may write to the first buffer in this sample */
    bool switches_known;
    uint64_t switches;         /* the number of the thread's voluntary context switches at the last check */
    struct hd_instant sent_at; /* the time when the request without an answer was sent */
    struct hd_back_off back_off;
};

/* ---- once for the process ---------------------------------------------------------------------------- */

/* Maps both buffers for the life of the process. Call this before the first capture. Returns 0 or -ENOMEM. */
int hd_capture_buffers(void);
/* Sets the signal by which the monitor requests stacks from now on. Returns 0 or -ENOMEM. */
int hd_signal_request_use(int signal);
int hd_signal_request_signal(void); /* returns the signal of hd_signal_request_use; 0: none was set yet */
/* Sets the number of seccomp filters under which the handler's system calls are safe. A thread whose number
 * of filters differs gets no signal. */
void hd_capture_filters_are(uint64_t filters);

/* Returns the spare buffer. NULL: a handler still writes to the buffer, although that handler's request is
 * over. */
uint8_t *hd_signal_request_spare(void);
/* Fetches the part of the first buffer that most stacks need into the cache of the calling thread's CPU.
 * Without this call, the handler's copy must fetch these cache lines from another CPU. Each line then
 * takes as long as a copy of a hundred bytes. On the watched thread. */
void hd_signal_request_fetch(void);

/* ---- one request ------------------------------------------------------------------------------------- */

/* Call this at the start of a sample. Sets back_off.on, and forgets an answer that came too late for the
 * last sample. `in_place`: the handler may write to the first buffer, since the worker no longer reads it. */
void hd_signal_request_begin(struct hd_signal_request *r, bool in_place, const struct hd_thread_files *f,
                             struct hd_mailbox *m);
/* Returns whether this request's answer may go to the first buffer: false if that buffer is reserved for
 * another target's late answer. */
bool hd_signal_request_may_be_in_place(const struct hd_signal_request *r);
/* Returns whether the handler's system calls are safe in a thread with this number of seccomp filters. */
bool hd_signal_request_passes(uint64_t filters);
/* Returns whether the monitor may open a new request. False if the thread has ended its watch, or if a
 * handler still writes to a buffer although that handler's request is over. */
bool hd_signal_request_may_open(const struct hd_mailbox *m);

/* Changes the request's state from idle to sent. Writes the request into the mailbox and returns the
 * request's number, which the signal must carry. */
uint32_t hd_signal_request_open(const struct hd_signal_request *r, struct hd_mailbox *m,
                                const struct hd_stack_bounds *b);
/* Changes the request's state from sent back to idle, because the kernel refused the signal. */
static inline void hd_signal_request_refused(struct hd_mailbox *m, uint32_t sequence) {
    __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_IDLE), __ATOMIC_RELAXED);
}
static inline bool hd_signal_request_has_answer(const struct hd_mailbox *m, uint32_t sequence) {
    return __atomic_load_n(&m->word, __ATOMIC_ACQUIRE) == hd_mail_word(sequence, HD_MAIL_DONE);
}
/* Changes the request's state from sent to late. Cancels a request for the spare buffer, since only the
 * first buffer can keep a late answer. Also cancels a request to a thread that ends its watch. Returns
 * false if the answer to a request to cancel has just come: the caller must read that answer at once. */
bool hd_signal_request_is_late(struct hd_signal_request *r, struct hd_mailbox *m, uint32_t sequence,
                               const struct hd_instant *sent_at);
/* Call this when the request's signal is pending. The thread has then run none of the program's code since
 * the request, so the thread's stack has not changed since. Changes the request's state from forgotten to
 * late. Reserves the first buffer for the answer, if that buffer is free. */
void hd_signal_request_is_pending(struct hd_signal_request *r, struct hd_mailbox *m,
                                  const struct hd_stack_bounds *b);
/* Returns whether the handler has started to write the answer of a late request. */
bool hd_signal_request_is_answering(const struct hd_signal_request *r, const struct hd_mailbox *m);
/* If the answer has come, changes the request's state from late to idle and returns true. The answer is in
 * the first buffer. Otherwise returns false and changes nothing. */
bool hd_signal_request_take_late(struct hd_signal_request *r, const struct hd_mailbox *m);
/* Changes the request's state from late to forgotten, because the answer is of no use any more. */
void hd_signal_request_forget(struct hd_signal_request *r, struct hd_mailbox *m);
/* Call this when the watch of this mailbox ends. After that the watched thread may free the mailbox. */
void hd_signal_request_close(const struct hd_mailbox *m);

/* Updates a thread's back-off after its handler has answered. `calls` is the number of the thread's system
 * calls that our signals have interrupted so far. `before` is that number at the last answer. */
void hd_signal_request_calls_broken(struct hd_back_off *b, uint64_t before, uint64_t calls);

#endif
