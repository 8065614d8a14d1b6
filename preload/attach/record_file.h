/* SPDX-License-Identifier: MIT
 *
 * The runner's memory file: a table of records, one for each program that a watched process executes. These
 * functions run on the program's threads. So the descriptors that they open are in the program's descriptor
 * table.
 */
#ifndef HD_RECORD_FILE_H
#define HD_RECORD_FILE_H

#include "record/record.h"

/* Takes a record for the program that this process executes. `text`: the file's path, "FD" or "FD:NUMBER". FD
 * is a descriptor of the file; this call closes it if the file is ours. NUMBER is the index of the record
 * that this process had before exec. NULL: the file is not ours, or no record is free. */
struct hd_record *hd_record_file_take(const char *text);

/* Takes a record for a forked child, and copies the app name from `parent`. NULL: children are not followed,
 * or no record is free. */
struct hd_record *hd_record_file_take_for_child(const struct hd_record *parent);

/* Returns the file's path, for the environment variables of child processes. NULL: children are not
 * followed. Async-signal-safe. */
const char *hd_record_file_path(void);

/* Returns the outbox (record/outbox.h). It takes the reports that this process has no right to write into
 * the spool. NULL: there is no runner. */
struct hd_outbox *hd_record_file_outbox(void);

/* Returns the first record. It also has the counters that all followed processes share (struct
 * hd_record_shared). */
struct hd_record *hd_record_file_first(void);

/* Adds `more` to the number of children that execed a program without a watch. The caller passes 1 before the
 * exec, and -1 if the exec has failed. Async-signal-safe. */
void hd_record_file_count_unwatched(int32_t more);

/* Opens a new descriptor of the file for the program that this process is about to exec. The descriptor
 * survives exec. Returns the descriptor or a negative errno value. Async-signal-safe. */
int hd_record_file_open(void);
/* Returns the index of record `r` in the file. Async-signal-safe. */
unsigned hd_record_file_number(const struct hd_record *r);

/* Keeps the file open at a high descriptor number while our threads do not run. While they run, the worker's
 * descriptor keeps it open. */
void hd_record_file_keep(void);
/* Closes the descriptor that hd_record_file_keep has opened. */
void hd_record_file_release(void);

#endif
