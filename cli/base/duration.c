/* SPDX-License-Identifier: MIT */
#include "cli/base/duration.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1000 * 365 * (double)DURATION_D)

/* From the largest; the first name of each is written. */
static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"d", DURATION_D}, {"h", DURATION_H},   {"min", DURATION_MIN},      {"m", DURATION_MIN},
    {"s", DURATION_S}, {"ms", DURATION_MS}, {"us", DURATION_MS / 1000}, {"", DURATION_MS},
};

#define UNITS (sizeof units / sizeof units[0])

int64_t duration_parse(const char *text) {
    char *end;
    if (!isdigit((unsigned char)text[0])) {
        return -1; /* strtod would take "inf" and " -1" */
    }
    double value = strtod(text, &end);
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return -1;
    }
    end += *end == ' ';
    for (size_t i = 0; i < UNITS; i++) {
        if (strcmp(end, units[i].name) == 0) {
            double ns = value * (double)units[i].ns;
            return ns <= MOST ? (int64_t)(ns + 0.5) : -1;
        }
    }
    return -1;
}

const char *duration_write(char text[DURATION_BYTES], int64_t ns) {
    size_t unit = 0;
    while (unit + 2 < UNITS && (ns < units[unit].ns || ns % units[unit].ns != 0)) {
        unit++;
    }
    snprintf(text, DURATION_BYTES, "%" PRId64 "%s", ns / units[unit].ns, units[unit].name);
    return text;
}
