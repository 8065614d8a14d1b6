/* SPDX-License-Identifier: MIT */
#include "adapter/darwin/app_states.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "adapter/darwin/app_state.h"
#include "adapter/darwin/frameworks.h"
#include "hangdog/apple.h"
#include "os/darwin/mach.h"
#include "os/darwin/system_values.h"
#include "os/darwin/thermal_state.h"
#include "os/environment.h"

#define DELIVER_IMMEDIATELY 4 /* CFNotificationSuspensionBehaviorDeliverImmediately */
#define TEXT_UTF8 0x08000100u /* kCFStringEncodingUTF8 */
#define STATE_OF_BACKGROUND 2 /* UIApplicationStateBackground */
#define ROLE_BACKGROUND 2     /* TASK_BACKGROUND_APPLICATION */
#define ROLE_DARWIN_BG 8      /* TASK_DARWINBG_APPLICATION */
/* A threshold that no launch reaches. The sum of a time and this one does not overflow. */
#define NO_LAUNCH_NS (365 * 24 * 3600 * HD_NS_PER_S)

struct row {
    const char *name; /* the exported constant, whose text is the same */
    bool of_scene;
    uint8_t event; /* enum hd_app_event */
};

static const struct row rows[] = {
    {"UIApplicationDidFinishLaunchingNotification", false, HD_APP_LAUNCHED},
    {"UIApplicationWillResignActiveNotification", false, HD_APP_RESIGNS},
    {"UIApplicationDidEnterBackgroundNotification", false, HD_APP_BACKGROUND},
    {"UIApplicationWillEnterForegroundNotification", false, HD_APP_RETURNS},
    {"UIApplicationDidBecomeActiveNotification", false, HD_APP_ACTIVE},
    {"UIApplicationWillTerminateNotification", false, HD_APP_QUITS},
    {"UISceneWillDeactivateNotification", true, HD_APP_RESIGNS},
    {"UISceneDidEnterBackgroundNotification", true, HD_APP_BACKGROUND},
    {"UISceneWillEnterForegroundNotification", true, HD_APP_RETURNS},
    {"UISceneDidActivateNotification", true, HD_APP_ACTIVE},
    {"UISceneDidDisconnectNotification", true, HD_APP_DISCONNECTED},
    {"NSExtensionHostWillResignActiveNotification", false, HD_APP_RESIGNS},
    {"NSExtensionHostDidEnterBackgroundNotification", false, HD_APP_BACKGROUND},
    {"NSExtensionHostWillEnterForegroundNotification", false, HD_APP_RETURNS},
    {"NSExtensionHostDidBecomeActiveNotification", false, HD_APP_ACTIVE},
    {"NSApplicationDidFinishLaunchingNotification", false, HD_APP_LAUNCHED},
    {"NSApplicationDidHideNotification", false, HD_APP_BACKGROUND},
    {"NSApplicationWillUnhideNotification", false, HD_APP_RETURNS},
    {"NSApplicationDidUnhideNotification", false, HD_APP_ACTIVE},
    {"NSApplicationDidBecomeActiveNotification", false, HD_APP_ACTIVE},
    {"NSApplicationWillTerminateNotification", false, HD_APP_QUITS},
};
#define ROWS (sizeof rows / sizeof rows[0])

static struct {
    struct hd_app_state app;
    bool follows, prewarmed;
    atomic_bool launches;
} own;

__attribute__((constructor)) void hd_app_states_note_prewarming(void) {
    static const char start[] = "ActivePrewarm=";
    own.prewarmed = false;
    for (char **variable = hd_os_environment(); variable != NULL && *variable != NULL; variable++) {
        if (strncmp(*variable, start, sizeof start - 1) == 0) {
            own.prewarmed = strcmp(*variable + sizeof start - 1, "1") == 0;
        }
    }
}

/* Sends a message without arguments whose answer is a number. */
static long number_of(void *object, const char *selector) {
    const struct hd_objc_calls *o = &hd_frameworks.objc;
    return (long)(intptr_t)o->send(object, o->selector(selector));
}

static void no_launch_report(void) {
    (void)hangdog_set_state_threshold(HANGDOG_STATE_LAUNCH, NO_LAUNCH_NS);
}

/* At the end of a launch into the background, UIKit has no notification of the background. */
static bool is_in_background(const struct row *row, const void *app) {
    return row->event == HD_APP_LAUNCHED && app != NULL && hd_frameworks_have_objc() &&
           number_of((void *)app, "applicationState") == STATE_OF_BACKGROUND;
}

static void on_notification(void *center, void *observer, const void *name, const void *object,
                            const void *info) {
    const struct row *row = observer;
    (void)center, (void)name, (void)info;
    atomic_store_explicit(&own.launches, false, memory_order_relaxed);
    if (row->of_scene) {
        hangdog_set_state(hd_app_state_of_scene(&own.app, (enum hd_app_event)row->event, object));
    } else {
        enum hd_app_event event =
            is_in_background(row, object) ? HD_APP_BACKGROUND : (enum hd_app_event)row->event;
        hangdog_set_state(hd_app_state_of_app(&own.app, event));
    }
}

/* The notification of a change comes on any thread. Its name is the observer, too. */
static const char thermal_change[] = "NSProcessInfoThermalStateDidChangeNotification";

static void on_thermal_change(void *center, void *observer, const void *name, const void *object,
                              const void *info) {
    (void)center, (void)observer, (void)name, (void)object, (void)info;
    void *type = hd_frameworks.objc.class_named("NSProcessInfo");
    if (type != NULL) {
        void *process = hd_frameworks.objc.send(type, hd_frameworks.objc.selector("processInfo"));
        hd_thermal_state_store(number_of(process, "thermalState"));
    }
}

static void follow_thermal_state(void *center) {
    const void *name = hd_frameworks_have_objc() ? hd_frameworks.constant(thermal_change) : NULL;
    if (name != NULL) {
        hd_frameworks.cf.add_observer(center, thermal_change, on_thermal_change, name, NULL,
                                      DELIVER_IMMEDIATELY);
        on_thermal_change(NULL, NULL, NULL, NULL, NULL);
    }
}

static bool is_extension(void) {
    const struct hd_cf_calls *c = &hd_frameworks.cf;
    if (c->main_bundle == NULL || c->bundle_value == NULL || c->new_text == NULL || c->release == NULL) {
        return false;
    }
    void *bundle = c->main_bundle();
    const void *key = bundle != NULL ? c->new_text(NULL, "NSExtension", TEXT_UTF8) : NULL;
    bool found = key != NULL && c->bundle_value(bundle, key) != NULL;
    if (key != NULL) {
        c->release(key);
    }
    return found;
}

static bool is_app(void) {
    return hd_frameworks.constant("UIApplicationDidFinishLaunchingNotification") != NULL ||
           hd_frameworks.constant("NSApplicationDidFinishLaunchingNotification") != NULL;
}

/* An app of UIKit that the kernel runs as a background task. AppKit has no such launches. */
static bool starts_in_background(void) {
    struct hd_mach_task task;
    return hd_frameworks.constant("UIApplicationDidFinishLaunchingNotification") != NULL &&
           hd_mach.task(&task) == 0 && (task.role == ROLE_BACKGROUND || task.role == ROLE_DARWIN_BG);
}

int hangdog_app_follow(void) {
    const struct hd_cf_calls *c = &hd_frameworks.cf;
    unsigned states = 0;
    hd_frameworks_load();
    if (own.follows) {
        return -EALREADY;
    }
    void *center = hd_frameworks_have_cf() ? c->local_center() : NULL;
    if (center == NULL) {
        return -ENOENT;
    }
    own.app = (struct hd_app_state){.state = HANGDOG_STATE_FOREGROUND};
    for (unsigned i = 0; i < ROWS; i++) {
        const void *name = hd_frameworks.constant(rows[i].name);
        if (name != NULL) {
            c->add_observer(center, &rows[i], on_notification, name, NULL, DELIVER_IMMEDIATELY);
            states++;
        }
    }
    if (states == 0) {
        return -ENOENT;
    }
    own.follows = true;
    follow_thermal_state(center);
    /* an extension has another framework's main function, which announces no end of the launch */
    bool extension = is_extension();
    atomic_store_explicit(&own.launches, !extension && is_app(), memory_order_relaxed);
    bool background = starts_in_background();
    if (background) {
        hangdog_set_state(hd_app_state_of_app(&own.app, HD_APP_BACKGROUND));
    }
    if (background || own.prewarmed || extension || hd_system_has_debugger()) {
        no_launch_report();
    }
    return 0;
}

int hangdog_app_launches(void) {
    return atomic_load_explicit(&own.launches, memory_order_relaxed);
}

void hangdog_app_unfollow(void) {
    const struct hd_cf_calls *c = &hd_frameworks.cf;
    if (!own.follows) {
        return;
    }
    own.follows = false;
    atomic_store_explicit(&own.launches, false, memory_order_relaxed);
    void *center = c->local_center();
    for (unsigned i = 0; i < ROWS; i++) {
        c->remove_observer(center, &rows[i]);
    }
    c->remove_observer(center, thermal_change);
}
