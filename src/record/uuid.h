/* SPDX-License-Identifier: MIT
 *
 * Makes ids of reports and runs: UUIDs of version 7 (RFC 9562), which sort by time. Any thread; no
 * allocation.
 */
#ifndef HD_UUID_H
#define HD_UUID_H

#include "base/types.h"

/* Writes the id into `text` as 36 characters and a NUL. */
void hd_uuid_text(const uint8_t id[HD_UUID_BYTES], char text[37]);
/* Makes an id from the milliseconds of `wall_ns`, a counter and random bits. The id is larger than all ids
 * that this function has made in the process before. */
void hd_uuid_make(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* Makes an id with exactly the time `wall_ns`, even if an earlier id has a later time. */
void hd_uuid_make_at(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);
/* Makes an id for a session report, the report about a whole run. One bit of the id is set. By this bit, the
 * report's file name in the spool shows that the report is a session's. */
void hd_uuid_make_session(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns);

#endif
