/* SPDX-License-Identifier: MIT */
#include "cli/settle/batch_job.h"

#include <jansson.h>
#include <string.h>

#include "cli/reader/report_load.h"

#define FROZEN_NS INT64_C(10000000000)

bool batch_job_launch(const struct hd_record *c, const char *path) {
    struct problem why;
    if (atomic_load(&c->turns.launch_ns) != 0) {
        return false;
    }
    json_t *report = report_load(path, &why);
    const char *kind = json_string_value(json_object_get(report, "kind"));
    bool is_launch = kind != NULL && strcmp(kind, "launch") == 0;
    bool is_short = json_integer_value(json_object_get(report, "duration_ns")) < FROZEN_NS;
    json_decref(report);
    return is_launch && is_short;
}
