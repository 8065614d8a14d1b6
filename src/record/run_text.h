/* SPDX-License-Identifier: MIT
 *
 * The options of a run as text, for an environment variable: a line "NAME=VALUE" for each option. On macOS
 * the command has no file to share with the program, as it has on Linux. Pure; no allocation.
 */
#ifndef HD_RUN_TEXT_H
#define HD_RUN_TEXT_H

#include "record/record.h"

#define HD_RUN_TEXT_VARIABLE "HANGDOG_RUN"
#define HD_RUN_TEXT_BYTES 4096u /* enough for any options */

/* 0; -EINVAL: a text has a line break; -ENAMETOOLONG: `size` is too small. */
int hd_run_text_write(const struct hd_record_options *o, char *text, size_t size);

/* Reads what hd_run_text_write wrote. Names that are not known, and options that are not named, are left as
 * they are. 0; -EINVAL: a line is no option, or its value is not a number; -ENAMETOOLONG: a text is too long.
 */
int hd_run_text_read(struct hd_record_options *o, const char *text);

#endif
