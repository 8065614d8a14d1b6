/* SPDX-License-Identifier: MIT */
#include "recognise/wait_seen.h"

enum hd_wait_evidence hd_wait_seen_evidence(const struct hd_wait_seen *w) {
    return hd_wait_seen_needs_kinds(w) ? hd_kinds_evidence(&w->kinds) : (enum hd_wait_evidence)w->stack.names;
}
