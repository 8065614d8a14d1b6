/* SPDX-License-Identifier: MIT */
#include "uploader/sentry_dsn.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The key goes into a line of the request, and the rest into its address. */
static bool all_are(const char *text, size_t n, bool allowed(char c)) {
    for (size_t i = 0; i < n; i++) {
        if (!allowed(text[i])) {
            return false;
        }
    }
    return n > 0;
}

static bool is_of_key(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static bool is_of_address(char c) {
    return isgraph((unsigned char)c) && strchr("@?#\"<>\\", c) == NULL;
}

bool sentry_dsn_parse(const char *dsn, struct sentry_dsn *out) {
    const char *scheme_end = strstr(dsn, "://"), *start = scheme_end != NULL ? scheme_end + 3 : dsn;
    const char *at = strchr(start, '@'), *end = dsn + strlen(dsn);
    if (scheme_end == NULL || at == NULL) {
        return false;
    }
    size_t scheme = (size_t)(scheme_end - dsn), key = strcspn(start, ":@"); /* a secret may follow the key */
    while (end > at && end[-1] == '/') {
        end--;
    }
    const char *project = end;
    while (project > at + 1 && project[-1] != '/') {
        project--;
    }
    size_t host = (size_t)(project - at - 1);
    if ((strncmp(dsn, "http:", 5) != 0 && strncmp(dsn, "https:", 6) != 0) || key >= sizeof out->key ||
        host < 2 || !all_are(start, key, is_of_key) || !all_are(at + 1, host, is_of_address) ||
        !all_are(project, (size_t)(end - project), is_of_key)) {
        return false;
    }
    snprintf(out->key, sizeof out->key, "%.*s", (int)key, start);
    return (size_t)snprintf(out->address, sizeof out->address, "%.*s://%.*sapi/%.*s/envelope/", (int)scheme,
                            dsn, (int)host, at + 1, (int)(end - project), project) < sizeof out->address;
}
