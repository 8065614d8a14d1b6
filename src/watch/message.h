/* SPDX-License-Identifier: MIT
 *
 * What the monitor tells the worker, in the order in which it happened.
 */
#ifndef HD_MESSAGE_H
#define HD_MESSAGE_H

#include "base/types.h"
#include "capture/capture.h"

#define HD_FOLLOWED_MAX 4 /* turns that the worker follows at a time */

enum hd_message_type {
    HD_MSG_TRACK,      /* a turn begins to be sampled: at_ns is its start */
    HD_MSG_SAMPLE,     /* followed by struct hd_capture and its stack bytes */
    HD_MSG_LATE,       /* the same, of all the samples without an answer since at_ns */
    HD_MSG_OPEN,       /* the threshold passed */
    HD_MSG_END,        /* a hang ended at at_ns after duration_ns */
    HD_MSG_FRAME,      /* a tracked turn ended below the threshold, as END, and was a long frame */
    HD_MSG_FORGET,     /* a tracked turn ended below the threshold */
    HD_MSG_DRY,        /* as SAMPLE, but only to warm what the first real one will need */
    HD_MSG_SURE,       /* the loop is the program's beyond doubt: held reports are released */
    HD_MSG_WAITS,      /* there is something to recognise */
    HD_MSG_CPU_START,  /* the process used too much of a CPU: find the thread, and name it in cpu_thread */
    HD_MSG_CPU_SAMPLE, /* as SAMPLE, of that thread, which is watched */
    HD_MSG_CPU_READ,   /* read that thread, which is not, if it waits */
    HD_MSG_CPU_REPORT, /* it did so for a second period */
    HD_MSG_CPU_DROP,   /* it did not */
    HD_MSG_STOP,       /* finish: the last message */
};

struct hd_message {
    uint8_t type;        /* enum hd_message_type */
    uint8_t loop;        /* index of the watch */
    uint8_t state;       /* hangdog_state, with TRACK and OPEN */
    uint8_t activity;    /* the same; an idle one, where the turn is over and it is not known */
    hd_thread_id thread; /* with TRACK */
    uint32_t generation; /* of the watch's slot: it may have been given to another loop since */
    uint64_t at_ns;
    uint64_t turn; /* with SAMPLE and OPEN: start of the turn that it is of, in ticks */
    uint64_t duration_ns, excluded_ns, threshold_ns; /* the first with TRACK, OPEN and END: so far */
    struct hd_sched sched; /* with TRACK: when the turn was first seen running; with END: at its end */
    bool sched_known;
    uint64_t begun_ns;           /* with TRACK: when that was */
    struct hd_capture_cost cost; /* of the loop's captures so far; the most, of its turn */
    uint64_t cpu_ns;             /* the monitor's own so far */
    uint64_t process_cpu_ns;     /* of the process, at duration_ns: with TRACK, OPEN and END; 0: not known */
    uint64_t late_max_ns;        /* the same of the turn */
    bool degraded;               /* it samples less than asked: it is over its budget */
};

#endif
