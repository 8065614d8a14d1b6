/* SPDX-License-Identifier: MIT
 *
 * What reports say of the machine and the program. Worker.
 */
#ifndef HD_HOST_H
#define HD_HOST_H

#include "base/types.h"

struct hd_worker;

/* At an instant. */
struct hd_process {
    uint64_t rss_bytes; /* resident memory */
    bool debugger;      /* a debugger is attached */
};

/* Once, at the start. */
void hd_host_fill(struct hd_worker *k);
void hd_host_read_process(int proc_fd, struct hd_process *process);

#endif
