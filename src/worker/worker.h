/* SPDX-License-Identifier: MIT
 *
 * The worker thread. It may wait for a disk, and no other thread waits for it. No allocation.
 */
#ifndef HD_WORKER_H
#define HD_WORKER_H

#include <stddef.h>

struct hd_run;
struct hd_worker; /* worker/state.h */

/* Bytes of memory that the thread needs: struct hd_worker, aligned to a page, and buffers behind it. */
size_t hd_worker_bytes(void);

/* Call it before the thread starts. The memory is zero but for this. */
void hd_worker_give_run(struct hd_worker *worker, struct hd_run *run);

/* The thread's function. `memory`: the struct hd_worker. */
void *hd_worker_run(void *memory);

#endif
