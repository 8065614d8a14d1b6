/* SPDX-License-Identifier: MIT */
#include "preload/darwin/inserted_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static char **find(char *const *environment, const char *name) {
    size_t n = strlen(name);
    char *const *e = environment;
    while (*e != NULL && (strncmp(*e, name, n) != 0 || (*e)[n] != '=')) {
        e++;
    }
    return *e != NULL ? (char **)(void *)e : NULL;
}

const char *hd_inserted_find(char *const *environment, const char *name) {
    char *const *e = find(environment, name);
    return e != NULL ? *e + strlen(name) + 1 : NULL;
}

void hd_inserted_drop(char **environment, const char *name) {
    char **e = find(environment, name);
    for (; e != NULL && *e != NULL; e++) {
        e[0] = e[1];
    }
}

static bool is_ours(const char *entry, size_t n) {
    size_t file = sizeof HD_INSERTED_FILE - 1;
    return n >= file && memcmp(entry + n - file, HD_INSERTED_FILE, file) == 0 &&
           (n == file || entry[n - file - 1] == '/');
}

void hd_inserted_clean(char **environment) {
    char **e = find(environment, HD_INSERTED_VARIABLE);
    if (e == NULL) {
        return;
    }
    char *to = *e + sizeof HD_INSERTED_VARIABLE; /* behind the '=' */
    char *first = to;
    for (const char *from = to; *from != '\0';) {
        size_t n = 0;
        while (from[n] != '\0' && from[n] != ':') {
            n++;
        }
        const char *next = from + n + (from[n] == ':');
        if (!is_ours(from, n)) {
            if (to != first) {
                *to++ = ':';
            }
            memmove(to, from, n);
            to += n;
        }
        from = next;
    }
    *to = '\0';
    if (to == first) {
        hd_inserted_drop(environment, HD_INSERTED_VARIABLE);
    }
}
