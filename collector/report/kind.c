/* SPDX-License-Identifier: MIT */
#include "collector/report/kind.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_hang, is_listed;
} kinds[] = {
    {"frame-drop", .is_listed = true},
    {"cpu", .is_listed = true},
    {"crash", .is_listed = true},
    {"error", .is_listed = true},
    {"fatal-hang", .is_hang = true, .is_listed = true},
    {"launch", .is_hang = true, .is_listed = true},
    {"background-hang", .is_hang = true, .is_listed = true},
    {"too-many-threads", .is_listed = true},
    {"live", .is_listed = true},
    {"hang", .is_hang = true},
    {"session", .is_hang = false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static size_t find(const char *kind) {
    size_t i = 0;
    while (i < KINDS && strcmp(kinds[i].name, kind) != 0) {
        i++;
    }
    return i;
}

bool kind_is_hang(const char *kind) {
    size_t i = find(kind);
    return i < KINDS && kinds[i].is_hang;
}

bool kind_is_listed(const char *kind) {
    size_t i = find(kind);
    return i < KINDS && kinds[i].is_listed;
}

void kind_write_listed(char *text, size_t size) {
    size_t last = 0, used = 0;
    for (size_t i = 0; i < KINDS; i++) {
        last = kinds[i].is_listed ? i : last;
    }
    for (size_t i = 0; i < KINDS && used < size; i++) {
        if (kinds[i].is_listed) {
            const char *before = used == 0 ? "" : i == last ? " or " : ", ";
            used += (size_t)snprintf(text + used, size - used, "%s%s", before, kinds[i].name);
        }
    }
}
