/* SPDX-License-Identifier: MIT
 *
 * The threads of a live report as text for a person. Ordinary code.
 */
#ifndef CLI_LIVE_DUMP_TEXT_H
#define CLI_LIVE_DUMP_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct dump_text_options {
    bool colour, all_frames;
    const json_t *notes; /* why names are missing; NULL: none */
};

/* 0, or -1 with errno when `out` cannot be written. */
int dump_text(FILE *out, const json_t *report, const struct dump_text_options *o);

#endif
