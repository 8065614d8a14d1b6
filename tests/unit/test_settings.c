/* SPDX-License-Identifier: MIT
 *
 * What hangdog_start makes of its options: defaults, limits, the default spool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/instance.h"
#include "control/settings.h"
#include "folder.h"

static char folder[] = "/tmp/hangdog-settings-XXXXXX";

static int begin(void **state) {
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 7);
    return mkdtemp(folder) == NULL || setenv("XDG_STATE_HOME", folder, 1) != 0;
}

static int end(void **state) {
    (void)state;
    hangdog_stop();
    return folder_remove(folder);
}

static const struct hd_settings *settings(void) {
    struct hd_run *m = hd_run_current();
    assert_non_null(m);
    return &m->settings;
}

static void nothing_given_means_the_defaults(void **state) {
    (void)state;
    assert_int_equal(hangdog_start(NULL), 0);
    const struct hd_settings *s = settings();
    assert_int_equal(s->interval_ns, 50 * HD_NS_PER_MS);
    assert_int_equal(s->threshold_ns[HANGDOG_STATE_LAUNCH], 10 * HD_NS_PER_S);
    assert_int_equal(s->threshold_ns[HANGDOG_STATE_FOREGROUND], 2 * HD_NS_PER_S);
    for (unsigned i = HANGDOG_STATE_BACKGROUND; i < HANGDOG_STATES; i++) {
        assert_int_equal(s->threshold_ns[i], 3 * HD_NS_PER_S);
    }
    assert_int_equal(s->reports_per_day, 100);
    assert_int_equal(s->reports_per_fingerprint, 5);
    assert_int_equal(s->spool_reports, 500);
    assert_int_equal(s->signal, SIGURG);
    assert_false(s->deferred);
    assert_false(s->without_paths);
    assert_string_equal(s->app_name, "unit-settings");
    assert_string_equal(s->app_version, "");
    assert_string_equal(s->environment, "");
}

static void what_is_given_is_taken_and_copied(void **state) {
    (void)state;
    char name[] = "an app", version[] = "1.2", where[] = "beta", spool[64];
    snprintf(spool, sizeof spool, "%s/here", folder);
    hangdog_options o = {.size = sizeof o,
                         .app_name = name,
                         .app_version = version,
                         .environment = where,
                         .spool = spool,
                         .interval_ns = 20 * HD_NS_PER_MS,
                         .threshold_ns = {1, 2, 3, 4, 5, 6},
                         .reports_per_day = 7,
                         .reports_per_fingerprint = UINT32_MAX,
                         .spool_reports = 9,
                         .signal = SIGWINCH,
                         .without_paths = 1};
    assert_int_equal(hangdog_start(&o), 0);
    memset(name, 'x', sizeof name - 1);
    memset(version, 'x', sizeof version - 1);
    memset(where, 'x', sizeof where - 1);
    memset(spool, 'x', strlen(spool));
    const struct hd_settings *s = settings();
    assert_string_equal(s->app_name, "an app");
    assert_string_equal(s->app_version, "1.2");
    assert_string_equal(s->environment, "beta");
    assert_memory_equal(s->spool, folder, strlen(folder));
    assert_string_equal(s->spool + strlen(folder), "/here");
    assert_int_equal(s->interval_ns, 20 * HD_NS_PER_MS);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        assert_int_equal(s->threshold_ns[i], i + 1);
    }
    assert_int_equal(s->reports_per_day, 7);
    assert_int_equal(s->reports_per_fingerprint, UINT32_MAX);
    assert_int_equal(s->spool_reports, 9);
    assert_int_equal(s->signal, SIGWINCH);
    assert_true(s->without_paths);
}

static void the_limits_themselves_are_allowed(void **state) {
    (void)state;
    static const uint64_t intervals[] = {HD_NS_PER_MS, HD_NS_PER_S};
    static const int signals[] = {SIGURG, SIGCHLD, SIGWINCH};
    for (size_t i = 0; i < 3; i++) {
        hangdog_options o = {.size = sizeof o, .interval_ns = intervals[i % 2], .signal = signals[i]};
        assert_int_equal(hangdog_start(&o), 0);
        assert_int_equal(settings()->interval_ns, intervals[i % 2]);
        assert_int_equal(settings()->signal, signals[i]);
        assert_int_equal(hangdog_stop(), 0);
    }
}

/* A newer program's struct is longer: what is not known is not looked at. */
static void a_longer_struct_is_taken_as_far_as_it_is_known(void **state) {
    (void)state;
    struct {
        hangdog_options known;
        uint64_t more[4];
    } o = {.known = {.size = sizeof o, .reports_per_day = 3}, .more = {1, 2, 3, 4}};
    assert_int_equal(hangdog_start(&o.known), 0);
    assert_int_equal(settings()->reports_per_day, 3);
}

static void expect_spool_of(const char *app, const char *format) {
    char expected[256];
    snprintf(expected, sizeof expected, format, folder);
    hangdog_options o = {.size = sizeof o, .app_name = app};
    assert_int_equal(hangdog_start(&o), 0);
    assert_string_equal(settings()->spool, expected);
    assert_string_equal(settings()->app_name, app);
    assert_int_equal(hangdog_stop(), 0);
    assert_true(expected[0] == '\0' || access(expected, W_OK) == 0);
}

static void expect_spool(const char *format) {
    expect_spool_of("app", format);
}

static char *home;

static int begin_with_home(void **state) {
    const char *given = getenv("HOME");
    home = given != NULL ? strdup(given) : NULL;
    return begin(state);
}

static int end_with_home(void **state) {
    home != NULL ? setenv("HOME", home, 1) : unsetenv("HOME");
    unsetenv("STATE_DIRECTORY");
    free(home);
    return end(state);
}

static void the_spool_is_below_the_state_folder_or_home(void **state) {
    (void)state;
    expect_spool("%s/hangdog/app");
    setenv("HOME", folder, 1);
    setenv("STATE_DIRECTORY", "/nowhere", 1);
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    expect_spool("%s/.local/state/hangdog/app");
    setenv("XDG_STATE_HOME", "", 1);
    expect_spool("%s/.local/state/hangdog/app");
    unsetenv("XDG_STATE_HOME");
    expect_spool("%s/.local/state/hangdog/app");
}

/* Services have no HOME. */
static void without_a_home_the_spool_is_in_the_folder_that_systemd_names(void **state) {
    (void)state;
    char folders[128];
    snprintf(folders, sizeof folders, "%s/service:/nowhere", folder);
    setenv("STATE_DIRECTORY", folders, 1);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "not/absolute", 1);
    expect_spool("%s/service/hangdog/app");
    unsetenv("HOME");
    expect_spool("%s/service/hangdog/app");
    setenv("STATE_DIRECTORY", "not/absolute", 1);
    expect_spool("");
    unsetenv("STATE_DIRECTORY");
    expect_spool("");
}

/* A reader finds it among the folders of the apps. */
static void the_spool_is_one_folder_whatever_the_apps_name(void **state) {
    (void)state;
    expect_spool_of("/acme/../editor", "%s/hangdog/_acme_.._editor");
    static const char *const elsewhere[] = {".", ".."};
    for (size_t i = 0; i < 2; i++) {
        char given[64];
        snprintf(given, sizeof given, "%s/given", folder);
        hangdog_options o = {.size = sizeof o, .app_name = elsewhere[i]};
        assert_int_equal(hangdog_start(&o), -EINVAL);
        o.spool = given;
        assert_int_equal(hangdog_start(&o), 0);
        assert_int_equal(hangdog_stop(), 0);
    }
    char deep[1024];
    memset(deep, 'd', sizeof deep);
    deep[0] = '/';
    deep[sizeof deep - 1] = '\0';
    setenv("XDG_STATE_HOME", deep, 1);
    assert_int_equal(hangdog_start(NULL), -ENAMETOOLONG);
}

static uint64_t most_with(const char *usec, const char *pid) {
    usec != NULL ? setenv("WATCHDOG_USEC", usec, 1) : unsetenv("WATCHDOG_USEC");
    pid != NULL ? setenv("WATCHDOG_PID", pid, 1) : unsetenv("WATCHDOG_PID");
    struct hd_settings settings;
    hd_settings_init(&settings);
    uint64_t most = settings.threshold_max_ns;
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return most;
}

static void thresholds_stay_below_half_of_a_services_watchdog(void **state) {
    (void)state;
    char own[16];
    snprintf(own, sizeof own, "%d", (int)getpid());
    const uint64_t half = HD_NS_PER_S / 2, none = UINT64_MAX / 2 - 1;
    assert_int_equal(most_with("1000000", own), half - 1);
    assert_int_equal(most_with("1000000", NULL), half - 1);
    assert_true(most_with("1000000", "1") >= none); /* another process's */
    assert_true(most_with(NULL, NULL) >= none);
    assert_true(most_with("", own) >= none);
    assert_true(most_with("0", own) >= none);
    assert_true(most_with("18446744073709551615", own) >= none); /* infinity */
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define WITH_HOME(name) cmocka_unit_test_setup_teardown(name, begin_with_home, end_with_home)
    const struct CMUnitTest tests[] = {
        CASE(nothing_given_means_the_defaults),
        CASE(what_is_given_is_taken_and_copied),
        CASE(the_limits_themselves_are_allowed),
        CASE(a_longer_struct_is_taken_as_far_as_it_is_known),
        WITH_HOME(the_spool_is_below_the_state_folder_or_home),
        WITH_HOME(without_a_home_the_spool_is_in_the_folder_that_systemd_names),
        WITH_HOME(the_spool_is_one_folder_whatever_the_apps_name),
        CASE(thresholds_stay_below_half_of_a_services_watchdog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
