/* SPDX-License-Identifier: MIT
 *
 * The spool folder, with a report in each DIR/ID.json. The writer fills a temporary file, syncs and renames
 * it, so a reader never sees a part of a report. All paths are relative to an open descriptor of the folder.
 * Worker: may wait for the disk; no allocation.
 */
#ifndef HD_SPOOL_H
#define HD_SPOOL_H

#include "base/types.h"
#include "report/report.h"

#define HD_SPOOL_FOLDER_BYTES 256 /* NAME_MAX, and a NUL */

/* The usual limits. */
#define HD_SPOOL_REPORTS 500
#define HD_SPOOL_BYTES (256ULL << 20)

struct hd_spool {
    int dir_fd;
    int above_fd; /* the parent folder, to make the spool again after its removal */
    char name[HD_SPOOL_FOLDER_BYTES];
    uint32_t owner;                /* of the file written last: the user of this process */
    uint32_t max_reports;          /* 0: no limit */
    uint64_t max_bytes;            /* 0: no limit */
    uint8_t stands[HD_UUID_BYTES]; /* the report whose name was synced last */
    uint64_t dropped;              /* reports removed for the limits */
    uint64_t day_ns; /* since then, at most a day, the limits removed day_dropped reports of the last day */
    uint32_t day_dropped;
    uint64_t failed; /* writes that failed; `error` is the errno value of the last one */
    int error;
    int unopened; /* why the folder is not open, a negative errno value */
};

/* Opens the folder, makes it and its parents if they are missing (0700), and removes temporary files of dead
 * writers. Initialises all of *s, with the usual limits. 0, or a negative errno value with dir_fd -1. */
int hd_spool_open(struct hd_spool *s, const char *path);
void hd_spool_close(struct hd_spool *s);
/* The process got another root. Replaces the descriptors by ones from which no path leaves that root; where
 * this fails, closes the spool: the process writes no reports then. */
void hd_spool_confine(struct hd_spool *s);

/* Writes report r as ID.json, atomically in place of an earlier file. `deferred`: as `.ID.held`, which
 * readers do not list until hd_spool_release. Makes a removed folder again. A failure leaves the folder as it
 * was. Then removes the oldest reports beyond the limits. The report is valid even where that, or the sync of
 * the folder, fails: `error` has the reason. */
int hd_spool_write(struct hd_spool *s, const struct hd_report *r, struct hd_report_scratch *scratch,
                   bool deferred);
/* The folder has that report, deferred or not. */
bool hd_spool_has(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);
int hd_spool_release(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);
/* Removes the oldest reports for one that is about to be written: so that report can count them in `dropped`.
 */
void hd_spool_make_room(struct hd_spool *s);
/* Removes a report, deferred or released. `hangdog run` removes deferred reports that no worker releases. */
int hd_spool_withdraw(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);

/* Counts the reports modified in the last `span_ns` of the wall clock, for the cap of reports a day. Counts
 * those that the limits removed; does not count sessions, nor files dated later than now. */
int hd_spool_count_last(struct hd_spool *s, uint64_t span_ns, uint32_t *count);

#endif
