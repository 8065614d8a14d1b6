/* SPDX-License-Identifier: MIT */
#include "cli/render/row_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/duration.h"
#include "cli/base/path.h"

const char *row_when(char text[ROW_BYTES], const char *rfc3339, bool whole) {
    struct tm utc = {0}, then, today;
    time_t now = time(NULL);
    if (rfc3339 == NULL || strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &utc) == NULL) {
        snprintf(text, ROW_BYTES, "-");
        return text;
    }
    time_t when = timegm(&utc);
    if (localtime_r(&when, &then) == NULL || localtime_r(&now, &today) == NULL) {
        snprintf(text, ROW_BYTES, "-");
        return text;
    }
    bool this_year = then.tm_year == today.tm_year;
    const char *format = whole                                        ? "%Y-%m-%d %H:%M:%S"
                         : this_year && then.tm_yday == today.tm_yday ? "%H:%M:%S"
                         : this_year                                  ? "%e %b %H:%M"
                                                                      : "%e %b %Y";
    strftime(text, ROW_BYTES, format, &then);
    return text;
}

char *row_function(const json_t *summary) {
    const json_t *own = json_object_get(summary, "own");
    const char *function = json_string_value(json_object_get(summary, "function"));
    const char *place = json_string_value(json_object_get(summary, "place"));
    const char *file = file_name(json_string_value(json_object_get(own, "file")));
    int64_t line = json_integer_value(json_object_get(own, "line"));
    char *text = NULL;
    if (function == NULL || file == NULL || line <= 0) {
        return strdup(function != NULL ? function : place != NULL ? place : "-");
    }
    return asprintf(&text, "%s (%s:%" PRId64 ")", function, file, line) < 0 ? NULL : text;
}

const char *row_span(char text[ROW_BYTES], int64_t ns) {
    int64_t minutes = ns / DURATION_MIN + (ns % DURATION_MIN >= DURATION_MIN / 2);
    if (ns < DURATION_MIN) {
        snprintf(text, ROW_BYTES, "%.*f s", ns < 10 * DURATION_S, (double)ns / DURATION_S);
    } else if (minutes < 60) {
        snprintf(text, ROW_BYTES, "%" PRId64 " min", minutes);
    } else {
        snprintf(text, ROW_BYTES, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    }
    return text;
}

void row_print_cpu_reports(FILE *out, const json_t *summaries) {
    size_t count = 0, i;
    const json_t *summary;
    json_array_foreach(summaries, i, summary) {
        const char *kind = json_string_value(json_object_get(summary, "kind"));
        count += kind != NULL && strcmp(kind, "cpu") == 0;
    }
    if (count != 0) {
        fprintf(out, "%zu report%s of high CPU use: list --kind cpu\n", count, count == 1 ? "" : "s");
    }
}
