/* SPDX-License-Identifier: MIT
 *
 * The messages from the monitor to the worker, in the order of what happened.
 */
#ifndef HD_MESSAGE_H
#define HD_MESSAGE_H

#include "base/types.h"
#include "capture/capture.h"

#define HD_FOLLOWED_MAX 4 /* turns that the worker follows at a time */

/* A turn has a message for its start, then samples, then the opening if it becomes a hang, then its end. */
enum hd_message_type {
    HD_MSG_TRACK,      /* the worker follows this turn from here on */
    HD_MSG_SAMPLE,     /* a struct hd_capture and its stack bytes follow the message */
    HD_MSG_LATE,       /* as SAMPLE: the late answer to all samples without an answer since at_ns */
    HD_MSG_OPEN,       /* the turn has lasted for the threshold */
    HD_MSG_END,        /* the hang has ended */
    HD_MSG_FRAME,      /* the turn ended below the threshold, and was a long frame */
    HD_MSG_FORGET,     /* the turn ended below the threshold, or was void */
    HD_MSG_DRY,        /* as SAMPLE, to make the memory present that the first real one needs */
    HD_MSG_CERTAIN,    /* certainly the program's loop: the worker publishes deferred reports */
    HD_MSG_WAITS,      /* the recogniser has work */
    HD_MSG_CPU_START,  /* the process used too much of a CPU: set cpu_thread to the thread that did */
    HD_MSG_CPU_SAMPLE, /* as SAMPLE, of that thread, which is watched */
    HD_MSG_CPU_READ,   /* the thread is not watched: read its stack, if it waits */
    HD_MSG_CPU_REPORT, /* the process used too much for a second period */
    HD_MSG_CPU_DROP,   /* the second period was below the limit */
    HD_MSG_STOP,       /* the last message: finish */
};

/* The cost of watching so far. */
struct hd_message_cost {
    struct hd_capture_cost captures; /* of the loop; the maximum is of this turn */
    uint64_t cpu_ns;                 /* of the monitor */
    uint64_t late_max_ns;            /* of the turn: by how much looks were late */
    bool degraded;                   /* fewer samples than the settings say: the monitor is over the budget */
};

/* The thread's scheduling statistics. */
struct hd_message_sched {
    bool known;
    uint64_t at_ns; /* with TRACK */
    struct hd_sched sched;
};

struct hd_message {
    uint8_t type;         /* enum hd_message_type */
    uint8_t loop;         /* index of the watch */
    uint8_t state;        /* hangdog_state, with TRACK and OPEN */
    uint8_t activity;     /* with TRACK and OPEN; idle where the turn is over and its activity unknown */
    uint32_t generation;  /* of the watch's slot: another loop may have it by now */
    hd_thread_id thread;  /* with TRACK */
    uint64_t at_ns;       /* of what the message says; with TRACK: start of the turn */
    uint64_t start_ticks; /* with SAMPLE and OPEN: which turn */
    uint64_t duration_ns; /* with TRACK, OPEN and the end of a turn: so far */
    uint64_t excluded_ns, threshold_ns;
    uint64_t process_cpu_ns;              /* of the process, at duration_ns; 0: not known */
    struct hd_message_sched thread_sched; /* with TRACK: as the turn was first seen; at its end: then */
    struct hd_message_cost cost;
};

#endif
