/* SPDX-License-Identifier: MIT
 *
 * A program whose states and frames Hangdog follows, by the calls of the frameworks that dlsym finds. The
 * arguments are the spool and a scenario.
 */
#include "frameworks.h"
#include "hangdog/apple.h"
#include "watched.h"

#include <errno.h>

static void sleep_ms(unsigned ms) {
    nap_ms(ms);
}

/* A hang in each of three states. */
static void states(void) {
    CHECK_EQUAL(0, hangdog_app_follow());
    CHECK_EQUAL(-EALREADY, hangdog_app_follow());
    CHECK_EQUAL(1, hangdog_app_launches());
    CHECK_EQUAL(1, frameworks_post("UIApplicationWillResignActiveNotification", NULL));
    CHECK_EQUAL(0, hangdog_app_launches());
    watched_turn(sleep_ms, 500);
    CHECK_EQUAL(1, frameworks_post("UISceneDidActivateNotification", "scene"));
    watched_turn(sleep_ms, 500);
    CHECK_EQUAL(1,
                frameworks_post("UIApplicationDidFinishLaunchingNotification", frameworks_background_app()));
    watched_turn(sleep_ms, 500);
    hangdog_app_unfollow();
    CHECK_EQUAL(0, frameworks_post("UIApplicationWillTerminateNotification", NULL));
}

static void refresh(double *now, int refreshes) {
    *now += refreshes / 60.0;
    CHECK_EQUAL(1, frameworks_refresh(*now, *now + 1 / 60.0, 1 / 60.0));
}

/* Sixty frames, one of which takes seven refreshes. */
static void frames(int uikit) {
    double now = 1000;
    frameworks_use_uikit(uikit);
    CHECK_EQUAL(0, hangdog_frames_follow(watched_loop));
    CHECK_EQUAL(-EALREADY, hangdog_frames_follow(watched_loop));
    for (int i = 0; i < 60; i++) {
        hangdog_after_wait(watched_loop);
        refresh(&now, 1);
        hangdog_before_wait(watched_loop);
    }
    hangdog_after_wait(watched_loop);
    nap_ms(100);
    refresh(&now, 7);
    hangdog_before_wait(watched_loop);
    hangdog_frames_unfollow();
    CHECK_EQUAL(0, frameworks_references());
    CHECK_EQUAL(0, frameworks_refresh(now, now + 1, 1));
}

/* The launch lasts until the loop's first wait. */
static void launch(const char *spool) {
    hangdog_options o = {.size = sizeof o, .app_name = "adapter", .spool = spool};
    o.threshold_ns[HANGDOG_STATE_LAUNCH] = THRESHOLD_MS * MS;
    CHECK_EQUAL(0, hangdog_start(&o));
    CHECK_EQUAL(0, hangdog_app_follow());
    watched_loop = hangdog_loop_watch("main", 0);
    nap_ms(500);
    hangdog_before_wait(watched_loop);
}

int main(int argc, char **argv) {
    (void)argc;
    hangdog_options o = {0};
    if (strcmp(argv[2], "launch") == 0) {
        launch(argv[1]);
    } else {
        watched_start("adapter", argv[1], &o);
        if (strcmp(argv[2], "states") == 0) {
            states();
        } else {
            frames(strcmp(argv[2], "frames-of-uikit") == 0);
        }
    }
    watched_stop();
    nap_ms(500); /* under an emulator a stop may come before the session report is written */
    check_violations();
    return failed_checks ? 1 : 0;
}
