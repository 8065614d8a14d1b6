/* SPDX-License-Identifier: MIT
 *
 * A thread that can be captured: its open files, and what earlier captures have found out. The monitor has
 * one target for each watched thread. The worker and `hangdog dump` make one for a single capture.
 */
#ifndef HD_TARGET_H
#define HD_TARGET_H

#include "capture/linux/signal_request.h"
#include "capture/linux/stack_bounds.h"
#include "capture/linux/thread_clock.h"
#include "capture/linux/thread_files.h"
#include "capture/mailbox.h"

struct hd_target;

/* A method to take one sample. Its results:
 *
 * 0: *out is filled.
 *
 * -EAGAIN: no answer. hd_capture_take tries the next method, and all of them again a moment later.
 *
 * -EBUSY: no answer, and another try in this sample is useless.
 *
 * -ETIMEDOUT: the same as -EBUSY. `at_ns` and `sched` of *out say when and how the method found the thread.
 *
 * -ESRCH: the thread has ended.
 *
 * Before the call `at_ns` and `sched` are those of the attempt, and all other members are zero. A method that
 * returns -EAGAIN leaves these two unchanged. */
struct hd_capture_method {
    char name[16];
    int (*take)(struct hd_target *t, struct hd_capture *out);
};

/* Totals of a target's captures since it was opened. */
struct hd_capture_cost {
    uint64_t samples;              /* captures that gave a stack, or proved the earlier one */
    uint64_t signals;              /* sent */
    uint64_t restarted_syscalls;   /* broken by our signal; the handler made the thread call again */
    uint64_t interrupted_syscalls; /* broken or cut short by our signal, perhaps, and not repaired */
    uint64_t pause_max_ns;         /* in the handler, by its own clock */
    uint64_t pause_total_ns;
};

/* The newest frozen capture. The stack is unchanged as long as the thread's statistics equal `sched`. */
struct hd_last_frozen {
    bool valid;
    uint8_t state; /* enum hd_run_state */
    int32_t syscall_nr;
    struct hd_sched sched;
    uint64_t pc, sp;
    uint64_t args[6];
};

/* The thread's waits, as earlier captures have found them. */
struct hd_thread_waits {
    uint64_t at_ns, slices; /* time and slices at the capture before; slices 0: no capture yet */
    uint64_t argument;      /* first argument of call `syscall_nr` */
    int32_t syscall_nr;
    bool known;    /* in that call the thread waits in `state` */
    uint8_t state; /* enum hd_run_state */
    uint8_t tries; /* captures of unknown calls so far */
    bool often;    /* the thread waits often and briefly; the method caught may try once in this sample */
};

/* The methods of this system; capture/linux/method.h lists them. */
extern const struct hd_capture_method hd_methods[];

/* Set all members to zero. For a watched thread set `watched`, `mailbox` and request.signal too. Then open.
 */
struct hd_target {
    hd_thread_id thread;
    bool watched;      /* false: no signal is sent, and no plain load reads the stack */
    uint32_t capacity; /* bytes of `copy_to`; 0: HD_STACK_BYTES_MAX */
    uint8_t *copy_to;  /* the caller's buffer for a stack; NULL: the library's spare buffer */
    /* In the order of a sample; a row of zeros ends them. NULL: hd_target_open stores hd_methods. */
    const struct hd_capture_method *methods;
    struct hd_thread_files files;
    struct hd_thread_clock clock; /* statistics at the start of this attempt */
    struct hd_stack_bounds bounds;
    struct hd_last_frozen last;
    struct hd_thread_waits waits;
    struct hd_signal_request request;
    struct hd_mailbox *mailbox; /* NULL: not watched */
    struct hd_capture_cost cost;
};

/* Opens the files of a thread and finds its stack. The caller's descriptor table keeps the files, so each of
 * our threads has its own targets. The result is 0, or the error of opening `syscall`. In both cases the
 * caller must close the target. */
int hd_target_open(struct hd_target *t, hd_thread_id thread);
void hd_target_close(struct hd_target *t);

/* Sleeps. The second function says how long all captures have slept so far. Monitor. */
void hd_capture_nap(uint64_t ns);
uint64_t hd_capture_napped_ns(void);

/* The worker did not get the newest capture, so the next one must not be proven by it. */
static inline void hd_target_forget_last(struct hd_target *t) {
    t->last.valid = false;
}

#endif
