/* SPDX-License-Identifier: MIT
 *
 * The formats of `hangdog export`: a table made of the lines of src/base/words.def. Each format has a writer
 * in a file of its own.
 */
#ifndef CLI_EXPORT_FORMATS_H
#define CLI_EXPORT_FORMATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum export_flag {
    EXPORT_IS_BINARY = 1, /* no terminal shows it */
    EXPORT_CAN_SEND = 2,  /* --send sends it */
};

struct export_format {
    const char *name;
    /* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
    int (*write)(FILE *out, const json_t *reports);
    unsigned flags;            /* enum export_flag */
    bool of_spool;             /* writes sums of a spool, and no stacks */
    const char *suffix, *type; /* of a file, and of an answer over HTTP */
};

/* The writers. Each is in a file named for its format. */
#define HD_WORD_FORMAT(id, ...) int export_##id(FILE *out, const json_t *reports);
#include "base/words.def"

/* The words that an option takes, "a|b|c". */
extern const char export_format_words[]; /* with a "|" before the first word */
#define EXPORT_FORMATS (&export_format_words[1])

/* NULL is text, and so is a name that is unknown. */
const struct export_format *export_format_of(const char *name);
/* The format at an index from 0 on; NULL: there are no more. */
const struct export_format *export_format_at(size_t index);

/* "text, collapsed or otlp", for a message: the formats that `fits` is true for, with `last` before the last
 * one. Cut where it is longer. Returns `text`. */
const char *export_format_list(char *text, size_t size, bool (*fits)(const struct export_format *),
                               const char *last);
bool export_format_is_of_reports(const struct export_format *format);
bool export_format_can_send(const struct export_format *format);

#endif
