/* SPDX-License-Identifier: MIT
 *
 * The ids in a report's traceparent (W3C Trace Context), for formats that link a report to a trace.
 */
#ifndef EXPORT_TRACE_LINK_H
#define EXPORT_TRACE_LINK_H

#include <stdbool.h>

struct export_trace {
    char trace_id[33], span_id[17]; /* hexadecimal, lower case */
};

/* False: the text has not the form, or an id is zero. */
bool export_trace_of(const char *traceparent, struct export_trace *out);

#endif
