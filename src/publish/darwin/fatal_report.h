/* SPDX-License-Identifier: MIT
 *
 * Makes the report of an open hang a report of a fatal hang, after the process died. Worker: may wait for the
 * disk; no allocation.
 */
#ifndef HD_FATAL_REPORT_H
#define HD_FATAL_REPORT_H

#include "base/types.h"

/* Writes the report `id` again in the folder `dir_fd`, with the kind fatal-hang and at least this duration,
 * and removes its marker. Returns 0; -ENOENT: there is no such report; -EINVAL: the file is not the report of
 * an open hang; or another negative errno value. */
int hd_fatal_report_finish(int dir_fd, const uint8_t id[HD_UUID_BYTES], uint64_t duration_ns);

#endif
