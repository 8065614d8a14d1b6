/* SPDX-License-Identifier: MIT
 *
 * The worker (src/worker) of another process. In a watched process the monitor's messages reach the worker by
 * a ring; here they reach it by a call. A worker has much memory. So a process has one only
 * while a thread is in a long turn, or has deferred reports.
 */
#ifndef CLI_OUTSIDE_REPORTING_H
#define CLI_OUTSIDE_REPORTING_H

#include "cli/outside/watched.h"
#include "watch/run.h"

/* Gives the process a worker, unless it has one. 0 or a negative errno value. */
int reporting_open(struct outside_process *p);
/* True: the worker has a turn that has not ended, or is not reported yet. */
bool reporting_has_turn(const struct outside_process *p);
/* Frees the worker if it has nothing to do. `at_once`: frees it always. */
void reporting_close(struct outside_process *p, bool at_once);
/* The process has ended, or runs another program. Frees all that is left. */
void reporting_forget(struct outside_process *p);

/* The watch of the thread in the worker's run. NULL: there is no slot for it. */
struct hd_watch *reporting_watch(struct outside_thread *t);
/* The thread ends, and gives its slot back. */
void reporting_leave(struct outside_thread *t);

/* A message with room for the capture of a sample. */
struct reporting_message {
    struct hd_message head;
    struct hd_capture capture;
};

/* Fills the members of a message about the thread that do not depend on its type. */
void reporting_begin(const struct outside_thread *t, struct reporting_message *m);
/* Lets the worker handle the message. Then calls the watcher's callbacks for what the worker has published.
 * Returns whether the worker has the message's turn now. It has no place for a sixth turn. */
bool reporting_send(struct outside_process *p, const struct reporting_message *m);
/* Writes the reports of open hangs that are due. */
void reporting_update(struct outside_process *p);

/* Stores the duration of an open hang in the record, for the end of the process. */
void reporting_duration(const struct outside_thread *t, uint64_t start_ns, uint64_t excluded_ns,
                        uint64_t duration_ns);
/* The thread has not waited since the watch began. If a function that runs a loop is on its stack, that is
 * evidence for a loop. */
void reporting_find_loop(struct outside_thread *t, const struct hd_capture *c);

/* The certainty of the thread's loop has changed, or its loop is another one. */
void reporting_certainty(struct outside_thread *t);
void reporting_void(struct outside_thread *t);
/* The thread or its watch ends. If it is doubtful that the thread has a loop, its deferred reports are
 * withdrawn, and the open report is. */
void reporting_settle(struct outside_thread *t);

#endif
