/* SPDX-License-Identifier: MIT */
#include "cli/base/moment.h"

#include <string.h>

#include "cli/base/duration.h"

/* Midnight of the day so many days before. */
static bool midnight(time_t now, int days, time_t *moment) {
    struct tm day;
    if (localtime_r(&now, &day) == NULL) {
        return false;
    }
    day.tm_mday -= days;
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    *moment = mktime(&day);
    return *moment != (time_t)-1;
}

static bool parse_date(const char *text, time_t *moment) {
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                          "%Y-%m-%dT%H:%M:%S"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct tm day = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &day);
        if (end != NULL && *end == '\0') {
            *moment = mktime(&day);
            return *moment != (time_t)-1;
        }
    }
    return false;
}

bool moment_parse(const char *text, time_t now, time_t *moment) {
    if (strcmp(text, "today") == 0) {
        return midnight(now, 0, moment);
    }
    if (strcmp(text, "yesterday") == 0) {
        return midnight(now, 1, moment);
    }
    /* A number without a unit is not a duration: 2026 may be a year. */
    if (strspn(text, "0123456789") != strlen(text)) {
        int64_t ago = duration_parse(text);
        if (ago >= 0) {
            *moment = now - (time_t)(ago / DURATION_S);
            return true;
        }
    }
    return parse_date(text, moment);
}

const char *moment_write(char text[MOMENT_BYTES], time_t moment) {
    struct tm utc;
    text[0] = '\0';
    if (gmtime_r(&moment, &utc) != NULL) {
        strftime(text, MOMENT_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    }
    return text;
}
