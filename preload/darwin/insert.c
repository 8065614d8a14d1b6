/* SPDX-License-Identifier: MIT
 *
 * The constructor runs before the constructors of all images but libSystem. So it calls libSystem
 * only, and looks up the functions of CoreFoundation without a call (run_loop.h). If a step fails,
 * the program runs as without Hangdog.
 *
 * Both variables leave the environment here. A child with another kind of code, or with restrictions, would
 * end, or lose the variable, so no child gets it.
 */
#include "preload/darwin/insert.h"

#include <pthread.h>
#include <string.h>

#include "base/text.h"
#include "control/instance.h"
#include "control/settings.h"
#include "image/modules.h"
#include "preload/darwin/inserted_list.h"
#include "preload/darwin/run_loop.h"
#include "record/run_text.h"
#include "watch/watching.h"

#define SAMPLE_LAUNCH_NS (60 * HD_NS_PER_S)
#define LAUNCH_KNOWN_NS (300 * HD_NS_PER_S)

struct hd_main_waits hd_insert_waits;

static void copy_string(char *to, size_t size, const char *from) {
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

static void fill_settings(const struct hd_record_options *o, struct hd_settings *out) {
    hd_settings_init(out);
    out->deferred = true;
    out->exec_mode = true;
    out->interval_ns = o->interval_ns != 0 ? o->interval_ns : out->interval_ns;
    if (o->launch_threshold_ns != 0) {
        out->threshold_ns[HANGDOG_STATE_LAUNCH] = o->launch_threshold_ns;
    }
    if (o->threshold_ns != 0) {
        out->threshold_ns[HANGDOG_STATE_FOREGROUND] = o->threshold_ns;
    }
    out->without_paths = o->without_paths;
    out->crash = o->crash;
    out->cpu_period_ns = o->cpu_period_ns;
    out->frame_drop_ns = o->frame_drop_ns;
    out->frame_period_ns = HD_NS_PER_S / (o->display_hz != 0 ? o->display_hz : 60);
    out->reports_per_day = o->reports_per_day != 0 ? o->reports_per_day : out->reports_per_day;
    out->reports_per_fingerprint =
        o->reports_per_fingerprint != 0 ? o->reports_per_fingerprint : out->reports_per_fingerprint;
    out->sample_launch_ns = SAMPLE_LAUNCH_NS;
    out->launch_known_ns = LAUNCH_KNOWN_NS;
    copy_string(out->app_name, sizeof out->app_name, o->app_name);
    if (out->app_name[0] == '\0') {
        char path[512];
        hd_image_program_path(path, sizeof path);
        hd_text_base_name(out->app_name, sizeof out->app_name, path);
    }
    copy_string(out->app_version, sizeof out->app_version, o->app_version);
    copy_string(out->environment, sizeof out->environment, o->environment);
    copy_string(out->spool, sizeof out->spool, o->spool);
}

/* A child of fork is not watched. */
static void forget_in_child(void) {
    hd_insert_waits.watch = NULL;
}

static void watch_main_thread(const struct hd_record_options *options) {
    static struct hd_settings settings;
    const struct hd_ports ports = {
        .recogniser = {.due = hd_main_waits_due, .judge = hd_main_waits_judge, .ctx = &hd_insert_waits}};
    struct hd_run *run;
    fill_settings(options, &settings);
    if (hd_instance_start(&settings, &ports, NULL, &run) != 0) {
        return;
    }
    struct hd_watch *watch = hd_watch_add(run, HD_MAIN_LOOP, 0, HD_SINCE_LAUNCH);
    if (watch == NULL) {
        return;
    }
    hd_watch_wait_open(run, watch);
    pthread_t self = pthread_self();
    uint64_t top = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(self);
    hd_main_waits_init(&hd_insert_waits, watch, run->record, top - pthread_get_stacksize_np(self), top);
    pthread_atfork(NULL, NULL, forget_in_child);
    hd_run_loop_expect(&hd_insert_waits);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment) {
    static struct hd_record_options options;
    (void)argc, (void)argv;
    const char *text = hd_inserted_find(environment, HD_RUN_TEXT_VARIABLE);
    bool named = text != NULL && hd_run_text_read(&options, text) == 0;
    hd_inserted_drop(environment, HD_RUN_TEXT_VARIABLE);
    hd_inserted_clean(environment);
    if (named && pthread_main_np() != 0) {
        watch_main_thread(&options);
    }
}
