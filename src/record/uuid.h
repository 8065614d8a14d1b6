/* SPDX-License-Identifier: MIT
 *
 * Ids of reports and runs: UUIDs of version 7 (RFC 9562), which sort by time. Any thread; no allocation.
 */
#ifndef HD_UUID_H
#define HD_UUID_H

#include "base/types.h"

/* 36 characters and a NUL. */
void hd_uuid_text(const uint8_t id[HD_UUID_BYTES], char text[37]);
/* Milliseconds of wall time, then random bits; increases within a process. */
void hd_uuid_make(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* The same with exactly that time, also where it is before that of another id. */
void hd_uuid_make_at(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* The same, of a session report: in the spool these are known by their names (spool_files.c). */
void hd_uuid_make_session(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);

#endif
