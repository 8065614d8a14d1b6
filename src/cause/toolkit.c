/* SPDX-License-Identifier: MIT */
#include "cause/toolkit.h"

#include <string.h>

#include "base/text.h"
#include "cause/toolkit_libraries.h"

#define FRAMES_MAX 8u /* the number of innermost stack frames that are searched for a toolkit's function */

static bool is_in(const char *list, const char *file) {
    for (; *list != '\0'; list += strlen(list) + 1) {
        if (strncmp(file, list, strlen(list)) == 0) {
            return true;
        }
    }
    return false;
}

bool hd_toolkit_is_one(const char *file) {
    return is_in(hd_toolkit_libraries, file);
}

static void end_before_version(char *file) {
    while (*file != '\0' && strncmp(file, ".so", 3) != 0) {
        file++;
    }
    *file = '\0';
}

void hd_toolkit_find(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out) {
    struct hd_evidence *seen = &out->evidence;
    char file[sizeof seen->name];
    for (uint32_t i = 0; i < count && i < FRAMES_MAX && frames[i].script == 0; i++) {
        int module = hd_modules_at(m, hd_frame_lookup_pc(&frames[i]));
        if (module < 0 || !hd_module_is_system(m, (uint32_t)module)) {
            return; /* the program's own code runs, not a toolkit's */
        }
        hd_text_base_name(file, sizeof file, hd_module_path(m, (uint32_t)module));
        if (hd_toolkit_is_one(file)) {
            memcpy(seen->name, file, sizeof seen->name);
            end_before_version(seen->name);
            seen->kind = HD_EVIDENCE_TOOLKIT;
            return;
        }
        if (!is_in(hd_toolkit_helpers, file)) {
            return;
        }
    }
}
