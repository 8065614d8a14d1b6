/* SPDX-License-Identifier: MIT
 *
 * The threads of a live report as text for a person. Ordinary code.
 */
#ifndef CLI_LIVE_DUMP_TEXT_H
#define CLI_LIVE_DUMP_TEXT_H

#include "cli/render/render.h"

/* 0, or -1 with errno when `out` cannot be written. */
int dump_text(FILE *out, const json_t *report, const struct render_options *o);

/* "deadlock: 8354 -> 8371 -> 8354". Caller frees; NULL: no memory. */
char *dump_text_ring(const json_t *ring);

#endif
