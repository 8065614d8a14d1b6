/* SPDX-License-Identifier: MIT */
#include "turn/turn_label.h"

#include <string.h>

void hd_turn_label_add(struct hd_turn_label *l, const struct hd_label_text *seen, uint64_t for_ns) {
    if (strcmp(l->text.label, seen->label) == 0 && strcmp(l->text.traceparent, seen->traceparent) == 0) {
        l->lead_ns += for_ns;
    } else if (for_ns >= l->lead_ns) {
        l->lead_ns = for_ns - l->lead_ns;
        l->text = *seen;
    } else {
        l->lead_ns -= for_ns;
    }
}
