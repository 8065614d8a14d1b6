/* SPDX-License-Identifier: MIT
 *
 * A target is a thread that can be captured: its open files of /proc, and what earlier captures found out
 * about it. The monitor has one target for each watched thread. The worker and `hangdog dump` make a target
 * for a single capture.
 */
#ifndef HD_TARGET_H
#define HD_TARGET_H

#include "capture/arch/signal_request.h"
#include "capture/mailbox.h"
#include "capture/stack_bounds.h"
#include "capture/thread_clock.h"

struct hd_target;

/* A capture method tries to take one sample. Its results:
 *
 * 0: *out is filled.
 *
 * -EAGAIN, or an error that is not in this list: no stack. hd_capture_take tries the next method and, a
 * moment later, all methods again.
 *
 * -EBUSY: no stack, and more attempts in this sample are useless. hd_capture_take takes the last method.
 *
 * -ETIMEDOUT: like -EBUSY, but an answer may still come. out->at_ns and out->sched have the time and the
 * statistics of the request.
 *
 * -ESRCH: the thread has ended.
 *
 * The caller sets out->at_ns and out->sched at the start of the attempt, and clears all other members. A
 * method that returns -EAGAIN leaves these two members unchanged, except that sched.cpu_ns may be newer. */
struct hd_capture_method {
    char name[16];
    int (*take)(struct hd_target *t, struct hd_capture *out);
};

/* Totals of a target's captures since the target was opened. */
struct hd_capture_cost {
    /* The number of captures that gave a stack, or proved the earlier stack unchanged. */
    uint64_t samples;
    /* The number of signals that the monitor sent to the thread. */
    uint64_t signals;
    /* The number of system calls that our signals interrupted and our handler repeated. */
    uint64_t restarted_syscalls;
    /* The number of system calls that our signals may have ended or cut short, and the handler did not
     * repair. */
    uint64_t interrupted_syscalls;
    /* The longest time, and the sum of all times, that the thread spent in our handler. */
    uint64_t pause_max_ns;
    uint64_t pause_total_ns;
};

/* The newest frozen capture. Its stack is still the thread's stack as long as the thread's statistics equal
 * `sched`. */
struct hd_last_frozen {
    bool valid;
    uint8_t state; /* enum hd_run_state */
    int32_t syscall_nr;
    struct hd_sched sched;
    uint64_t pc, sp;
    uint64_t args[6];
};

/* The findings of earlier captures about how the thread blocks in the kernel. */
struct hd_thread_waits {
    /* The time and sched.slices of the previous capture; `slices` is 0 before the first capture. */
    uint64_t at_ns, slices;
    /* The system call in which a capture last found out the thread's state, and the call's first argument. */
    uint64_t argument;
    int32_t syscall_nr;
    /* True once `syscall_nr` is known; `state` (enum hd_run_state) is the thread's state in that call. */
    bool known;
    uint8_t state;
    /* The number of captures in system calls in which the thread's state is not known yet. Every second
     * one of these captures reads the thread's file `stat` before it copies the stack. */
    uint8_t tries;
    /* True if the thread blocks often and briefly, so that the method caught may try once in this sample. */
    bool often;
};

/* The system's capture methods, in the order of a sample; linux/method.h and darwin/method.h explain them. */
extern const struct hd_capture_method hd_methods[];

/* The caller sets all members to zero. For a watched thread the caller then sets `watched`, `mailbox` and
 * request.signal. After that it calls hd_target_open. */
struct hd_target {
    hd_thread_id thread;
    bool watched;      /* false: captures send no signal, and read the stack only by system calls */
    uint32_t capacity; /* the size of `copy_to` in bytes; 0 means HD_STACK_BYTES_MAX */
    /* the caller's buffer for the stack; NULL: captures use the spare buffer of signal_request.h */
    uint8_t *copy_to;
    /* The methods in the order of a sample; a row of zeros ends the array. If `methods` is NULL,
     * hd_target_open stores hd_methods. */
    const struct hd_capture_method *methods;
    struct hd_thread_files files;
    struct hd_thread_clock clock; /* the scheduling statistics at the start of the current attempt */
    struct hd_stack_bounds bounds;
    struct hd_last_frozen last;
    struct hd_thread_waits waits;
    struct hd_signal_request request;
    struct hd_mailbox *mailbox; /* NULL if the thread is not watched */
    struct hd_capture_cost cost;
};

/* Opens the thread's files in /proc and finds the bounds of the thread's stack. The files belong to the
 * calling thread's private descriptor table, so only that thread may use the target. Returns 0, or the error
 * of opening the thread's file `syscall`. In both cases the caller must close the target. */
int hd_target_open(struct hd_target *t, hd_thread_id thread);
void hd_target_close(struct hd_target *t);

/* hd_capture_nap sleeps for `ns`. hd_capture_napped_ns returns how long all captures together have slept so
 * far. On the monitor thread. */
void hd_capture_nap(uint64_t ns);
uint64_t hd_capture_napped_ns(void);

/* Forgets the newest frozen capture, so that the next capture copies the stack again. Call this if the worker
 * did not get that frozen capture's stack. */
static inline void hd_target_forget_last(struct hd_target *t) {
    t->last.valid = false;
}

#endif
