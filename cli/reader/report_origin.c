/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_origin.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/json_text.h"

#define ID_SHOWN 12
#define PATTERN_BYTES 512

static bool fits(const char *pattern, const char *text) {
    return text[0] != '\0' && fnmatch(pattern, text, 0) == 0;
}

static bool fits_unit(const char *pattern, const char *unit) {
    char longer[PATTERN_BYTES];
    snprintf(longer, sizeof longer, "%s.service", pattern);
    return fits(pattern, unit) || fits(longer, unit);
}

static bool fits_container(const char *pattern, const json_t *container) {
    char id[ID_SHOWN + 1];
    snprintf(id, sizeof id, "%s", json_text(container, "id"));
    return fits(pattern, json_text(container, "name")) || fits(pattern, json_text(container, "image")) ||
           fits(pattern, json_text(container, "id")) || fits(pattern, id);
}

bool report_origin_fits(const json_t *report, const struct report_origin *wanted) {
    const json_t *host = json_object_get(report, "host");
    return (wanted->host == NULL || fits(wanted->host, json_text(host, "name"))) &&
           (wanted->unit == NULL || fits_unit(wanted->unit, json_text(host, "unit"))) &&
           (wanted->container == NULL ||
            fits_container(wanted->container, json_object_get(host, "container")));
}

bool report_origin_is_any(const struct report_origin *wanted) {
    return wanted->host == NULL && wanted->unit == NULL && wanted->container == NULL;
}

void report_origin_add(json_t *summary, const json_t *report) {
    const json_t *host = json_object_get(report, "host"), *container = json_object_get(host, "container");
    const json_t *name = json_object_get(container, "name");
    json_object_set(summary, "host", json_object_get(host, "name"));
    json_object_set(summary, "unit", json_object_get(host, "unit"));
    if (name != NULL) {
        json_object_set(summary, "container", (json_t *)name);
    } else if (json_text(container, "id")[0] != '\0') {
        const char *id = json_text(container, "id");
        json_object_set_new(summary, "container", json_stringn(id, strnlen(id, ID_SHOWN)));
    }
}
