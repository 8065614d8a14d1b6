/* SPDX-License-Identifier: MIT
 *
 * Sends what is in the spools: batches of whole reports, each removed once the collector has it. One thread.
 */
#ifndef UPLOADER_UPLOAD_H
#define UPLOADER_UPLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"
#include "cli/fleet/fleet.h"
#include "uploader/passed_over.h"
#include "uploader/send.h"

struct upload {
    const struct upload_options *options;
    const volatile sig_atomic_t *stop;
    struct sender *sender;
    bool over_budget;
    size_t sent, known, refused, lasting, unread; /* reports */
    size_t unnamed;                               /* reports of the last look that wait for their names */
    bool said_unnamed;
    struct passed_over passed_over; /* files that the collector has refused, or that are no reports */
};

/* One look at the spools. False: it was given up, and an error is printed. */
bool upload_spool(struct upload *u);
void upload_end(struct upload *u);

#endif
