/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_version.h"

#include <string.h>

#include "base/script_argument.h"

#define BUILD_DIGITS 12

const char *report_version(const json_t *report, size_t *bytes) {
    const json_t *app = json_object_get(report, "app");
    const char *version = json_string_value(json_object_get(app, "version"));
    const char *build_id = json_string_value(json_object_get(app, "build_id"));
    const char *executable = json_string_value(json_object_get(app, "executable"));
    if (version != NULL && version[0] != '\0') {
        *bytes = strlen(version);
        return version;
    }
    if (build_id == NULL || (executable != NULL && hd_script_is_interpreter(executable))) {
        *bytes = 0;
        return NULL;
    }
    *bytes = strnlen(build_id, BUILD_DIGITS);
    return build_id;
}
