/* SPDX-License-Identifier: MIT
 *
 * The settings with which Hangdog starts. Only the atomic members change while Hangdog runs.
 */
#ifndef HD_SETTINGS_H
#define HD_SETTINGS_H

#include <signal.h>

#include "hangdog/hangdog.h"
#include "os/notify_socket.h"
#include "record/record.h"

/* The signal by which the monitor asks a thread for its stack, if no other signal is set. The kernel ignores
 * it by default, so a late signal does not end the program. */
#define HD_SIGNAL SIGURG

#define HD_DISPLAY_HZ_MAX 1000
#define HD_INTERVAL_MIN_NS (1 * HD_NS_PER_MS)
#define HD_INTERVAL_MAX_NS (1 * HD_NS_PER_S)

/* For a program that links the library: the longest time from Hangdog's start to the program's first watch.
 * If the first watch comes later, the time before it does not count as the program's launch. */
#define HD_LAUNCH_KNOWN_NS (300 * HD_NS_PER_S)

/* A launch of a loop that the recogniser has not found is sampled no longer than this. */
#define HD_SAMPLE_LAUNCH_NS (60 * HD_NS_PER_S)

struct hd_settings {
    /* control/instance_limits.c changes the next two members while Hangdog runs. */
    _Atomic uint64_t interval_ns; /* the time between samples */
    _Atomic uint64_t threshold_ns[HANGDOG_STATES];
    /* The upper bound of all thresholds. It makes each threshold short enough for a report to be written
     * before systemd's watchdog kills the program. */
    uint64_t threshold_max_ns;
    uint64_t frame_period_ns; /* the time between two refreshes of the display */
    uint64_t frame_drop_ns;   /* a display frame that takes this long gets a report; 0: no frame gets one */
    uint64_t ping_period_ns;
    uint32_t reports_per_day, reports_per_fingerprint, spool_reports;
    int signal;
    uint64_t cpu_period_ns; /* the length of a period of CPU measurement; 0: Hangdog does not watch CPU use */
    uint64_t keep_alive_ns; /* the time between two messages to the service manager; 0: none are sent */
    char notify_socket[HD_NOTIFY_ADDRESS_MAX];
    uint8_t crash;      /* 1: a crash gets a report; 2: on Apple's systems also by Mach exceptions */
    bool exec_mode : 1; /* true: the process has no runner, so nothing finishes its reports after it ends */
    bool without_paths; /* true: reports have no paths and no peers */
    bool pools;         /* true: stalls of pools get reports */
    bool deferred;      /* true in the preload: reports are deferred until their loop is certain */
    /* If Hangdog watches from another process: the hook's name and how exact its turns are, in the schema's
     * words. NULL: Hangdog is in the watched process. */
    const char *hook, *turns;
    /* the monitor samples a launch only until it has lasted this long; 0: no limit */
    uint64_t sample_launch_ns;
    /* If the recogniser finds the loop later than this after the launch's start, the turn before does not
     * count as a launch. 0: no limit. */
    uint64_t launch_known_ns;
    /* A record that several processes share. It says whether one of them has written about a failed spool to
     * the system's journal, so that no other does. NULL: this process does not write there. */
    struct hd_record *journal;
    /* takes the reports that the process may not write to the spool itself; NULL: there is no outbox */
    struct hd_outbox *outbox;
    /* the path of a folder in memory (tmpfs), in which a fatal marker (publish/fatal_marker.h) has the hang's
     * duration; empty: there is no such folder */
    char runtime[HD_RECORD_STRING];
    char app_name[HD_RECORD_STRING], app_version[64], environment[64];
    char spool[4 * HD_RECORD_STRING];
    /* The path of a file that the worker keeps open. When a thread of the program calls exec, Hangdog's
     * wrapper of exec opens this file again by the worker's descriptor. Empty: there is no such file. */
    char kept_file[5 * HD_RECORD_STRING];
};

#endif
