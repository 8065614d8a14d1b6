/* SPDX-License-Identifier: MIT
 *
 * The request for a running thread's stack by a signal, and the thread's answer: one state machine for each
 * target. Its states:
 *
 * idle: `sequence` is 0.
 *
 * sent: the monitor has sent the signal, and waits 5 or 50 ms for the answer.
 *
 * late: no answer came. The thread is inside the kernel, or has no CPU, and the signal stays pending. The
 * monitor sends no other signal, and takes the answer later.
 *
 * forgotten: the turn is over, and its answer is of no use. The signal may still be pending.
 *
 * Two buffers serve all targets. Only watched threads write to the first, and the worker reads it in place.
 * The spare one is for stacks that the monitor copies, and for answers while the worker reads the first.
 * Monitor, but for hd_signal_request_fetch: no allocation, no lock.
 */
#ifndef HD_SIGNAL_REQUEST_H
#define HD_SIGNAL_REQUEST_H

#include "capture/linux/stack_bounds.h"
#include "capture/mailbox.h"

/* An instant by both clocks. */
struct hd_instant {
    uint64_t ticks, ns;
};

/* A signal may break a system call that the thread then makes again. After such a break the monitor sends no
 * signal for some time: twice as long after each further break. */
struct hd_back_off {
    bool on;               /* in this sample the thread gets no signal */
    uint64_t ns;           /* its length; 0: the last signals broke no call */
    uint64_t until_ns;     /* its end; 0: there was no back-off yet */
    uint64_t kernel_ticks; /* clock ticks of the thread inside the kernel, when they last grew */
    uint64_t user_ticks;   /* clock ticks of the thread in user mode at that time */
};

struct hd_signal_request {
    int signal;         /* 0: the thread gets no signal, for the program has taken the signal for itself */
    uint32_t sequence;  /* number of the request without an answer */
    uint32_t forgotten; /* number of the forgotten request, 0: none */
    bool blocks_signal; /* the thread blocked the signal, and has not been seen to unblock it */
    bool no_space;      /* at the last check the frame of a signal did not fit the thread's stack */
    bool in_place;      /* in this sample the thread may write to the first buffer */
    bool switches_known;
    uint64_t switches;         /* the thread's voluntary context switches at the last check */
    struct hd_instant sent_at; /* when the request without an answer was sent */
    struct hd_back_off back_off;
};

/* ---- once for the process ---------------------------------------------------------------------------- */

/* Maps both buffers for the life of the process. Call before the first capture. 0 or -ENOMEM. */
int hd_capture_buffers(void);
/* The signal to use from now on. 0 or -ENOMEM. */
int hd_signal_request_use(int signal);
int hd_signal_request_signal(void); /* 0: hd_signal_request_use was not called yet */
/* The number of seccomp filters under which the handler's system calls are safe. A thread with another number
 * gets no signal. */
void hd_capture_filters_are(uint64_t filters);

/* The buffer for stacks that the monitor copies. NULL: a late handler still writes to it. */
uint8_t *hd_signal_request_spare(void);
/* Brings the first buffer to the calling thread's CPU, as far as most stacks reach. A line in another CPU's
 * cache takes as long as a copy of a hundred bytes. */
void hd_signal_request_fetch(void);

/* ---- one request ------------------------------------------------------------------------------------- */

/* A sample begins. Decides about the back-off, and forgets a late answer that the monitor has not taken.
 * `in_place`: the worker has read the first buffer. */
void hd_signal_request_begin(struct hd_signal_request *r, bool in_place, const struct hd_thread_files *f,
                             struct hd_mailbox *m);
/* False: the first buffer is reserved for another target's late answer. */
bool hd_signal_request_may_be_in_place(const struct hd_signal_request *r);
/* The handler's system calls are safe under so many seccomp filters. */
bool hd_signal_request_passes(uint64_t filters);
/* False: the thread leaves, or a late handler still writes to a buffer. */
bool hd_signal_request_may_open(const struct hd_mailbox *m);

/* idle → sent. Writes the request into the mailbox and returns its number, which the signal must carry. */
uint32_t hd_signal_request_open(const struct hd_signal_request *r, struct hd_mailbox *m,
                                const struct hd_stack_bounds *b);
/* sent → idle: the kernel refused the signal. */
static inline void hd_signal_request_refused(struct hd_mailbox *m, uint32_t sequence) {
    __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_IDLE), __ATOMIC_RELAXED);
}
static inline bool hd_signal_request_has_answer(const struct hd_mailbox *m, uint32_t sequence) {
    return __atomic_load_n(&m->word, __ATOMIC_ACQUIRE) == hd_mail_word(sequence, HD_MAIL_DONE);
}
/* sent → late. False: the answer has just come. */
bool hd_signal_request_is_late(struct hd_signal_request *r, struct hd_mailbox *m, uint32_t sequence,
                               const struct hd_instant *sent_at);
/* late, or forgotten → late. The signal is pending, so the thread is where the request found it. Reserves the
 * first buffer for the answer where that is free. */
void hd_signal_request_is_pending(struct hd_signal_request *r, struct hd_mailbox *m,
                                  const struct hd_stack_bounds *b);
/* The handler is writing the late answer just now. */
bool hd_signal_request_is_answering(const struct hd_signal_request *r, const struct hd_mailbox *m);
/* late → idle, where the answer has come: it lies in the first buffer. Else false. */
bool hd_signal_request_take_late(struct hd_signal_request *r, const struct hd_mailbox *m);
/* late → forgotten. */
void hd_signal_request_forget(struct hd_signal_request *r, struct hd_mailbox *m);
/* The watch of this mailbox ends. From now on its thread may free the mailbox. */
void hd_signal_request_close(const struct hd_mailbox *m);

/* `calls` of the thread's system calls were broken by our signals so far, `before` at the last answer. */
void hd_signal_request_calls_broken(struct hd_back_off *b, uint64_t before, uint64_t calls);

#endif
