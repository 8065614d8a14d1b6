/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog on Apple's systems: the program's states by its notifications, and its frames by a display link.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_app_follow();
 * hangdog_cfrunloop *watch = hangdog_cfrunloop_watch("main", 0, HANGDOG_CFRUNLOOP_EXIT_DEFAULT);
 * @endcode
 *
 * Both look up the system's frameworks at run time, so that the library links none of them. A program without
 * UIKit and AppKit gets an error, and nothing changes.
 */
#ifndef HANGDOG_APPLE_H
#define HANGDOG_APPLE_H

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Follows the state of the program by the notifications of UIKit, UIKit's scenes, extensions and AppKit.
 * Calls hangdog_set_state() for each change:
 *
 * - UIKit: `suspend` while the program resigns, `background`, `resume` until it is active, `foreground`,
 * `quit`. The most visible scene gives a program with scenes its state.
 *
 * - AppKit: `background` while the program is hidden, `resume`, `foreground`, `quit`. A program that is
 * visible and not active stays in the foreground.
 *
 * A launch has no report if no user waits for it. That is so in an extension, in a launch into the
 * background, and under a debugger. It is so too if the system started the process before the user did
 * ("prewarming").
 *
 * Call this function on the main thread, after hangdog_start() and before `UIApplicationMain` or
 * `NSApplicationMain`.
 *
 * @retval 0 The states are followed until hangdog_app_unfollow().
 * @retval -EALREADY They are followed already.
 * @retval -ENOENT The process has no CoreFoundation, or no framework with such notifications.
 */
HANGDOG_API int hangdog_app_follow(void);

/** Returns not 0 while the followed program launches: until UIKit or AppKit announces the end of the launch.
 * With hangdog/cfrunloop.h, the loop's waits do not end the launch before. Async-signal-safe. */
HANGDOG_API int hangdog_app_launches(void);

/** Ends hangdog_app_follow(). The state stays as it is. On the main thread. */
HANGDOG_API void hangdog_app_unfollow(void);

/**
 * Counts the frames of the display by a CADisplayLink: the session report has frames, dropped frames and
 * frame times, as with hangdog_frame(). A refresh that the loop was not free to draw is a dropped frame. A
 * pause of the link by the system is not.
 *
 * The link wakes the loop at each refresh of the display, also while nothing moves. So follow frames while an
 * animation or a scroll lasts, and no longer.
 *
 * @param loop The main loop; its waits are marked. The main thread calls this function, and
 * hangdog_frames_unfollow() before it ends the watch of the loop.
 * @retval 0 Frames are counted until hangdog_frames_unfollow().
 * @retval -EINVAL `loop` is NULL.
 * @retval -EALREADY Frames are followed already.
 * @retval -ENOENT The process has no Objective-C, no display, or a macOS before 14.
 */
HANGDOG_API int hangdog_frames_follow(hangdog_loop *loop);

/** Ends hangdog_frames_follow(). On the main thread. */
HANGDOG_API void hangdog_frames_unfollow(void);

/** @cond */
#ifdef HANGDOG_STUB_H
static inline int hangdog_app_follow(void) {
    return -ENOENT;
}

static inline int hangdog_app_launches(void) {
    return 0;
}

static inline void hangdog_app_unfollow(void) {}

static inline int hangdog_frames_follow(hangdog_loop *loop) {
    (void)loop;
    return -ENOENT;
}

static inline void hangdog_frames_unfollow(void) {}
#endif
/** @endcond */

#ifdef __cplusplus
}
#endif
#endif
