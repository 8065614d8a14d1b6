/* SPDX-License-Identifier: MIT
 *
 * The record: a shared mapping that outlives the process, and says what the process did when it died. The
 * mapping is a memory file of the runner (the process `hangdog run`), or private memory without a runner.
 * The watched process updates the record by plain stores, so SIGKILL loses nothing.
 * All members have a fixed width. Readers accept one version and one size only. The watched program can write
 * every byte, so the runner copies and checks the record before use (cli/settle/record_copy.h).
 */
#ifndef HD_RECORD_H
#define HD_RECORD_H

#include <stdatomic.h>

#include "base/types.h"
#include "record/outbox.h"

#define HD_RECORD_MAGIC 0x48414e47444f4701ULL /* "HANGDOG", version 1 */
#define HD_RECORD_STRING 256
#define HD_APP_TEXT 64 /* bytes of a version, and of an environment */
#define HD_THREADS_NAMED 16
#define HD_THREAD_NAME_BYTES 16 /* as in the kernel, with the NUL */
#define HD_RECORDS 256u         /* records in the runner's file: one for each watched program image */

/* The options of a run. The runner writes them before it starts the program. */
struct hd_record_options {
    uint64_t interval_ns, threshold_ns, launch_threshold_ns, cpu_period_ns, frame_drop_ns;
    uint32_t display_hz;
    /* Start of the program, just before exec. In a record of another image: when the image took the record.
     */
    uint64_t started_ns, started_wall_ns;
    uint32_t reports_per_day, reports_per_fingerprint;
    uint8_t session[HD_UUID_BYTES];
    int32_t seccomp_filters;         /* filters of the runner, all harmless to us; -1: not countable */
    char app_name[HD_RECORD_STRING]; /* empty in a child: the child stores its script or executable */
    char app_version[HD_APP_TEXT], environment[HD_APP_TEXT]; /* empty: not known */
    bool app_named; /* the user gave the name and version, which then apply to children too */
    char spool[4 * HD_RECORD_STRING];
    char loop[HD_RECORD_STRING]; /* MODULE[:FUNCTION] that the user named as the loop; empty: recognise it */
    uint32_t threads;            /* count of `thread`: names of watched threads besides the main one */
    char thread[HD_THREADS_NAMED][HD_THREAD_NAME_BYTES];
    uint32_t exec_mode; /* no runner waits for the process, which writes its session report itself */
    char link[5 * HD_RECORD_STRING]; /* path of the file with the records: in /proc/PID/fd, or in the spool */
    int32_t pid;                     /* of the program, in the PID namespace of the program; 0: not known */
    bool of_child;                   /* the record is that of a child of the program (--follow) */
    bool crash;                      /* write a report for a crash */
    bool keep_alive;                 /* send systemd's keep-alive messages for the program */
    bool without_paths;              /* omit paths and peers from reports */
    bool journal;                    /* --exec: the program's stderr goes to the journal */
    bool follow;                     /* watch children too, each with a record */
};

/* The reason why a program that took a record is not watched, or is no longer watched. */
enum hd_unwatched {
    HD_UNWATCHED_NOT,
    HD_UNWATCHED_FILTER,  /* a seccomp filter of all threads might kill ours, and with them the program */
    HD_UNWATCHED_NO_WAIT, /* a watch starts at the first wait, and the program has not waited */
    HD_UNWATCHED_FAILED,  /* no memory or no thread for the monitor */
    HD_UNWATCHED_RIGHTS,  /* a thread with other rights than the main thread changed its ids */
    HD_UNWATCHED_ROOT,    /* a restart under another root folder would find another /proc and spool */
    HD_UNWATCHED_EXEC,    /* exec of a program that took no record */
    HD_UNWATCHED_TABLE,   /* no private descriptor table for the monitor */
    HD_UNWATCHED_KINDS,
};

/* The knowledge about the main thread's loop. */
enum hd_record_certainty {
    HD_RECORD_NO_LOOP,
    HD_RECORD_LOOP_DOUBTFUL, /* a candidate to which no long turn has returned: its hangs are dropped */
    HD_RECORD_LOOP_LIKELY,   /* hangs count if the program ends now */
    HD_RECORD_LOOP_CERTAIN,
};

enum hd_record_end {
    HD_RECORD_RUNS,          /* or has died */
    HD_RECORD_STOPPED,       /* monitor stopped, all reports written: the record is final */
    HD_RECORD_STOPPED_EARLY, /* monitor stopped, maybe before the last reports were written */
};

enum hd_record_hang {
    HD_RECORD_NO_HANG,
    HD_RECORD_HANG_LASTS, /* for duration_ns so far */
    HD_RECORD_HANG_ENDED, /* after ended_duration_ns; the report may still say "open" */
    HD_RECORD_HANG_FATAL, /* the process died in the hang, and the report, if any, says so */
};

/* The process that uses the record. */
struct hd_record_owner {
    _Atomic uint32_t pid;           /* taken by compare and exchange; 0: the record is free */
    _Atomic uint64_t pid_namespace; /* inode of the namespace in which `pid` is valid; 0: not known */
    _Atomic uint64_t
        superseded_ns;         /* time of the exec after which the process uses another record; 0: none */
    _Atomic uint32_t images;   /* number of program images that have used the record */
    _Atomic uint64_t image_ns; /* start of the present image */
};

struct hd_record_status {
    _Atomic uint32_t attached;        /* 1: the preload took the record; 2: the monitor runs */
    _Atomic uint32_t unwatched;       /* enum hd_unwatched */
    _Atomic uint32_t end;             /* enum hd_record_end */
    _Atomic uint32_t session_written; /* the process wrote its session report itself, or needs none */
    _Atomic uint64_t alive_ns;        /* last look of the monitor */
};

/* The main thread's loop. */
struct hd_record_loop {
    _Atomic uint32_t certainty;        /* enum hd_record_certainty */
    _Atomic uint64_t waits, waited_ns; /* waits that may be a loop's, approximately */
    /* Addresses inside the function that waits, of the loop's wait or of the most frequent one, and inside
     * its caller. 0: not known. */
    _Atomic uint64_t call_pc, caller_pc;
};

/* Reports that the runner must finish if the process dies. */
struct hd_record_open {
    _Atomic uint32_t state;            /* enum hd_record_hang, of the hang with report `hang_id` */
    _Atomic uint32_t is_launch;        /* 1: the thread's loop is not known yet */
    uint8_t session_id[HD_UUID_BYTES]; /* of the session report, which a second writer replaces */
    uint8_t hang_id[HD_UUID_BYTES];
    _Atomic uint64_t since_ns; /* start of the hang, moved forward by all time that does not count */
    _Atomic uint64_t duration_ns, ended_duration_ns;
};

struct hd_record_hangs {
    _Atomic uint64_t count, total_ns, max_ns;
    _Atomic uint64_t reports;          /* report files written, deferred ones and updates included */
    _Atomic uint64_t complete_reports; /* `reports` of hangs that had ended */
};

struct hd_record_turns {
    _Atomic uint64_t idle_ns, busy_ns, launch_ns;
    _Atomic uint64_t foreground_ns, foreground_since_ns; /* by the program's calls; since 0: in background */
    _Atomic uint64_t histogram[HD_TURN_BUCKETS];
};

struct hd_record_frames {
    _Atomic uint64_t count, dropped;
    _Atomic uint64_t total_ns; /* length of all frames but the first */
    _Atomic uint64_t hitch_ns; /* total delay of late frames */
    _Atomic uint64_t histogram[HD_FRAME_BUCKETS];
};

/* The cost of the watch for the program. */
struct hd_record_cost {
    _Atomic uint64_t samples, signals, interrupted_syscalls, restarted_syscalls;
    _Atomic uint64_t pause_max_ns, pause_total_ns; /* of a thread in our signal handler */
    _Atomic uint64_t cpu_ns, late_max_ns;          /* of our threads */
};

/* Hangs and samples that no report has. */
struct hd_record_losses {
    _Atomic uint64_t spool_failures, dropped_reports;
    _Atomic uint64_t suppressed, suppressed_ns, suppressed_max_ns; /* hangs without a report */
    _Atomic uint64_t withdrawn;  /* deferred reports of a wait that was no loop's */
    _Atomic uint32_t degraded;   /* 1: fewer samples, since they exceeded the CPU budget */
    _Atomic int32_t spool_error; /* errno value of the first spool failure */
};

/* Written by the runner. */
struct hd_record_runner {
    _Atomic uint64_t stopped_ns;  /* total time that signals stopped the program */
    _Atomic uint32_t quits;       /* 1: the runner passed SIGTERM on, and the program ends */
    _Atomic uint64_t mirrored_ns; /* time of this copy in the spool; 0: not a copy */
};

/* Valid in the first record, where all followed processes write. */
struct hd_record_shared {
    _Atomic uint32_t children_unwatched; /* children that became a program without a record */
    _Atomic uint32_t failure_printed;    /* 1: --exec has printed a spool failure to the journal */
};

struct hd_record {
    uint64_t magic; /* HD_RECORD_MAGIC */
    uint64_t bytes; /* sizeof(struct hd_record) */
    struct hd_record_options options;
    struct hd_record_owner owner;
    /* From here to `losses`: of the present program image, and zeroed when another image takes the record. */
    struct hd_record_status status;
    struct hd_record_loop loop;
    struct hd_record_open open;
    struct hd_record_hangs hangs;
    struct hd_record_turns turns;
    struct hd_record_frames frames;
    struct hd_record_cost cost;
    struct hd_record_losses losses;
    struct hd_record_runner runner;
    _Atomic uint32_t threads_seen; /* bit n: thread options.thread[n] has waited; kept from image to image */
    struct hd_record_shared shared;
};

/* The runner's file: the records, then the outbox. */
#define HD_RECORD_FILE_BYTES (HD_RECORDS * sizeof(struct hd_record) + sizeof(struct hd_outbox))
static inline struct hd_outbox *hd_record_outbox(struct hd_record *table) {
    return (struct hd_outbox *)(void *)(table + HD_RECORDS);
}

/* The program says whether it is in the foreground. Any thread; async-signal-safe. */
void hd_record_foreground(struct hd_record *r, bool is, uint64_t now_ns);

/* Count an ended hang. Monitor or worker. */
void hd_record_add_hang(struct hd_record *r, uint64_t duration_ns);
/* A hang that hd_record_add_hang has counted gets no report. */
void hd_record_add_suppressed(struct hd_record *r, uint64_t duration_ns);
/* A hang that hd_record_add_hang has not counted gets no report. */
void hd_record_add_unreported(struct hd_record *r, uint64_t duration_ns);

#endif
