/* SPDX-License-Identifier: MIT */
#include "collector/report/alike.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "collector/report/frame_name.h"

#define FRAMES_MAX 32
#define LEAVES 2
#define SHARED 3

struct path {
    char name[FRAMES_MAX][FRAME_NAME_BYTES];
    char weight[FRAMES_MAX];
    size_t count;
    size_t certain; /* the first function that each hang of the bug has: at least the outermost */
    bool partial, calls;
};

static void read_path(const char *text, struct path *out) {
    out->partial = strncmp(text, "partial\n", 8) == 0;
    out->calls = strncmp(text, "calls\n", 6) == 0;
    out->count = 0;
    for (text = strchr(text, '\n'); text != NULL && text[1] != '\0' && out->count < FRAMES_MAX;
         text = strchr(text + 1, '\n')) {
        const char *end = strchrnul(text + 2, '\n');
        size_t n = (size_t)(end - text) - 2;
        n = n < FRAME_NAME_BYTES ? n : FRAME_NAME_BYTES - 1;
        out->weight[out->count] = text[1];
        memcpy(out->name[out->count], text + 2, n); /* the store compares a new path with hundreds */
        out->name[out->count++][n] = '\0';
    }
    for (out->certain = 0; out->certain + 1 < out->count && out->weight[out->certain] != '!';) {
        out->certain++;
    }
}

/* The certain functions of `x` are in `y`, in their order; *first: where the innermost of them is, or what
 * both call from there. */
static bool is_within(const struct path *x, const struct path *y, size_t *first) {
    size_t at = *first = 0;
    for (size_t i = x->certain; i < x->count; i++) {
        while (at < y->count && !frame_name_equal(x->name[i], y->name[at])) {
            at++;
        }
        if (at == y->count) {
            return false;
        }
        if (i == x->certain) {
            *first = at;
        }
        at++;
    }
    for (size_t i = x->certain; i > 0 && *first > 0 && frame_name_equal(x->name[i - 1], y->name[*first - 1]);
         i--) {
        (*first)--;
    }
    return x->certain < x->count;
}

static size_t shared_by(const struct path *x) {
    size_t count = 0;
    for (size_t i = x->certain; i < x->count; i++) {
        count += strcmp(x->name[i], "main") != 0;
    }
    return count;
}

/* `x` lacks functions that `y` has, and a build with the bug of `y` may lack them. A whole path may lack
 * callers, or few of the innermost functions. The innermost function of `y` may have called a library last.
 * Or the compiler gave its instructions to the caller's lines. */
static bool is_build_of(const struct path *x, const struct path *y) {
    size_t first = 0;
    return is_within(x, y, &first) &&
           (x->partial || first <= y->certain || (first == y->certain + 1 && x->calls) ||
            (first - y->certain <= LEAVES && shared_by(x) >= SHARED));
}

enum alike alike(const char *a, const char *b) {
    struct path x, y;
    size_t first;
    read_path(a, &x);
    read_path(b, &y);
    if (is_within(&x, &y, &first) && is_within(&y, &x, &first)) {
        return ALIKE_SAME;
    }
    if (is_build_of(&x, &y) || is_build_of(&y, &x)) {
        return y.partial ? ALIKE_PART : ALIKE_WHOLE;
    }
    return ALIKE_NOT;
}

bool alike_is_better(const char *a, const char *b) {
    struct path x, y;
    read_path(a, &x);
    read_path(b, &y);
    return y.partial && (!x.partial || x.count > y.count);
}

bool alike_is_nested(const char *a, const char *b) {
    struct path x, y;
    size_t first;
    read_path(a, &x);
    read_path(b, &y);
    return is_within(&x, &y, &first) || is_within(&y, &x, &first);
}
