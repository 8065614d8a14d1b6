/* SPDX-License-Identifier: MIT */
#include "cli/run/insert_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/darwin/inserted_list.h"
#include "record/run_text.h"

#define LIST_BYTES (64u << 10)

int insert_environment_set(const struct hd_record_options *options, const char *library) {
    static char text[HD_RUN_TEXT_BYTES], list[LIST_BYTES];
    const char *users = getenv(HD_INSERTED_VARIABLE);
    if (strchr(library, ':') != NULL) {
        return -EINVAL;
    }
    int rc = hd_run_text_write(options, text, sizeof text);
    if (rc != 0) {
        return rc;
    }
    bool more = users != NULL && users[0] != '\0';
    int n = snprintf(list, sizeof list, "%s%s%s", library, more ? ":" : "", more ? users : "");
    if ((size_t)n >= sizeof list) {
        return -ENAMETOOLONG;
    }
    if (setenv(HD_RUN_TEXT_VARIABLE, text, 1) != 0) {
        return -errno;
    }
    if (setenv(HD_INSERTED_VARIABLE, list, 1) != 0) {
        rc = -errno;
        unsetenv(HD_RUN_TEXT_VARIABLE);
    }
    return rc;
}
