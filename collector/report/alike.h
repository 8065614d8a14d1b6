/* SPDX-License-Identifier: MIT
 *
 * Whether two paths of the app's functions are of one bug, in two builds of the app. Pure.
 *
 * A path is lines of text: "whole", "calls" or "partial", then the functions, the innermost first. Each has
 * its weight before its name: '!' for most of the hang's time, '+' for half of it, '?' for less.
 *
 * "calls": it is whole, and the innermost function has called a library. Without debug information
 * ("partial") an inlined function has no frame. A function that ends by a call may have given its frame to
 * that call. Of a function with about half of the time another hang may have less. And a compiler gives the
 * instructions of an inlined function to its caller's lines.
 */
#ifndef COLLECTOR_REPORT_ALIKE_H
#define COLLECTOR_REPORT_ALIKE_H

#include <stdbool.h>

/* How alike two paths are, the least first. */
enum alike {
    ALIKE_NOT,
    ALIKE_PART,  /* `a` or `b` has all functions of the other, and both may lack some */
    ALIKE_WHOLE, /* the same, and `b` is whole */
    ALIKE_SAME,  /* the same functions */
};

enum alike alike(const char *a, const char *b);
/* `a` stands better for a group than `b`, which lacks functions. */
bool alike_is_better(const char *a, const char *b);
/* One of them has all functions of the other. */
bool alike_is_nested(const char *a, const char *b);

#endif
