/* SPDX-License-Identifier: MIT
 *
 * Which reports are of one bug: those with equal fingerprints are one group. The rule has a version, which is
 * part of the fingerprint. A new rule does not mix with the groups of an older one. Pure.
 *
 * A fingerprint has the app, the class of the cause, and at most five of the app's own functions, the
 * innermost first. The loop calls these functions, and each has at least half of the hang's time. For a wait
 * for a lock they are the functions of the lock's owner, for a deadlock those of all threads in it. Where the
 * app's functions only call the loop, or are main, functions of libraries take their place. Without those it
 * is the best other function and the system call. Functions without a name count only where no function has
 * one. A lambda has the name of the function around it, also where the compiler inlined it into the standard
 * library.
 *
 * Builds with the same bug may differ: without debug information an inlined function has no frame, and a tail
 * call removes the caller's frame. So `frames` has the whole path, and alike.h says which paths are of one
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
    char function[256]; /* the name of the group: a function of the hang, or of the lock's owner */
    char place[128];    /* the function's file and line, or the module; may be empty */
    char path[GROUPING_PATH_BYTES];     /* the lines that are hashed: why a report is in its group */
    char family[GROUPING_HEX + 1];      /* only paths of one family are compared; "": never alike */
    char frames[GROUPING_FRAMES_BYTES]; /* the whole path, as alike.h reads it */
    bool by_owner;
};

void grouping_of(const json_t *report, struct grouping *out);

#endif
