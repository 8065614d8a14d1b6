/* SPDX-License-Identifier: MIT */
#include "collector/upkeep/regroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/options.h"
#include "collector/base/built_in.h"
#include "collector/sentry/sentry_report.h"

#define REPORTS_OF_A_STEP 200
#define STEPS_OF_A_LINE 50

static bool is_stopped(const sigset_t *signals) {
    const struct timespec now = {0};
    return sigtimedwait(signals, NULL, &now) > 0;
}

int regroup_all(struct store *store, const sigset_t *signals) {
    json_t *plain = built_in_schema(), *schema = plain != NULL ? sentry_report_schema(plain) : NULL;
    bool stopped = false, shown = isatty(STDERR_FILENO) == 1 && !options_quiet();
    long count = schema != NULL ? 1 : -1;
    for (long steps = 1; count > 0 && !stopped; steps++) {
        count = store_regroup(store, schema, REPORTS_OF_A_STEP);
        stopped = is_stopped(signals);
        if (shown && steps % STEPS_OF_A_LINE == 0) {
            fprintf(stderr, "\rhangdog: %ld reports read", steps * REPORTS_OF_A_STEP);
        }
    }
    if (shown) {
        fputs("\r\033[K", stderr);
    }
    json_decref(schema);
    json_decref(plain);
    if (count < 0) {
        return print_error("cannot group again: %s", store_error(store));
    }
    if (count > 0) {
        fputs("hangdog: stopped; the same command continues\n", stderr);
        return EXIT_ERROR;
    }
    if (!options_quiet()) {
        fputs("hangdog: all reports are grouped by the present rule\n", stderr);
    }
    return EXIT_SUCCESS;
}
