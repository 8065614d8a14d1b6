/* SPDX-License-Identifier: MIT */
#include "cli/outside/report_settings.h"

#include <stdio.h>

#include "report/spool.h"

const char *report_settings_turns(const struct hd_hook_way *way) {
    static const char words[][17] = {"exact", "exact-if-blocked", "polled"};
    return words[way->turns];
}

void report_settings_fill(const struct outside_process *p, struct hd_settings *s) {
    const struct hd_record_options *o = &p->shown.record->options;
    const struct hd_hook_way *way = p->watcher->way;
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        s->threshold_ns[i] = o->threshold_ns;
    }
    s->interval_ns = o->interval_ns;
    s->threshold_max_ns = UINT64_MAX;
    s->reports_per_day = o->reports_per_day;
    s->reports_per_fingerprint = o->reports_per_fingerprint;
    s->spool_reports = HD_SPOOL_REPORTS;
    s->deferred = true;
    s->without_paths = o->without_paths;
    s->hook = way->name;
    s->turns = report_settings_turns(way);
    snprintf(s->app_name, sizeof s->app_name, "%s", o->app_name);
    snprintf(s->app_version, sizeof s->app_version, "%s", o->app_version);
    snprintf(s->environment, sizeof s->environment, "%s", o->environment);
    snprintf(s->spool, sizeof s->spool, "%s", o->spool);
}
