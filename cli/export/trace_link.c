/* SPDX-License-Identifier: MIT */
#include "cli/export/trace_link.h"

#include <stdio.h>
#include <string.h>

bool export_trace_of(const char *traceparent, struct export_trace *out) {
    int end = 0;
    return strlen(traceparent) == 55 &&
           sscanf(traceparent, "%*2[0-9a-f]-%32[0-9a-f]-%16[0-9a-f]-%*2[0-9a-f]%n", out->trace_id,
                  out->span_id, &end) == 2 &&
           end == 55 && strspn(out->trace_id, "0") < 32 && strspn(out->span_id, "0") < 16;
}
