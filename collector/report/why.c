/* SPDX-License-Identifier: MIT */
#include "collector/report/why.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((format(printf, 2, 3))) add(char out[WHY_BYTES], const char *format, ...) {
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, WHY_BYTES - used, format, args);
    va_end(args);
}

/* The rest of the next line that begins with `head`, after *at; its length is *n. NULL: there is none. */
static const char *next_line(const char **at, const char *head, int *n) {
    size_t length = strlen(head);
    for (const char *line = *at; *line != '\0';) {
        size_t whole = strcspn(line, "\n");
        const char *next = line + whole + (line[whole] == '\n');
        if (strncmp(line, head, length) == 0) {
            *at = next;
            *n = (int)(whole - length);
            return line + length;
        }
        line = next;
    }
    return NULL;
}

static const char *only_line(const char *path, const char *head, int *n) {
    return next_line(&path, head, n);
}

/* "f, which g called, which h called" */
static bool add_functions(char out[WHY_BYTES], const char *path, const char *head, const char *start) {
    int n;
    bool any = false;
    for (const char *line; (line = next_line(&path, head, &n)) != NULL; any = true) {
        if (any) {
            add(out, ", which %.*s called", n, line);
        } else {
            add(out, "%s%.*s", start, n, line);
        }
    }
    return any;
}

const char *why_grouped(const char *path, char out[WHY_BYTES]) {
    int n = 0, m = 0;
    const char *app = only_line(path, "app ", &n), *cause = only_line(path, "cause ", &m);
    out[0] = '\0';
    add(out, "The reports of this group are of %.*s", n, app != NULL ? app : "");
    add(out, ", have the cause \"%.*s\"", m, cause != NULL ? cause : "");
    const char *rest = path;
    int k;
    const char *ring = next_line(&rest, "deadlock ", &k);
    if (ring != NULL) {
        add(out, ", and their threads wait for each other in %.*s", k, ring);
        while ((ring = next_line(&rest, "deadlock ", &k)) != NULL) {
            add(out, " and %.*s", k, ring);
        }
        add(out, ".");
    } else if (add_functions(out, path, "owner ", ", and the lock's owner was in ")) {
        add(out, ". Who waited for the lock does not count.");
    } else if (add_functions(out, path, "own ", ", and had at least half of their time in ")) {
        add(out,
            ". Builds in which some of these functions are inlined or gone by a tail call are in it, too.");
        if (cause != NULL && m == 4 && strncmp(cause, "lock", 4) == 0) {
            add(out, " The lock's owner has no stack: it ran, or is not known. So who waited counts.");
        }
    } else if (add_functions(out, path, "library ", ", and no function of the app in its loop: ")) {
        add(out, ".");
    } else {
        add(out, ", and no stack.");
    }
    return out;
}
