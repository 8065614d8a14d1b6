/* SPDX-License-Identifier: MIT
 *
 * Known functions, found once for each module. Worker: may run while a hang is on, no allocation.
 */
#include "image/functions.h"

#include <string.h>

const char *hd_functions_name(const char *names, uint32_t index) {
    for (; index > 0; index--) {
        names += strlen(names) + 1;
    }
    return names;
}

static void look_up(struct hd_functions *t, struct hd_modules *m, uint32_t module, const char *names) {
    for (uint32_t i = 0; names[0] != '\0' && t->count < HD_FUNCTIONS_MAX; i++, names += strlen(names) + 1) {
        uint64_t start = hd_module_symbol(m, module, names);
        if (start != 0) {
            t->found[t->count].start = start;
            t->found[t->count++].name = i;
        }
    }
}

int hd_functions_at(struct hd_functions *t, struct hd_modules *m, const char *names, uint64_t start) {
    if (t->resets != m->resets) {
        *t = (struct hd_functions){.resets = m->resets};
    }
    for (; t->modules < m->count; t->modules++) {
        look_up(t, m, t->modules, names);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->found[i].start == start) {
            return (int)t->found[i].name;
        }
    }
    return -1;
}
