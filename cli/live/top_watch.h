/* SPDX-License-Identifier: MIT
 *
 * The part of `hangdog top` for a process that Hangdog watches: its loops, and the hangs that ended or last
 * while we look. Ordinary code.
 */
#ifndef CLI_LIVE_TOP_WATCH_H
#define CLI_LIVE_TOP_WATCH_H

#include <jansson.h>

#include "cli/live/loop_figures.h"
#include "cli/live/top_page.h"

#define TOP_HANGS 3 /* shown hangs */

struct top_hang {
    uint64_t since_ns, for_ns;
    bool lasts;
    char when[16];      /* "22:53:40", of the look that first saw it */
    char function[128]; /* own function of the loop's thread while it lasted; empty: not seen */
};

struct top_watch {
    bool is_watched;
    unsigned looks; /* without a run */
    struct run_view view;
    struct run_hangs before;
    uint64_t up_ns; /* of the process */
    struct loop_history history[RUN_LOOPS_MAX];
    size_t hangs; /* ever seen */
    struct top_hang hang[TOP_HANGS];
};

/* Looks at the run of the process, if it has one. `report` has the threads of the same look. */
void top_watch_look(struct top_watch *w, const struct live_process *p, const json_t *report, uint64_t up_ns);

/* Adds its lines, none where the process is not watched. At most `rows` loops. */
void top_watch_text(const struct top_watch *w, struct top_page *page, size_t rows);

/* ---- private ---------------------------------------------------------------------------------- */

/* Updates the hangs from the record's present values and the earlier ones. Pure, except for the report. */
void top_watch_note(struct top_watch *w, const struct run_hangs *now, const char *function, const char *when);

#endif
