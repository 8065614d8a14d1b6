/* SPDX-License-Identifier: MIT
 *
 * The runner's memory file: a table of records, one for each watched program image. On the program's threads.
 * The descriptors belong to the program's table.
 */
#ifndef HD_RECORD_FILE_H
#define HD_RECORD_FILE_H

#include "record/record.h"

/* Takes a record for this image. `text`: the file's path, or "FD" or "FD:NUMBER" with a descriptor, which is
 * then closed, and the record that this process had before exec. NULL: not a file of ours, or no free record.
 */
struct hd_record *hd_record_file_take(const char *text);

/* Takes a record for a forked child, with the app name of `parent`. NULL: children are not followed, or no
 * free record. */
struct hd_record *hd_record_file_take_for_child(const struct hd_record *parent);

/* The file's path, for the environment of children. NULL: children are not followed. Async-signal-safe. */
const char *hd_record_file_path(void);

/* The outbox, for reports that this process may not write itself; NULL: no runner. */
struct hd_outbox *hd_record_file_outbox(void);

/* The first record, which all followed processes share. */
struct hd_record *hd_record_file_first(void);

/* Changes the number of children that execed a program without a watch: 1 before the exec, -1 after a failed
 * exec. Async-signal-safe. */
void hd_record_file_count_unwatched(int32_t more);

/* For the program that this process is about to exec: a new descriptor of the file, which survives exec, or a
 * negative errno value. And the index of record `r` in the file. Async-signal-safe. */
int hd_record_file_open(void);
unsigned hd_record_file_number(const struct hd_record *r);

/* Keep the file open at a high descriptor number while our threads do not run, and close it again. */
void hd_record_file_keep(void);
void hd_record_file_release(void);

#endif
