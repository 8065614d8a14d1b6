/* SPDX-License-Identifier: MIT
 *
 * New files in a run's spool: by inotify, and by reading the folder where that is missing. One thread.
 */
#ifndef CLI_SPOOL_VIEW_H
#define CLI_SPOOL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct spool_view {
    const char *spool;
    const struct hd_record_options *decided;
    int notify_fd;        /* inotify; -1: there is none, and the folder is read once a second */
    bool lost;            /* the folder was removed, and is tried once a second */
    bool unread;          /* for want of memory */
    uint64_t read_due_ns; /* where there is no notify_fd */
    void (*found)(void *ctx, const char *name); /* a file has this name now; it may come twice */
    void *ctx;
};

/* Watches the spool of `decided`, which outlives the view. */
void spool_view_open(struct spool_view *v, const struct hd_record_options *decided,
                     void (*found)(void *ctx, const char *name), void *ctx);

/* Calls `found` for what notify_fd has. */
void spool_view_handle(struct spool_view *v);
/* Without inotify, or where the folder was lost: the same for what is new. When to call it again at the
 * latest, UINT64_MAX: never. */
uint64_t spool_view_tick(struct spool_view *v, uint64_t now_ns);
/* Calls `found` for every file since the run's start, oldest first. */
void spool_view_read(struct spool_view *v);

#endif
