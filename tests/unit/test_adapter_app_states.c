/* SPDX-License-Identifier: MIT
 *
 * The program's states by notifications, over a fake notification centre in CoreFoundation's place.
 *
 * sources: src/adapter/darwin/app_state.c
 * sources: src/adapter/darwin/app_states.c
 * sources: src/adapter/darwin/frameworks.c
 * sources: src/os/darwin/thermal_state.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/darwin/app_state.h"
#include "adapter/darwin/app_states.h"
#include "adapter/darwin/frameworks.h"
#include "control/settings.h"
#include "hangdog/apple.h"
#include "library.h"
#include "os/darwin/mach.h"
#include "os/darwin/system_values.h"
#include "os/darwin/thermal_state.h"
#include "watch/watching.h"

#define NAMES 64

/* ---- a system of Apple's -------------------------------------------------------------------------- */

static struct {
    struct {
        void *observer;
        hd_notified call;
        const void *name;
    } observers[NAMES];
    unsigned count;
    const char *names[NAMES];
    const char *prefix; /* of the notifications whose framework the process has; NULL: none */
    bool extension, debugger, has_objc;
    int32_t role;
    long app_state, heat;
} apple;

struct hd_mach_calls hd_mach;

static int task(struct hd_mach_task *out) {
    *out = (struct hd_mach_task){.role = apple.role};
    return 0;
}

bool hd_system_has_debugger(void) {
    return apple.debugger;
}

static const void *constant(const char *name) {
    bool known = apple.prefix != NULL && strncmp(name, apple.prefix, strlen(apple.prefix)) == 0;
    unsigned i = 0;
    while (known && i < NAMES - 1 && apple.names[i] != NULL && strcmp(apple.names[i], name) != 0) {
        i++;
    }
    apple.names[i] = known ? name : apple.names[i];
    return known ? &apple.names[i] : NULL;
}

static void *local_center(void) {
    return &apple;
}

static void add_observer(void *center, const void *observer, hd_notified call, const void *name,
                         const void *object, long behaviour) {
    assert_ptr_equal(center, &apple);
    assert_null(object);
    assert_int_equal(behaviour, 4);
    apple.observers[apple.count].observer = (void *)observer;
    apple.observers[apple.count].call = call;
    apple.observers[apple.count++].name = name;
}

static void remove_observer(void *center, const void *observer) {
    assert_ptr_equal(center, &apple);
    for (unsigned i = 0; i < apple.count; i++) {
        if (apple.observers[i].observer == observer) {
            apple.observers[i] = apple.observers[--apple.count];
            i--;
        }
    }
}

static void post(const char *name, const void *object) {
    const void *text = constant(name);
    unsigned calls = 0;
    for (unsigned i = 0; i < apple.count; i++) {
        if (text != NULL && apple.observers[i].name == text) {
            apple.observers[i].call(&apple, apple.observers[i].observer, text, object, NULL);
            calls++;
        }
    }
    assert_int_equal(calls, 1);
}

static void *main_bundle(void) {
    return &apple.extension;
}

static const void *bundle_value(void *bundle, const void *key) {
    assert_ptr_equal(bundle, &apple.extension);
    assert_string_equal(key, "NSExtension");
    return apple.extension ? key : NULL;
}

static const void *new_text(const void *allocator, const char *text, uint32_t encoding) {
    assert_null(allocator);
    assert_int_equal(encoding, 0x08000100);
    return strdup(text);
}

static void release(const void *object) {
    free((void *)object);
}

static void *class_named(const char *name) {
    return (void *)name;
}

static void *selector(const char *name) {
    return (void *)name;
}

static void *send(void *object, void *message) {
    assert_non_null(object);
    if (strcmp(object, "NSProcessInfo") == 0) {
        assert_string_equal(message, "processInfo");
        return "the process";
    }
    if (strcmp(object, "the process") == 0) {
        assert_string_equal(message, "thermalState");
        return (void *)apple.heat;
    }
    assert_string_equal(message, "applicationState");
    return (void *)apple.app_state;
}

/* Members that these tests do not call. */
static void *new_class(void *base, const char *name, size_t extra) {
    (void)base, (void)name, (void)extra;
    return NULL;
}

static bool add_method(void *type, void *method_selector, hd_method method, const char *types) {
    (void)type, (void)method_selector, (void)method, (void)types;
    return false;
}

static void register_class(void *type) {
    (void)type;
}

static int begin_of(const char *prefix) {
    memset(&apple, 0, sizeof apple);
    apple.prefix = prefix;
    apple.role = 1;
    hd_mach.task = task;
    hd_frameworks = (struct hd_frameworks){
        .objc = {class_named, selector, new_class, add_method, register_class, send, NULL, NULL, NULL, NULL},
        .cf = {local_center, add_observer, remove_observer, main_bundle, bundle_value, new_text, release},
        .constant = constant,
        .loaded = true};
    return begin_library(NULL);
}

static int begin_uikit(void **state) {
    (void)state;
    return begin_of("UI");
}

static int begin_appkit(void **state) {
    (void)state;
    return begin_of("NSApplication");
}

static int end(void **state) {
    hangdog_app_unfollow();
    assert_int_equal(apple.count, 0);
    unsetenv("ActivePrewarm"); /* NOLINT(concurrency-mt-unsafe): one thread */
    hd_app_states_note_prewarming();
    return end_library(state);
}

static void assert_state(hangdog_state state) {
    assert_int_equal(atomic_load(&hd_run_current()->channel.program.state), state);
}

static void expect(const char *name, const void *object, hangdog_state state) {
    post(name, object);
    assert_state(state);
}

/* ---- states --------------------------------------------------------------------------------------- */

static void uikit_has_all_states(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    assert_int_equal(hangdog_app_follow(), -EALREADY);
    assert_true(hangdog_app_launches());
    expect("UIApplicationDidFinishLaunchingNotification", NULL, HANGDOG_STATE_FOREGROUND);
    assert_false(hangdog_app_launches());
    expect("UIApplicationDidBecomeActiveNotification", NULL, HANGDOG_STATE_FOREGROUND);
    expect("UIApplicationWillResignActiveNotification", NULL, HANGDOG_STATE_SUSPEND);
    expect("UIApplicationDidEnterBackgroundNotification", NULL, HANGDOG_STATE_BACKGROUND);
    expect("UIApplicationWillEnterForegroundNotification", NULL, HANGDOG_STATE_RESUME);
    expect("UIApplicationDidBecomeActiveNotification", NULL, HANGDOG_STATE_FOREGROUND);
    expect("UIApplicationWillTerminateNotification", NULL, HANGDOG_STATE_QUIT);
    expect("UIApplicationDidEnterBackgroundNotification", NULL, HANGDOG_STATE_QUIT);
}

static void appkit_is_in_the_background_while_hidden(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    assert_true(hangdog_app_launches());
    expect("NSApplicationDidBecomeActiveNotification", NULL, HANGDOG_STATE_FOREGROUND);
    assert_false(hangdog_app_launches()); /* the watch may start after the end of the launch */
    expect("NSApplicationDidHideNotification", NULL, HANGDOG_STATE_BACKGROUND);
    expect("NSApplicationWillUnhideNotification", NULL, HANGDOG_STATE_RESUME);
    expect("NSApplicationDidUnhideNotification", NULL, HANGDOG_STATE_FOREGROUND);
    expect("NSApplicationWillTerminateNotification", NULL, HANGDOG_STATE_QUIT);
}

/* Two windows of an iPad: the program is in the state of the most visible one. */
static void scenes_give_the_state_of_the_most_visible(void **state) {
    const char *one = "one", *other = "other";
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    expect("UISceneWillEnterForegroundNotification", one, HANGDOG_STATE_RESUME);
    expect("UISceneDidActivateNotification", one, HANGDOG_STATE_FOREGROUND);
    expect("UISceneWillEnterForegroundNotification", other, HANGDOG_STATE_FOREGROUND);
    expect("UISceneDidActivateNotification", other, HANGDOG_STATE_FOREGROUND);
    expect("UISceneWillDeactivateNotification", one, HANGDOG_STATE_FOREGROUND);
    expect("UISceneDidEnterBackgroundNotification", one, HANGDOG_STATE_FOREGROUND);
    expect("UISceneWillDeactivateNotification", other, HANGDOG_STATE_SUSPEND);
    expect("UISceneDidEnterBackgroundNotification", "third", HANGDOG_STATE_SUSPEND);
    expect("UISceneDidEnterBackgroundNotification", other, HANGDOG_STATE_BACKGROUND);
    expect("UISceneWillEnterForegroundNotification", one, HANGDOG_STATE_RESUME);
    expect("UISceneDidActivateNotification", one, HANGDOG_STATE_FOREGROUND);
    expect("UISceneDidDisconnectNotification", other, HANGDOG_STATE_FOREGROUND);
    expect("UISceneDidDisconnectNotification", one, HANGDOG_STATE_BACKGROUND);
}

/* The watch may start when a scene is active already. */
static void the_first_event_of_a_scene_has_a_state_before_it(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    expect("UISceneWillDeactivateNotification", "scene", HANGDOG_STATE_SUSPEND);
    expect("UISceneDidEnterBackgroundNotification", "scene", HANGDOG_STATE_BACKGROUND);
}

static void more_scenes_than_there_are_places_change_nothing(void **state) {
    static const char scenes[HD_APP_SCENES + 1];
    struct hd_app_state app = {.state = HANGDOG_STATE_FOREGROUND};
    (void)state;
    for (unsigned i = 0; i < HD_APP_SCENES; i++) {
        assert_int_equal(hd_app_state_of_scene(&app, HD_APP_ACTIVE, &scenes[i]), HANGDOG_STATE_FOREGROUND);
    }
    assert_int_equal(hd_app_state_of_scene(&app, HD_APP_BACKGROUND, &scenes[HD_APP_SCENES]),
                     HANGDOG_STATE_FOREGROUND);
    assert_int_equal(app.scenes, HD_APP_SCENES);
}

static void a_process_without_the_frameworks_has_an_error(void **state) {
    (void)state;
    apple.prefix = NULL; /* a program of the command line */
    assert_int_equal(hangdog_app_follow(), -ENOENT);
    assert_int_equal(apple.count, 0);
    hd_frameworks = (struct hd_frameworks){0};
    assert_int_equal(hangdog_app_follow(), -ENOENT); /* Linux has no CoreFoundation */
    assert_false(hd_frameworks_have_cf() || hd_frameworks_have_objc());
}

/* ---- reports -------------------------------------------------------------------------------------- */

static void assert_report(const char *kind, const char *program_state) {
    json_t *reports = spool_wait(&spool, kind, 1);
    assert_string_equal(report_text(json_object_get(json_array_get(reports, 0), "loop"), "state"),
                        program_state);
    json_decref(reports);
    spool_expect(&spool, 1);
}

static void a_report_has_the_state(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    looper_start(&looper, "main", 0);
    post("UIApplicationWillResignActiveNotification", NULL);
    looper_call(&looper, block_sleep, 2 * THRESHOLD_MS);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    assert_report("hang", "suspend");
}

static void a_hang_in_the_background_says_so(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    looper_start(&looper, "main", 0);
    post("UIApplicationDidEnterBackgroundNotification", NULL);
    looper_call(&looper, block_sleep, 2 * THRESHOLD_MS);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    assert_report("background-hang", "background");
}

static void launch_slowly(void) {
    assert_int_equal(hangdog_app_follow(), 0);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    block_sleep(2 * THRESHOLD_MS);
    hangdog_before_wait(loop);
    nap_ms(THRESHOLD_MS);
    hangdog_loop_unwatch(loop);
    assert_int_equal(hangdog_stop(), 0);
}

static void a_slow_launch_has_a_report(void **state) {
    (void)state;
    launch_slowly();
    assert_report("launch", "launch");
}

static void a_launch_of_the_system_has_no_report(void **state) {
    (void)state;
    assert_int_equal(setenv("ActivePrewarm", "1", 1), 0); /* NOLINT(concurrency-mt-unsafe): one thread */
    hd_app_states_note_prewarming();
    launch_slowly();
    spool_expect(&spool, 0);
}

static void a_launch_under_a_debugger_has_no_report(void **state) {
    (void)state;
    apple.debugger = true;
    launch_slowly();
    spool_expect(&spool, 0);
}

static void a_launch_of_an_extension_has_no_report(void **state) {
    (void)state;
    apple.prefix = "NSExtensionHost";
    apple.extension = true;
    launch_slowly();
    assert_false(hangdog_app_launches());
    spool_expect(&spool, 0);
}

static void a_launch_into_the_background_has_no_report(void **state) {
    (void)state;
    apple.role = 2;
    launch_slowly();
    spool_expect(&spool, 0);
}

/* The kernel's role may not show a launch into the background. UIKit does, once the launch is over. */
static void the_end_of_a_launch_may_be_in_the_background(void **state) {
    (void)state;
    assert_int_equal(hangdog_app_follow(), 0);
    apple.app_state = 2;
    expect("UIApplicationDidFinishLaunchingNotification", "app", HANGDOG_STATE_BACKGROUND);
}

/* A program of AppKit may start with any role: a user waits for its launch. */
static void a_launch_of_appkit_has_a_report(void **state) {
    (void)state;
    apple.role = 2;
    launch_slowly();
    assert_report("launch", "launch");
}

static int begin_foundation(void **state) {
    (void)state;
    return begin_of("NS");
}

static void the_heat_is_followed(void **state) {
    (void)state;
    assert_null(hd_thermal_state_word());
    apple.heat = 2;
    assert_int_equal(hangdog_app_follow(), 0);
    assert_string_equal(hd_thermal_state_word(), "serious");
    apple.heat = 0;
    post("NSProcessInfoThermalStateDidChangeNotification", NULL);
    assert_string_equal(hd_thermal_state_word(), "nominal");
    apple.heat = 4; /* a word of later systems */
    post("NSProcessInfoThermalStateDidChangeNotification", NULL);
    assert_null(hd_thermal_state_word());
}

/* The system ends a program that is slower, so each report comes earlier than that. */
static void thresholds_are_below_the_systems_limits(void **state) {
    static const uint64_t limits_s[HANGDOG_STATES] = {
        [HANGDOG_STATE_LAUNCH] = 20, [HANGDOG_STATE_FOREGROUND] = 10, [HANGDOG_STATE_BACKGROUND] = 30,
        [HANGDOG_STATE_RESUME] = 10, [HANGDOG_STATE_SUSPEND] = 10,    [HANGDOG_STATE_QUIT] = 5};
    struct hd_settings settings;
    (void)state;
    hd_settings_init(&settings);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        assert_true(settings.threshold_ns[i] <= limits_s[i] * SECOND * 6 / 10);
    }
}

int main(void) {
    library_quick_disk();
#define UIKIT(name) cmocka_unit_test_setup_teardown(name, begin_uikit, end)
#define APPKIT(name) cmocka_unit_test_setup_teardown(name, begin_appkit, end)
    const struct CMUnitTest tests[] = {
        UIKIT(uikit_has_all_states),
        APPKIT(appkit_is_in_the_background_while_hidden),
        UIKIT(scenes_give_the_state_of_the_most_visible),
        UIKIT(the_first_event_of_a_scene_has_a_state_before_it),
        UIKIT(more_scenes_than_there_are_places_change_nothing),
        UIKIT(a_process_without_the_frameworks_has_an_error),
        UIKIT(a_report_has_the_state),
        UIKIT(a_hang_in_the_background_says_so),
        UIKIT(a_slow_launch_has_a_report),
        UIKIT(a_launch_of_the_system_has_no_report),
        UIKIT(a_launch_under_a_debugger_has_no_report),
        UIKIT(a_launch_of_an_extension_has_no_report),
        UIKIT(a_launch_into_the_background_has_no_report),
        UIKIT(the_end_of_a_launch_may_be_in_the_background),
        APPKIT(a_launch_of_appkit_has_a_report),
        UIKIT(thresholds_are_below_the_systems_limits),
        cmocka_unit_test_setup_teardown(the_heat_is_followed, begin_foundation, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
