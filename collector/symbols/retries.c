/* SPDX-License-Identifier: MIT */
#include "collector/symbols/retries.h"

#include <stdio.h>
#include <string.h>

#define FIRST_PAUSE_MS 2000
#define NEXT_PAUSE_MS 60000

static struct retry *find(const struct retries *r, const char *build, const char *report) {
    for (int i = 0; i < r->count; i++) {
        if (strcmp(r->entry[i].build, build) == 0 && strcmp(r->entry[i].report, report) == 0) {
            return (struct retry *)(uintptr_t)&r->entry[i];
        }
    }
    return NULL;
}

bool retries_waits(const struct retries *r, const char *build, const char *report, int64_t now_ms) {
    const struct retry *entry = find(r, build, report);
    return entry != NULL && now_ms < entry->at_ms;
}

bool retries_add(struct retries *r, const char *build, const char *report, int64_t now_ms) {
    struct retry *entry = find(r, build, report);
    if (entry == NULL && r->count == RETRIES_MAX) {
        return false;
    }
    if (entry == NULL) {
        entry = &r->entry[r->count++];
        *entry = (struct retry){0};
        snprintf(entry->build, sizeof entry->build, "%s", build);
        snprintf(entry->report, sizeof entry->report, "%s", report);
    }
    entry->tries++;
    bool again = entry->tries < RETRY_TRIES;
    entry->at_ms = !again ? INT64_MAX : now_ms + (entry->tries == 1 ? FIRST_PAUSE_MS : NEXT_PAUSE_MS);
    return again;
}

void retries_end(struct retries *r, const char *build, const char *report) {
    struct retry *entry = find(r, build, report);
    if (entry != NULL) {
        *entry = r->entry[--r->count];
    }
}

int64_t retries_next_ms(const struct retries *r, int64_t otherwise) {
    int64_t next = otherwise;
    for (int i = 0; i < r->count; i++) {
        next = r->entry[i].at_ms < next ? r->entry[i].at_ms : next;
    }
    return next;
}
