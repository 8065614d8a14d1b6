/* SPDX-License-Identifier: MIT
 *
 * The messages that the monitor sends to the worker by the ring. The worker gets them in the order in which
 * their events happened.
 */
#ifndef HD_MESSAGE_H
#define HD_MESSAGE_H

#include "base/types.h"
#include "capture/capture.h"

#define HD_FOLLOWED_MAX 4 /* the most turns that the worker follows at a time */

/* The messages about a followed turn are TRACK, then samples, then OPEN if the turn becomes a hang, then
 * END, FRAME or FORGET. */
enum hd_message_type {
    HD_MSG_TRACK,  /* the worker is to follow this turn from here on */
    HD_MSG_SAMPLE, /* a struct hd_capture and its stack bytes follow the message */
    /* Like SAMPLE, but the thread answered the monitor's request for its stack late. The monitor's later
     * requests had no answer. So this one sample stands for all samples since its at_ns. */
    HD_MSG_LATE,
    HD_MSG_OPEN,   /* the turn has reached its threshold: now it is a hang */
    HD_MSG_END,    /* the hang has ended */
    HD_MSG_FRAME,  /* the turn ended below its threshold, but was a long frame */
    HD_MSG_FORGET, /* the turn ended below its threshold, or was void: the worker drops the turn */
    HD_MSG_DRY, /* like SAMPLE, but the sample is dry: it makes memory present before the first real sample */
    HD_MSG_CERTAIN, /* the loop is certain: the worker publishes its deferred reports */
    HD_MSG_WAITS,   /* the worker is to call hd_recogniser.judge, because the recogniser has work */
    /* The worker is to look at the threads of pools. at_ns: the newest mark of a loop, which is that in the
     * slot `loop`. start_ticks: a number that changes whenever a loop starts or ends a wait. */
    HD_MSG_POOLS,
    /* The process was over its CPU limit in one period of CPU measurement. Unless a hang lasts now, the
     * worker starts a profile of the thread that used most CPU time. */
    HD_MSG_CPU_START,
    /* like SAMPLE, but the sample is of the thread channel.cpu_thread, which has a watch */
    HD_MSG_CPU_SAMPLE,
    /* The worker is to read the stack of the thread channel.cpu_thread, if the thread is blocked. This thread
     * has no watch, so the monitor cannot sample it. */
    HD_MSG_CPU_READ,
    /* the process was over its CPU limit in the next period of CPU measurement too: the worker writes a
     * report of the profile */
    HD_MSG_CPU_REPORT,
    /* the process was below its CPU limit in the next period of CPU measurement: the worker drops the profile
     */
    HD_MSG_CPU_DROP,
    HD_MSG_STOP, /* the last message: the worker finishes */
};

/* The cost of Hangdog's work up to the time of the message. */
struct hd_message_cost {
    /* the cost of all captures of the loop's thread so far; the member pause_max_ns is only for this turn */
    struct hd_capture_cost captures;
    uint64_t cpu_ns;      /* the CPU time that the monitor thread has used so far */
    uint64_t late_max_ns; /* the longest delay of a look in this turn */
    /* true: the monitor takes fewer samples than the settings say, because it is over its budget for CPU time
     * and pauses */
    bool degraded;
};

/* The kernel's scheduling statistics of the loop's thread. */
struct hd_message_sched {
    bool known;
    uint64_t at_ns; /* when `sched` was read; set only in a TRACK message */
    struct hd_sched sched;
};

struct hd_message {
    uint8_t type;  /* enum hd_message_type */
    uint8_t loop;  /* the slot of the watch that the message is about */
    uint8_t state; /* hangdog_state of the program; set in TRACK and OPEN messages */
    /* hangdog_activity of the loop; set in TRACK and OPEN messages; HANGDOG_EXIT if the turn has ended
     * already */
    uint8_t activity;
    /* The generation of the watch that the message is about. By the time that the worker reads the message,
     * the slot may have another watch. */
    uint32_t generation;
    hd_thread_id thread; /* the loop's thread; set in a TRACK message */
    uint64_t at_ns;      /* when the message's event happened; in a TRACK message: when the turn started */
    uint64_t
        start_ticks; /* when the turn started; set in TRACK, SAMPLE and OPEN messages, to identify the turn */
    /* how long the turn has lasted; set in TRACK and OPEN messages, and in the message of the turn's end */
    uint64_t duration_ns;
    uint64_t excluded_ns, threshold_ns;
    /* By how much the turn may have started earlier; set in OPEN messages and in that of the turn's end. A
     * TRACK message has the earliest start, and what is not certain is taken off later. */
    uint64_t earlier_ns;
    bool at_least; /* true: the turn had started already when the watch began; set in a TRACK message */
    uint64_t process_cpu_ns; /* CPU time of the process when the turn had lasted duration_ns; 0: not known */
    /* The scheduling statistics of the loop's thread. In a TRACK message they are from the monitor's first
     * look at the turn. In END, FRAME and FORGET messages they are from the turn's end. */
    struct hd_message_sched thread_sched;
    struct hd_message_cost cost;
};

#endif
