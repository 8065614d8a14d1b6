/* SPDX-License-Identifier: MIT
 *
 * A file of libhangdog-trace as text: its functions, the launch's first where the program told its end.
 */
#ifndef CLI_RENDER_TRACE_H
#define CLI_RENDER_TRACE_H

#include "cli/render/render.h"

/* `trace`: of trace_load, with names. 0, or -1 with errno when `out` cannot be written. */
int render_trace(FILE *out, const json_t *trace, const struct render_options *o);

#endif
