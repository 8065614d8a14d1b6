/* SPDX-License-Identifier: MIT
 *
 * The worker thread. It does all work in which the disk may block a thread, so that the disk never blocks the
 * monitor. The worker allocates no memory.
 */
#ifndef HD_WORKER_H
#define HD_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct hd_message;
struct hd_run;
struct hd_worker; /* worker/state.h */

/* Returns how many bytes of memory the worker needs: for struct hd_worker, and for buffers behind it. The
 * caller must align the memory to a page. */
size_t hd_worker_bytes(void);

/* Gives the worker its run. Call it before the thread starts. All other memory of the worker must be zero. */
void hd_worker_give_run(struct hd_worker *worker, struct hd_run *run);

/* The start function of the worker thread. `memory`: the struct hd_worker. */
void *hd_worker_run(void *memory);

/* ---- the parts of hd_worker_run, for a watcher of other processes -------------------------------------- */

/* Gives each part of the worker pointers to the parts that it uses. Call it after hd_worker_give_run. */
void hd_worker_connect(struct hd_worker *worker);

/* Handles one message, which the capture of a sample follows in memory. False: the message was the last one
 * (HD_MSG_STOP). */
bool hd_worker_handle(struct hd_worker *worker, const struct hd_message *msg);

#endif
