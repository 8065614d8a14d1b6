/* SPDX-License-Identifier: MIT
 *
 * Which reports are of one bug. The rule has a version, which is part of the fingerprint and of the store: a
 * newer rule does not mix with the groups of an older one. Pure.
 *
 * The fingerprint: the app, the class of the cause, and at most five of the app's own functions, the
 * innermost first, that have at least half of the hang's time and are called by the loop. A hang for a lock
 * is grouped by what the lock's owner did, a deadlock by what all of its threads did. Where the app's
 * functions only call the loop, or are main: the functions of libraries in their place. Without any: the best
 * other one, and the system call. Equal fingerprints are one group. Functions without a name are left out
 * where there are others. A lambda has the name of the function that it is in, also where a compiler inlined
 * it into the standard library's.
 *
 * Builds of one bug may differ: a function that was inlined has no frame without debug information, and a
 * tail call takes its caller's frame. So `frames` has the whole path, and alike.h says which paths are of one
 * bug.
 */
#ifndef COLLECTOR_REPORT_GROUPING_H
#define COLLECTOR_REPORT_GROUPING_H

#include <jansson.h>
#include <stdbool.h>

#define GROUPING_VERSION 4
#define GROUPING_HEX 16
#define GROUPING_PATH_BYTES 2048
#define GROUPING_FRAMES_BYTES 4096

struct grouping {
    char fingerprint[GROUPING_HEX + 1];
    char function[256];                 /* the group's name: of the hang, or of the lock's owner */
    char place[128];                    /* its file and line, or its module; may be empty */
    char path[GROUPING_PATH_BYTES];     /* what was hashed, a line each: why a report is in its group */
    char family[GROUPING_HEX + 1];      /* only paths of one family are compared; "": none is alike */
    char frames[GROUPING_FRAMES_BYTES]; /* the whole path, as alike.h reads it */
    bool by_owner;
};

void grouping_of(const json_t *report, struct grouping *out);

#endif
