/* SPDX-License-Identifier: MIT
 *
 * The runner's memory file: a table of records, one for each program image that is watched. Ordinary code.
 */
#ifndef HD_RECORD_FILE_H
#define HD_RECORD_FILE_H

#include "record/record.h"

/* By its number, with that of the record which this process had before exec, or by its path. NULL: not ours,
 * or no place is left. The record is this image's alone. */
struct hd_record *hd_record_file_take(const char *text);

/* A record for a forked child, which has the file mapped where children are followed. It is the same app as
 * its parent. NULL: no place is left. */
struct hd_record *hd_record_file_take_again(const struct hd_record *parent);

/* What children are followed by: the file's path, for their environment. NULL: they are not.
 * Async-signal-safe. */
const char *hd_record_file_path(void);

/* Where reports go that this process may not write itself; NULL: nobody takes them. */
struct hd_outbox *hd_record_file_outbox(void);

/* The first record of the table, which all that are followed share. */
struct hd_record *hd_record_file_first(void);

/* A child of the program becomes one that cannot be watched (1), or could not become it (-1).
 * Async-signal-safe. */
void hd_record_file_count_unwatched(int32_t more);

/* The file once more, for the program that this process is about to become: a descriptor that survives exec,
 * or a negative errno value. Async-signal-safe. `number`: which record that one will find to be its own. */
int hd_record_file_open(void);
unsigned hd_record_file_number(const struct hd_record *r);

/* Keeps the file open while no thread of ours does, out of the way of the program's numbers. */
void hd_record_file_keep(void);
void hd_record_file_keep_no_longer(void);

#endif
