/* SPDX-License-Identifier: MIT
 *
 * The watch of `hangdog attach`. It adds the processes that the user names to a watcher, and steps the
 * watcher. The reporter's list gets what happens. One thread.
 */
#ifndef CLI_ATTACH_WATCH_H
#define CLI_ATTACH_WATCH_H

#include "cli/attach/attach_options.h"
#include "cli/attach/targets.h"
#include "cli/attach/watched_list.h"
#include "cli/outside/watcher.h"

struct attach_watch {
    const struct attach_options *options;
    struct watched_list *list;
    int wake_fd; /* of the reporter: the list has news */
    struct targets targets;
    struct watcher *watcher;
    unsigned refused, skipped;    /* processes: by name or number; by a rule */
    struct problem first_skipped; /* why */
    bool adding;                  /* `refusal` is wanted */
    bool waits;                   /* of --wait: no process is watched, and the user knows */
    struct problem refusal;       /* why `choose` did not want the process */
    uint64_t scan_due_ns, scanned_ns, update_due_ns;
    bool scan_early; /* a watched process has started another one */
};

/* Opens the best way, and adds all processes that are there. 0; -1 and why: none is watched. */
int attach_watch_start(struct attach_watch *w, struct problem *why);
/* Does what is due. */
void attach_watch_step(struct attach_watch *w, uint64_t now_ns);
/* When to call attach_watch_step again. */
uint64_t attach_watch_next_ns(const struct attach_watch *w);
/* True: no process is watched, and none will come. */
bool attach_watch_is_over(const struct attach_watch *w);
/* Leaves all processes. The totals are final then. */
void attach_watch_end(struct attach_watch *w);

#endif
