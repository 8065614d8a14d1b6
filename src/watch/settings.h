/* SPDX-License-Identifier: MIT
 *
 * The values that a run is started with; its functions are in watch/ports.h. They do not change while it
 * runs, but for the atomic ones.
 */
#ifndef HD_SETTINGS_H
#define HD_SETTINGS_H

#include "hangdog/hangdog.h"
#include "os/linux/notify_socket.h"
#include "record/record.h"

#define HD_SIGNAL 23 /* SIGURG on every Linux. It is ignored by default, so that a late one ends nothing */

#define HD_DISPLAY_HZ_MAX 1000
#define HD_INTERVAL_MIN_NS (1 * HD_NS_PER_MS)
#define HD_INTERVAL_MAX_NS (1 * HD_NS_PER_S)

/* The library: if the first loop is watched later than this, the program was not launching until then. */
#define HD_LAUNCH_KNOWN_NS (300 * HD_NS_PER_S)

struct hd_settings {
    _Atomic uint64_t interval_ns; /* of samples. control/instance_limits.c changes these two during a run */
    _Atomic uint64_t threshold_ns[HANGDOG_STATES];
    uint64_t threshold_max_ns; /* bound of all thresholds: a report comes before systemd's watchdog kills */
    uint64_t frame_period_ns;  /* of the display's refresh */
    uint64_t frame_drop_ns;    /* a frame that takes so long has a report; 0: no frame has */
    uint64_t ping_period_ns;
    uint32_t reports_per_day, reports_per_fingerprint, spool_reports;
    int signal;
    uint64_t cpu_period_ns; /* of the CPU monitor; 0: it is off */
    uint64_t keep_alive_ns; /* between two messages to the service manager; 0: none are sent */
    char notify_socket[HD_NOTIFY_ADDRESS_MAX];
    bool crash;                /* crashes have a report */
    bool exec_mode : 1;        /* there is no runner that finishes reports when the process ends */
    bool without_paths;        /* reports have no paths and no peers */
    bool deferred;             /* the preload: reports wait until their loop is certain */
    uint64_t sample_launch_ns; /* a launch is not sampled after this age; 0: always */
    uint64_t launch_known_ns;  /* if the loop is found later than this, there was no launch; 0: no limit */
    struct hd_record *journal; /* has one line about failures of the spool; NULL: there is no journal */
    struct hd_outbox *outbox;  /* for reports that the process may not write; NULL: there is no outbox */
    char runtime[HD_RECORD_STRING]; /* a folder in memory, for the fatal marker; empty: there is none */
    char app_name[HD_RECORD_STRING], app_version[64], environment[64];
    char spool[4 * HD_RECORD_STRING];
    char kept_file[5 * HD_RECORD_STRING]; /* the worker keeps it open for the program's exec; empty: none */
};

#endif
