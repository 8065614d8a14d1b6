/* SPDX-License-Identifier: MIT
 *
 * The public functions. They check their arguments and find the watch of a handle. Marks, and the functions
 * for blocks that the program expects, run on the watched thread and are wait-free. The other functions may
 * allocate, lock and wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "capture/watched_thread.h"
#include "control/api.h"
#include "control/instance.h"
#include "control/ping.h"
#include "control/settings.h"
#include "image/modules.h"
#include "os/environment.h"
#include "publish/fatal_marker.h"
#include "watch/watching.h"
#include "worker/live_answer.h"

struct hangdog_loop {
    struct hd_watch watch;
};

static struct hd_watch *watch_of(hangdog_loop *loop) {
    return &loop->watch;
}

const char *hangdog_version(void) {
    return HANGDOG_VERSION;
}

/* ---- start and stop ------------------------------------------------------------------------- */

static void program_name(char *out, size_t size) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(out, size, path);
}

/* Sets the folder for reports, in which `hangdog list` looks too: by XDG_STATE_HOME, HOME, or
 * STATE_DIRECTORY of systemd. A relative path is ignored. If STATE_DIRECTORY has several folders, the first
 * one counts. Without any of these variables no reports are written, because a folder to which all users may
 * write may be a trap. */
static int default_spool(struct hd_settings *s) {
    const char *state = hd_settings_environment("XDG_STATE_HOME"), *home = hd_settings_environment("HOME");
    const char *service = hd_settings_environment("STATE_DIRECTORY");
    struct hd_text t;
    hd_text_init(&t, s->spool, sizeof s->spool);
    if (state != NULL && state[0] == '/') {
        hd_text_str(&t, state);
    } else if (home != NULL && home[0] == '/') {
        hd_text_str(&t, home);
        hd_text_str(&t, hd_os_home_state());
    } else if (service != NULL && service[0] == '/') {
        const char *end = memchr(service, ':', strlen(service));
        hd_text_mem(&t, service, end != NULL ? (size_t)(end - service) : strlen(service));
    } else {
        return 0;
    }
    hd_text_str(&t, "/hangdog/");
    size_t folder = t.used;
    hd_text_str(&t, s->app_name);
    for (char *c = s->spool + folder; *c != '\0'; c++) {
        *c = *c == '/' ? '_' : *c;
    }
    return t.used < sizeof s->spool - 1 ? 0 : -ENAMETOOLONG; /* a full buffer may have a truncated path */
}

static bool take_string(char *to, size_t size, const char *from) {
    if (from == NULL) {
        return true;
    }
    size_t n = strnlen(from, size);
    if (n == size) {
        return false;
    }
    memcpy(to, from, n + 1);
    return true;
}

static bool is_cpu_period(uint64_t ns) {
    return ns == 0 || (ns >= 100 * HD_NS_PER_MS && ns <= 3600 * HD_NS_PER_S);
}

static int settings_of(const hangdog_options *o, struct hd_settings *s) {
    hd_settings_init(s);
    hangdog_options given = {0};
    if (o != NULL) {
        if (o->size < sizeof o->size) {
            return -EINVAL;
        }
        /* the struct of a program that was built with an older Hangdog is shorter */
        memcpy(&given, o, o->size < sizeof given ? o->size : sizeof given);
    }
    if (!take_string(s->app_name, sizeof s->app_name, given.app_name) ||
        !take_string(s->app_version, sizeof s->app_version, given.app_version) ||
        !take_string(s->environment, sizeof s->environment, given.environment) ||
        !take_string(s->spool, sizeof s->spool, given.spool)) {
        return -ENAMETOOLONG;
    }
    s->interval_ns = given.interval_ns != 0 ? given.interval_ns : s->interval_ns;
    s->signal = given.signal != 0 ? given.signal : s->signal;
    s->frame_period_ns = given.display_hz != 0 ? HD_NS_PER_S / given.display_hz : s->frame_period_ns;
    s->frame_drop_ns = given.frame_drop_ns;
    s->ping_period_ns = given.ping_period_ns != 0 ? given.ping_period_ns : s->ping_period_ns;
    if (s->interval_ns < HD_INTERVAL_MIN_NS || s->interval_ns > HD_INTERVAL_MAX_NS ||
        given.display_hz > HD_DISPLAY_HZ_MAX || !hd_capture_signal_may_be(s->signal) ||
        s->ping_period_ns < HD_NS_PER_MS || s->ping_period_ns > 60 * HD_NS_PER_S ||
        !is_cpu_period(given.cpu_period_ns)) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        s->threshold_ns[i] = given.threshold_ns[i] != 0 ? given.threshold_ns[i] : s->threshold_ns[i];
    }
    s->reports_per_day = given.reports_per_day != 0 ? given.reports_per_day : s->reports_per_day;
    s->reports_per_fingerprint =
        given.reports_per_fingerprint != 0 ? given.reports_per_fingerprint : s->reports_per_fingerprint;
    s->spool_reports = given.spool_reports != 0 ? given.spool_reports : s->spool_reports;
    s->without_paths = given.without_paths != 0;
    s->crash = given.crash == 2 ? 2 : given.crash != 0;
    if (given.keep_alive != 0) {
        hd_settings_keep_alive(s, false);
    }
    s->cpu_period_ns = given.cpu_period_ns;
    if (s->app_name[0] == '\0') {
        program_name(s->app_name, sizeof s->app_name);
    }
    if (s->spool[0] != '\0') {
        return 0;
    }
    bool leads_elsewhere = strcmp(s->app_name, ".") == 0 || strcmp(s->app_name, "..") == 0;
    return leads_elsewhere ? -EINVAL : default_spool(s);
}

static int start(const hangdog_options *options, const struct hd_recogniser *recogniser,
                 struct hd_run **out) {
    struct hd_settings settings;
    int rc = settings_of(options, &settings);
    struct hd_ports ports = {.fatal_marker = hd_fatal_marker_update, .live = hd_live_answer};
    if (recogniser != NULL) {
        ports.recogniser = *recogniser;
        settings.deferred = true;
        settings.exec_mode = true; /* no runner waits for the end of this process */
        settings.sample_launch_ns = HD_SAMPLE_LAUNCH_NS;
        settings.launch_known_ns = HD_LAUNCH_KNOWN_NS;
    }
    const char *runtime = hd_settings_environment("XDG_RUNTIME_DIR");
    runtime = runtime != NULL && runtime[0] == '/' ? runtime : "/dev/shm";
    if (strlen(runtime) < sizeof settings.runtime) {
        memcpy(settings.runtime, runtime, strlen(runtime) + 1);
    }
    return rc != 0 ? rc : hd_instance_start(&settings, &ports, NULL, out);
}

int hangdog_start(const hangdog_options *options) {
    struct hd_run *r;
    return start(options, NULL, &r);
}

int hd_api_start(const hangdog_options *options, const struct hd_recogniser *recogniser,
                 struct hd_run **out) {
    return start(options, recogniser, out);
}

int hangdog_stop(void) {
    return hd_instance_stop();
}

long hangdog_report_now(char *buffer, size_t size, hangdog_form form) {
    struct hd_run *r = hd_run_current();
    if ((buffer == NULL && size != 0) || (form != HANGDOG_FORM_JSON && form != HANGDOG_FORM_TEXT)) {
        return -EINVAL;
    }
    return r != NULL ? hd_live_request_send(&r->channel.live, &r->channel.worker_wake, buffer, size,
                                            form == HANGDOG_FORM_TEXT)
                     : -ESRCH;
}

/* ---- loops ---------------------------------------------------------------------------------- */

hangdog_loop *hangdog_loop_watch(const char *name, uint64_t threshold_ns) {
    struct hd_run *r = hd_run_current();
    if (r == NULL) {
        return NULL;
    }
    struct hd_watch *w = hd_watch_add(r, name != NULL ? name : "loop", threshold_ns, HD_SINCE_LAUNCH);
    if (w != NULL) {
        atomic_store_explicit(&w->loop.found.certain, true, memory_order_relaxed); /* the program marks it */
        hd_watch_wait_open(r, w);
    }
    return (hangdog_loop *)(void *)w;
}

void hangdog_loop_unwatch(hangdog_loop *loop) {
    struct hd_run *r = hd_run_current();
    if (loop == NULL) {
        return;
    }
    hd_ping_stop(watch_of(loop)); /* even if Hangdog has stopped, because a post may still be running */
    if (r != NULL) {
        hd_watch_remove(r, watch_of(loop));
    } else {
        hd_watch_leave_stopped();
    }
}

int hangdog_watch_ping(hangdog_loop *loop, hangdog_post post, void *context) {
    struct hd_run *r = hd_run_current();
    if (loop == NULL || r == NULL || post == NULL) {
        return -EINVAL;
    }
    return hd_ping_start(r, watch_of(loop), post, context);
}

void hangdog_mark(hangdog_loop *loop, hangdog_activity activity) {
    if (loop == NULL) {
        return;
    }
    struct hd_loop *l = &watch_of(loop)->loop;
    switch (activity) {
    case HANGDOG_ENTRY:
        hd_loop_enter(l);
        break;
    case HANGDOG_BEFORE_TIMERS:
        hd_loop_mark(l, HANGDOG_BEFORE_TIMERS);
        break;
    case HANGDOG_BEFORE_SOURCES:
        hd_loop_mark(l, HANGDOG_BEFORE_SOURCES);
        break;
    case HANGDOG_BEFORE_WAITING:
        hd_loop_mark(l, HANGDOG_BEFORE_WAITING);
        break;
    case HANGDOG_AFTER_WAITING:
        hd_loop_mark(l, HANGDOG_AFTER_WAITING);
        break;
    case HANGDOG_EXIT:
        hd_loop_exit(l);
        break;
    }
}

void hangdog_label(hangdog_loop *loop, const char *text, const char *traceparent) {
    if (loop != NULL) {
        hd_label_set(&watch_of(loop)->label, hd_loop_ticks(&watch_of(loop)->loop), text, traceparent);
    }
}

void hangdog_expect_block(hangdog_loop *loop) {
    if (loop != NULL && atomic_fetch_add(&watch_of(loop)->loop.expected, 1) == 0) {
        hd_loop_note_outer(&watch_of(loop)->loop);
        /* an expected block counts as a wait, so the turn ends here */
        hd_loop_mark(&watch_of(loop)->loop, HANGDOG_BEFORE_WAITING);
    }
}

void hangdog_expect_block_end(hangdog_loop *loop) {
    uint32_t depth = loop != NULL ? atomic_load(&watch_of(loop)->loop.expected) : 0;
    if (depth == 0) {
        return; /* an end without a start does nothing */
    }
    if (depth == 1) {
        /* A turn starts. The mark is not AFTER_WAITING, because that would end the launch, and only a wait
         * may. */
        hd_loop_mark(&watch_of(loop)->loop, HANGDOG_ENTRY);
    }
    atomic_fetch_sub(&watch_of(loop)->loop.expected, 1);
    /* A monitor that looked before this subtraction found the loop idle, and may have parked after the
     * mark. */
    hd_loop_answer(&watch_of(loop)->loop, atomic_load(&watch_of(loop)->loop.flags), false, depth == 1, 0);
}

void hangdog_pause(void) {
    struct hd_run *r = hd_run_current();
    if (r != NULL) {
        atomic_fetch_add(&r->channel.program.paused, 1);
        hd_run_wake(r);
    }
}

void hangdog_resume(void) {
    struct hd_run *r = hd_run_current();
    uint32_t depth = r != NULL ? atomic_load(&r->channel.program.paused) : 0;
    while (depth > 0 && !atomic_compare_exchange_weak(&r->channel.program.paused, &depth, depth - 1)) {
    }
    if (depth > 0) {
        hd_run_wake(r);
    }
}

void hangdog_set_state(hangdog_state state) {
    struct hd_run *r = hd_run_current();
    /* until hd_watch_leave no other thread can restart Hangdog, which would zero the record */
    if (r == NULL || (unsigned)state >= HANGDOG_STATES || !hd_watch_enter(r)) {
        return;
    }
    atomic_store(&r->channel.program.state, state);
    do { /* repeats if another thread, or a signal handler on this one, has set another state meanwhile */
        state = (hangdog_state)atomic_load(&r->channel.program.state);
        uint64_t now_ns = hd_os_now_ns();
        hd_record_foreground(r->record, state == HANGDOG_STATE_FOREGROUND || state == HANGDOG_STATE_LAUNCH,
                             now_ns);
        hd_background_set(&r->channel.program.background, state == HANGDOG_STATE_BACKGROUND, now_ns);
    } while ((hangdog_state)atomic_load(&r->channel.program.state) != state);
    hd_watch_leave(r);
}
