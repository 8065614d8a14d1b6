/* SPDX-License-Identifier: MIT
 *
 * The one shared mapping that outlives the process: what it was doing when it died. A memory file that the
 * runner holds, or memory of our own. Keeping it current is a plain store, so SIGKILL loses nothing.
 * Fixed-width fields, one version.
 */
#ifndef HD_RECORD_H
#define HD_RECORD_H

#include <stdatomic.h>

#include "base/types.h"
#include "record/outbox.h"

#define HD_RECORD_MAGIC 0x48414e47444f4701ULL /* "HANGDOG", version 1 */
#define HD_RECORD_STRING 256
#define HD_APP_TEXT 64 /* of a version, and of an environment */
#define HD_THREADS_NAMED 16
#define HD_THREAD_NAME_BYTES 16 /* the kernel's */
#define HD_RECORDS 256u /* in the runner's file: one for each program image that has something to tell */

/* What the runner asks for, written before the program starts. */
struct hd_record_options {
    uint64_t interval_ns, threshold_ns, launch_threshold_ns, cpu_period_ns, frame_drop_ns;
    uint32_t display_hz;
    uint64_t started_ns,
        started_wall_ns; /* of the program: just before exec; else when the record was taken */
    uint32_t reports_per_day, reports_per_fingerprint;
    uint8_t session[HD_UUID_BYTES];
    int32_t seccomp_filters; /* on the runner, tried and found harmless; -1: the kernel does not count them */
    char app_name[HD_RECORD_STRING]; /* empty, of a child: its script's or executable's, which it says itself
                                      */
    char app_version[HD_APP_TEXT], environment[HD_APP_TEXT]; /* empty: not known */
    bool app_named; /* by the user: name and version hold for children, too */
    char spool[4 * HD_RECORD_STRING];
    char loop[HD_RECORD_STRING]; /* MODULE[:FUNCTION] that is told to be the loop; empty: it is recognised */
    uint32_t threads;            /* names of threads that are watched beside the main one */
    char thread[HD_THREADS_NAMED][HD_THREAD_NAME_BYTES];
    uint32_t exec_mode; /* nobody waits for the process: it writes its session report when it ends */
    char link[5 * HD_RECORD_STRING]; /* the file itself, as the runner has it open, or in the spool */
    int32_t pid;                     /* of the program, as it sees itself; 0: the runner did not say */
    bool of_child;                   /* of the program, that is followed */
    bool crash;                      /* crashes have a report */
    bool keep_alive;                 /* systemd's watchdog is answered */
    bool without_paths;              /* are left out of reports, and peers */
    bool journal;                    /* --exec: the program's errors go there */
    bool follow;                     /* children are watched too, each with a record of its own */
};

/* Why a program that took the record is not watched, or no longer. */
enum hd_unwatched {
    HD_UNWATCHED_NOT,
    HD_UNWATCHED_FILTER,  /* a seccomp filter of all threads: ours would be killed, and the program with them
                           */
    HD_UNWATCHED_NO_WAIT, /* it was to be watched from its first wait on, and has not waited */
    HD_UNWATCHED_FAILED,  /* no memory or no thread */
    HD_UNWATCHED_RIGHTS,  /* it changed who it is by a thread that has other rights than the first one */
    HD_UNWATCHED_ROOT,    /* it had to be watched anew, under another root: /proc and the spool are not its */
    HD_UNWATCHED_EXEC,    /* it became another program, which has not taken a record */
    HD_UNWATCHED_TABLE,   /* no descriptor table for the monitor: its numbers would be among the program's */
    HD_UNWATCHED_KINDS,
};

enum hd_record_loop {
    HD_RECORD_NO_LOOP,
    HD_RECORD_LOOP_UNSURE, /* a plain one that never returned from a long turn: its hangs are dropped at the
                              end */
    HD_RECORD_LOOP,        /* not certain, and its hangs stand where the program ends now */
    HD_RECORD_LOOP_CERTAIN,
};

enum hd_record_end {
    HD_RECORD_RUNS,          /* or it died */
    HD_RECORD_STOPPED,       /* the monitor was, and the worker had written all: what follows is final */
    HD_RECORD_STOPPED_EARLY, /* the monitor was, and the worker had not: the spool may be older than this */
};

enum hd_record_hang {
    HD_RECORD_NO_HANG,
    HD_RECORD_HANG_LASTS, /* for open_duration_ns so far */
    HD_RECORD_HANG_ENDED, /* after ended_duration_ns; its report may not say so yet */
    HD_RECORD_HANG_FATAL, /* its process died in it, and its report, where there is one, says so */
};

struct hd_record {
    uint64_t magic;
    uint64_t bytes; /* of this struct */
    struct hd_record_options options;
    _Atomic uint32_t owner;         /* process id of who took it, by compare and exchange; 0: free */
    _Atomic uint64_t owner_space;   /* the namespace in which that is its number, an inode; 0: not known */
    _Atomic uint64_t superseded_ns; /* since then its process is another program, which has another record */
    _Atomic uint32_t images;        /* that have had it */
    _Atomic uint64_t image_ns;      /* when this one began */
    /* written by the process, from here to stopped_ns */
    _Atomic uint32_t attached;  /* 1: the preload took the record; 2: its monitor runs */
    _Atomic uint32_t unwatched; /* enum hd_unwatched */
    _Atomic uint32_t clean;     /* enum hd_record_end */
    _Atomic uint32_t
        session_written;        /* by the process itself: its session report is written, or none is due */
    _Atomic uint64_t alive_ns;  /* the last sign of life: its monitor looked */
    _Atomic uint32_t loop_seen; /* enum hd_record_loop */
    _Atomic uint64_t waits, waited_ns; /* of the main thread, in calls that a loop may wait in, about */
    /* addresses in the call by which its loop waits, or most of its waits, and in the caller; 0: not known */
    _Atomic uint64_t loop_call_pc, loop_caller_pc;
    _Atomic uint32_t hang_open;        /* enum hd_record_hang: of the hang whose report is open_id */
    _Atomic uint32_t open_launch;      /* and it is one of a thread whose loop is not known */
    uint8_t session_id[HD_UUID_BYTES]; /* of the session report: who writes it again replaces it */
    uint8_t open_id[HD_UUID_BYTES];
    _Atomic uint64_t open_since_ns; /* it began then, had nothing been taken off */
    _Atomic uint64_t open_duration_ns, ended_duration_ns;
    _Atomic uint64_t hangs, hang_ns, hang_max_ns;
    _Atomic uint64_t
        reports; /* written into the spool, shown or held; again each time one is brought up to date */
    _Atomic uint64_t reports_whole; /* of these the complete ones */
    _Atomic uint64_t idle_ns, busy_ns, launch_ns;
    _Atomic uint64_t foreground_ns, foreground_since_ns; /* as the program told; 0: it is not */
    _Atomic uint64_t turn_histogram[HD_TURN_BUCKETS];
    _Atomic uint64_t frames, frames_dropped, frame_ns, hitch_ns, frame_histogram[HD_FRAME_BUCKETS];
    _Atomic uint64_t samples, signals, interrupted_syscalls, restarted_syscalls, pause_max_ns, pause_total_ns,
        cpu_ns, late_max_ns;
    _Atomic uint64_t spool_failed, reports_dropped, suppressed, suppressed_ns, suppressed_max_ns;
    _Atomic uint64_t withdrawn;
    _Atomic uint32_t degraded;   /* the budget was exceeded, and samples were fewer */
    _Atomic int32_t spool_error; /* errno value of the first failure */
    /* written by the runner */
    _Atomic uint64_t stopped_ns;  /* summed time that the program was stopped by signals */
    _Atomic uint32_t quits;       /* SIGTERM was passed on: the program ends */
    _Atomic uint64_t mirrored_ns; /* when this copy in the spool was made; 0: it is no copy */
    /* kept when another image has the record */
    _Atomic uint32_t threads_seen; /* a bit for each of the names: such a thread waited */
    /* in the first record, by all that are followed */
    _Atomic uint32_t children_unwatched; /* that became programs which could not be, and had no record */
    _Atomic uint32_t failure_printed;    /* under --exec: the journal has a line of the spool's failure */
};

/* The runner's file: the records, and then the way for reports that a process may not write itself. */
#define HD_RECORD_FILE_BYTES (HD_RECORDS * sizeof(struct hd_record) + sizeof(struct hd_outbox))
static inline struct hd_outbox *hd_record_outbox(struct hd_record *table) {
    return (struct hd_outbox *)(void *)(table + HD_RECORDS);
}

/* The program's state is that, or another one, from now on. Async-signal-safe. */
void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns);

/* A hang that is over. Monitor, worker. */
void hd_record_add_hang(struct hd_record *r, uint64_t duration_ns);
/* A hang that was held back. Monitor, worker. */
void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns);
/* One that nobody could be told of is held back, and not among the others yet. Monitor, worker. */
void hd_record_add_untold(struct hd_record *r, uint64_t duration_ns);

#endif
