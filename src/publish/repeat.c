/* SPDX-License-Identifier: MIT
 *
 * A hang that repeats an earlier one, but is much longer, has more to say. So that hang gets a full report of
 * its own. On the worker thread.
 */
#include "publish/repeat.h"

#include <string.h>

#define LONGER 4 /* a hang that is longer by more than a quarter (1/4) is not a repeat */

bool hd_repeat_matches(const struct hd_repeat *before, const struct hd_report *r, uint64_t stack) {
    bool longer = r->duration_ns > before->duration_ns + before->duration_ns / LONGER;
    return r->complete && r->fingerprint == before->fingerprint && stack != 0 && stack == before->stack &&
           !longer;
}

void hd_repeat_store(struct hd_repeat *before, const struct hd_report *r, uint64_t stack) {
    before->fingerprint = r->fingerprint;
    before->stack = stack;
    before->duration_ns = r->duration_ns;
    memcpy(before->id, r->id, sizeof before->id);
}
