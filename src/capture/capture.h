/* SPDX-License-Identifier: MIT
 *
 * One thread's registers and stack bytes at one instant, by the first rung of the ladder that works:
 * frozen (blocked: read in place, no signal), signalled (running: our handler copies), kernel (no answer).
 * Nothing here allocates, locks or looks anything up on the watched thread.
 */
#ifndef HD_CAPTURE_H
#define HD_CAPTURE_H

#include "base/types.h"
#include "os/thread_id.h"

#define HD_STACK_BYTES_MAX (64u * 1024u) /* most that one capture copies */

/* Figures of the capture itself, summed since the target was opened. */
struct hd_capture_cost {
    uint64_t samples;              /* captures that gave a stack, or proved the one before */
    uint64_t signals;              /* sent */
    uint64_t restarted_syscalls;   /* broken by our signal and moved back by the handler */
    uint64_t interrupted_syscalls; /* broken, or perhaps cut short, seen, and not mended */
    uint64_t pause_max_ns;         /* in the handler, by its own clock */
    uint64_t pause_total_ns;
};

struct hd_mailbox; /* what the handler and the monitor share; in capture/mailbox.h */

/* What the last frozen capture said, for as long as scheduling figures prove that it still holds. */
struct hd_still {
    uint64_t pc, sp;
    uint64_t args[6];
    int32_t syscall_nr;
    uint8_t state; /* enum hd_run_state */
};

/* An instant by both clocks. */
struct hd_instant {
    uint64_t ticks, ns;
};

/* A thread that can be captured. Zero-initialise; for a watched thread set `watched`, `mailbox` and `signal`;
 * then open (they may also be set later: until then the thread is treated as any other). */
struct hd_target {
    hd_thread_id thread;
    bool watched;   /* only watched threads are ever signalled and copied by plain memory reads */
    bool only_read; /* another process's: the clocks of its threads are not to be had */
    uint32_t room;  /* of the buffer for its stack; 0: HD_STACK_BYTES_MAX */
    int syscall_fd, schedstat_fd, status_fd; /* in the monitor's table; -1: not to be had */
    uint64_t stack_lo, stack_hi;             /* its own, for as long as it lives; 0 0 when not known */
    struct hd_sched last;                    /* at the last frozen capture */
    bool last_valid;
    struct hd_still still; /* of that capture */
    bool wait_known;       /* how a thread waits in call `wait_nr` with its first argument */
    uint8_t wait_state, wait_tries;
    int32_t wait_nr;
    uint64_t wait_arg;
    uint64_t voluntary; /* its voluntary context switches when they were last looked at */
    bool voluntary_valid;
    uint64_t taken_ns, taken_slices; /* when the last capture began, how often the thread had run by then */
    bool blocks;         /* the thread was seen to block its signal, and not that it does no more */
    uint32_t request;    /* the question to which it has given no answer yet; 0: there is none */
    uint32_t unanswered; /* one that nobody waits for any more, whose signal may still be pending; or 0 */
    struct hd_instant requested_at;
    bool back_off;        /* for this sample */
    bool no_room;         /* at the last look: a signal's frame would not fit */
    uint64_t back_off_ns; /* for how long after the last signal none is sent; 0: that broke no call */
    uint64_t back_off_until_ns;
    uint64_t ticks_inside;      /* that it ran in the kernel for, when it last was spared */
    uint64_t ticks_outside;     /* and outside, when those were last seen to grow */
    struct hd_mailbox *mailbox; /* watched only */
    int signal; /* 0: rung 2 is closed; becomes 0 when the program takes the signal for itself */
    struct hd_capture_cost cost;
};

/* On a thread of ours, before it opens any target: keeps /proc/self/task, mem and pagemap, so that a chroot
 * or dropped privileges later do not matter. Without it (or where it fails) full paths and process_vm_readv
 * serve. For the calling thread only, since each has a descriptor table of its own. */
int hd_capture_files_open(void);
/* The same for another process, whose folder of /proc is `proc_fd`: the calling thread's targets are that
 * one's threads from then on, and hd_capture_frozen is the one way to capture them. Set `only_read` in them.
 */
int hd_capture_process_open(int proc_fd, int pid);
void hd_capture_files_close(void);
/* The process has another root: no path leads out of it by what is open. */
void hd_capture_files_confine(void);

/* Opens the files of this thread of the process. Call on the monitor (its descriptor table holds the
 * files). A thread whose `syscall` file cannot be opened: the errno of that, and the target holds what could
 * be opened (close it). */
int hd_target_open(struct hd_target *t, hd_thread_id thread);
void hd_target_close(struct hd_target *t);

/* Signals whose default is to be ignored: one that comes late, or to a child that resets it, harms nobody. */
bool hd_capture_signal_may_be(int signal);

/* Set-up of rung 2, once per process, before any watch: installs the handler for `signal` if its disposition
 * is the default (else -EBUSY, nothing installed: an ignored signal stays ignored in what the program
 * executes). -EINVAL: a signal whose default action is not to be ignored. Idempotent. The handler stays. */
int hd_capture_signal_init(int signal);
/* Takes the handler out again, if it is still ours: a filter that is about to come may kill for what it does.
 * Leaves no trace in memory, so that a child that shares it may call. Async-signal-safe. */
void hd_capture_signal_end(void);

/* On the monitor: under how many seccomp filters (a container's, say) the handler may do what it does. A
 * thread that has others is sent no signal. */
void hd_capture_filters_are(uint64_t filters);

/* On the watched thread itself, when it begins to be watched: gives it an alternate stack of ours (unless the
 * program has one), notes the mailbox as its own, and takes the dry sample. `memory` of
 * hd_capture_thread_bytes(), aligned to a page, lives as long as the watch: until leave, and until the
 * monitor has closed the target (in whichever order). It holds a guard page: give it back by
 * hd_os_memory_give only. Leave waits for some microseconds if the monitor is just reading this thread's
 * stack; the thread may end after it. -EBUSY from leave: the call came from a handler that runs on the
 * alternate stack, so the memory must stay. */
size_t hd_capture_thread_bytes(void);
int hd_capture_thread_enter(void *memory, struct hd_mailbox **out);
int hd_capture_thread_leave(struct hd_mailbox *m);
/* The monitor has seen the last of it. */
void hd_capture_thread_closed(struct hd_mailbox *m);
/* The memory of a watch on the calling thread that the monitor has closed and the thread has not left, or
 * NULL: the thread leaves it herewith. */
void *hd_capture_thread_left_over(void);

/* Takes one capture. Always fills *out: `same` when scheduling figures prove that the thread has not run
 * since the last capture (nothing copied); way kernel when no stack could be had. Up to 5 ms for the rung-1
 * retries plus 50 ms for the signal. 0; -ESRCH: the thread is gone. Monitor only.
 *
 * out->stack lies in one of two buffers of the library's. What a running thread copied itself is `borrowed`
 * when `lend` allows it: it stays whole until the next call that allows it. Whoever reads it should read what
 * is needed, and in place: each cache line of it that another processor takes, the thread must fetch back at
 * its next sample, and the copy then costs ten times as much. Anything else stays until the next call of any
 * kind. */
int hd_capture_take(struct hd_target *t, bool lend, struct hd_capture *out);

/* The answer of a thread that gave none within those 50 ms, and has now: signals are taken on the way back
 * from the kernel, so that it was there all the while (or had no processor), called from this stack. 0, and
 * out->at_ns is when it was asked; -EAGAIN: there is none. No other is asked for until it has come, or the
 * signal is lost, or the question is forgotten: when the turn that it was about is over. One target's late
 * answer at a time has the buffer that is lent: for the others nothing is lent meanwhile. Monitor only. */
int hd_capture_late(struct hd_target *t, struct hd_capture *out);
void hd_capture_late_forget(struct hd_target *t);
bool hd_capture_may_lend(const struct hd_target *t);

/* The buffers of the above: taken once, kept for the life of the process. Before the first capture. */
int hd_capture_buffers(void);

/* For how long captures meant to wait, of a thread that is not blocked and for answers, all together. Monitor
 * only. */
uint64_t hd_capture_napped_ns(void);

/* Only rung 1, by process_vm_readv or /proc/self/mem: for threads that are not watched. -EAGAIN: it runs. */
int hd_capture_frozen(struct hd_target *t, uint8_t *stack, struct hd_capture *out);

/* Scheduling figures alone: 0; -ESRCH: the thread is gone; else they are not to be had, and *out says so. A
 * kernel without them tells how often the thread left a processor: then that many and one are the slices, the
 * time on a processor is its clock's, and the delay is not known, which reads as none. Where not even that is
 * to be had, the clock's time stands alone. */
int hd_capture_sched(const struct hd_target *t, struct hd_sched *out);
/* Whether a thread that was blocked with these figures has not run since, by its CPU clock: a quarter of the
 * work of reading them anew. False where that is not known. Good for a look, no proof for a sample: the clock
 * leaves out time that a hypervisor or interrupts took, and may stand still while a thread runs for
 * microseconds (update_rq_clock_task in the kernel's sched/core.c); the figures count its turns. */
bool hd_capture_rests(const struct hd_target *t, const struct hd_sched *since);

/* Figures of a thread that runs are as old as the kernel's last tick, 10 ms at the most; its CPU clock is of
 * this moment, and brings them up to it. For what time is weighed by: figures that are to prove something are
 * compared as they were read. */
void hd_capture_sched_now(const struct hd_target *t, struct hd_sched *sched);

#endif
