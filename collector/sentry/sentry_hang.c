/* SPDX-License-Identifier: MIT */
#include "collector/sentry/sentry_hang.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/json_text.h"

#define NS_PER_MS 1000000.0
#define NS_PER_S 1000000000.0
#define SECONDS_MAX 1e7

static bool is_hang(const json_t *exception) {
    static const char *const mechanisms[] = {"ANR", "AppHang", "AppExitInfo"};
    static const char *const types[] = {"ApplicationNotResponding", "ANR", "EventLoopBlocked", "App Hang",
                                        "Fatal App Hang"};
    const char *mechanism = json_text(json_object_get(exception, "mechanism"), "type");
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        if (strcasecmp(mechanism, mechanisms[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strncasecmp(json_text(exception, "type"), types[i], strlen(types[i])) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t as_ns(double value, double unit) {
    double ns = value * unit;
    return value >= 0 && ns < SECONDS_MAX * NS_PER_S ? (int64_t)ns : 0;
}

/* "Application Not Responding for at least 600 ms", "App hanging between 2.0 and 2.1 seconds." */
static int64_t duration_in(const char *text) {
    for (const char *p = text; *p != '\0';) {
        char *end = NULL;
        if (!isdigit((unsigned char)*p)) {
            p++;
            continue;
        }
        double value = strtod(p, &end);
        const char *unit = end + strspn(end, " ");
        if (strncmp(unit, "ms", 2) == 0 || strncmp(unit, "milli", 5) == 0) {
            return as_ns(value, NS_PER_MS);
        }
        if (strncmp(unit, "s ", 2) == 0 || strcmp(unit, "s") == 0 || strncmp(unit, "second", 6) == 0 ||
            strncmp(unit, "and ", 4) == 0) {
            return as_ns(value, NS_PER_S);
        }
        p = end;
    }
    return 0;
}

struct sentry_hang sentry_hang_of(const json_t *exception) {
    struct sentry_hang hang = {.is_hang = is_hang(exception)};
    const json_t *data = json_object_get(json_object_get(exception, "mechanism"), "data");
    const json_t *ms = json_object_get(data, "duration_ms");
    if (hang.is_hang) {
        hang.is_fatal = strncasecmp(json_text(exception, "type"), "Fatal", 5) == 0;
        hang.duration_ns = json_is_number(ms) ? as_ns(json_number_value(ms), NS_PER_MS)
                                              : duration_in(json_text(exception, "value"));
    }
    return hang;
}
