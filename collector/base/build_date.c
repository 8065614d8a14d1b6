/* SPDX-License-Identifier: MIT */
#include "collector/base/build_date.h"

#include <time.h>

#define DAY_S 86400

const char *build_date(void) {
    return BUILD_DATE;
}

bool build_date_is_to_come(void) {
    struct tm tm = {0};
    const char *end = strptime(BUILD_DATE, "%Y-%m-%d", &tm);
    return end != NULL && time(NULL) < timegm(&tm) - DAY_S;
}
