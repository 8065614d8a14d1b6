/* SPDX-License-Identifier: MIT
 *
 * Ids of reports and runs: UUIDs of version 7 (RFC 9562), which sort by time. Any thread; no allocation.
 */
#ifndef HD_UUID_H
#define HD_UUID_H

#include "base/types.h"

/* Writes 36 characters and a NUL. */
void hd_uuid_text(const uint8_t id[HD_UUID_BYTES], char text[37]);
/* From milliseconds of wall time, a counter and random bits. Each id of a process is larger than the one
 * before. */
void hd_uuid_make(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* With exactly this time, even where an earlier id has a later time. */
void hd_uuid_make_at(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* For a session report. One bit marks the id, so that its file name in the spool shows the kind. */
void hd_uuid_make_session(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);

#endif
