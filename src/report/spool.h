/* SPDX-License-Identifier: MIT
 *
 * The spool folder: DIR/ID.json, each written whole to a temporary name, synced, renamed. A torn file cannot
 * appear. Worker only (it may wait for the disk); no allocation. Everything is relative to a kept descriptor
 * of the folder.
 */
#ifndef HD_SPOOL_H
#define HD_SPOOL_H

#include "base/types.h"
#include "report/report.h"

#define HD_SPOOL_FOLDER_BYTES 256 /* NAME_MAX, and a NUL */

/* The limits, where nobody asks for others. */
#define HD_SPOOL_REPORTS 500
#define HD_SPOOL_BYTES (256ULL << 20)

struct hd_spool {
    int dir_fd;
    int above_fd; /* the folder that it is in, by which it is made again when it was removed */
    char name[HD_SPOOL_FOLDER_BYTES];
    uint32_t owner;                /* of what was written last: the user that we are */
    uint32_t max_reports;          /* 0: no limit */
    uint64_t max_bytes;            /* 0: no limit */
    uint8_t stands[HD_UUID_BYTES]; /* the report whose name was put on disk last */
    uint64_t dropped;              /* oldest ones removed for the limits */
    uint64_t day_ns; /* since then, a day at the most, so many of those were of their last day */
    uint32_t day_dropped;
    uint64_t failed; /* writes that failed; the last one's errno is `error` */
    int error;
    int unopened; /* why the folder is not open, a negative errno value */
};

/* Opens the folder, making it and its parents when missing (0700), and sweeps temporary files whose writer is
 * dead. Initialises all of *s, with the limits above. 0 or a negative errno value with dir_fd -1. */
int hd_spool_open(struct hd_spool *s, const char *path);
void hd_spool_close(struct hd_spool *s);
/* The process has another root: no path leads out of it by the folder's descriptor. Where that cannot be, the
 * reports are not this process's to write. */
void hd_spool_confine(struct hd_spool *s);

/* Writes report r as ID.json (held: as .ID.held, which readers do not list, until released). An earlier file
 * of the same id is replaced atomically. A folder that was removed is made again. On failure nothing of it is
 * left and what stood there stays. Then the oldest reports go, as the limits ask; that this or the folder's
 * sync failed is only noted in `error`: the report stands. */
int hd_spool_write(struct hd_spool *s, const struct hd_report *r, struct hd_report_scratch *scratch,
                   bool deferred);
/* Whether that report is there, held or not. */
bool hd_spool_has(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);
int hd_spool_release(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);
/* The oldest go for a report that is still to be written: it can tell how many were dropped. */
void hd_spool_make_room(struct hd_spool *s);
/* Removes a held report, or one that was released. Held ones that nobody releases are hangdog run's to sweep.
 */
int hd_spool_withdraw(struct hd_spool *s, const uint8_t id[HD_UUID_BYTES]);

/* Reports that were modified in the last `span_ns`, by the wall clock: for the cap of reports a day. Those
 * of sessions and those dated later than now are none of them; those that we removed for the limits are. */
int hd_spool_count_last(struct hd_spool *s, uint64_t span_ns, uint32_t *count);

#endif
