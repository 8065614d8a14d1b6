/* SPDX-License-Identifier: MIT */
#include "preload/attach/attach_settings.h"

#include <string.h>

#include "control/instance.h"
#include "control/settings.h"
#include "preload/attach/record_file.h"

#define SAMPLE_LAUNCH_NS (60 * HD_NS_PER_S)
#define LAUNCH_KNOWN_NS (300 * HD_NS_PER_S)

static void copy_string(char *to, size_t size, const char *from) {
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

void hd_attach_settings(const struct hd_record_options *o, struct hd_settings *out) {
    hd_settings_init(out);
    out->deferred = true;
    out->exec_mode = o->exec_mode != 0;
    out->journal = o->journal ? hd_record_file_first() : NULL;
    out->interval_ns = o->interval_ns;
    out->threshold_ns[HANGDOG_STATE_LAUNCH] = o->launch_threshold_ns;
    out->threshold_ns[HANGDOG_STATE_FOREGROUND] = o->threshold_ns;
    out->without_paths = o->without_paths;
    out->crash = o->crash;
    if (o->keep_alive && !o->of_child) {
        hd_settings_keep_alive(out, true);
    }
    out->cpu_period_ns = o->cpu_period_ns;
    out->frame_drop_ns = o->frame_drop_ns;
    out->frame_period_ns = HD_NS_PER_S / (o->display_hz != 0 ? o->display_hz : 60);
    out->reports_per_day = o->reports_per_day;
    out->reports_per_fingerprint = o->reports_per_fingerprint;
    out->outbox = hd_record_file_outbox();
    out->sample_launch_ns = SAMPLE_LAUNCH_NS;
    out->launch_known_ns = LAUNCH_KNOWN_NS;
    copy_string(out->app_name, sizeof out->app_name, o->app_name);
    copy_string(out->app_version, sizeof out->app_version, o->app_version);
    copy_string(out->environment, sizeof out->environment, o->environment);
    copy_string(out->spool, sizeof out->spool, o->spool);
    copy_string(out->kept_file, sizeof out->kept_file, o->link);
}
