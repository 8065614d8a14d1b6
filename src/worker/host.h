/* SPDX-License-Identifier: MIT
 *
 * What reports say of the machine and the program. Worker.
 */
#ifndef HD_HOST_H
#define HD_HOST_H

#include "worker/worker.h"

/* Once, at the start. */
void hd_host_fill(struct hd_worker *k);
/* Resident memory, and whether a debugger is attached. */
void hd_host_read_process(struct hd_worker *k);

#endif
