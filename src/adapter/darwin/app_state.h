/* SPDX-License-Identifier: MIT
 *
 * The program's state from what its framework announces. Values in, a state out; no call of the system. On
 * the main thread.
 */
#ifndef HD_ADAPTER_APP_STATE_H
#define HD_ADAPTER_APP_STATE_H

#include "base/types.h"
#include "hangdog/hangdog.h"

#define HD_APP_SCENES 16u

enum hd_app_event {
    HD_APP_LAUNCHED,
    HD_APP_RESIGNS,    /* the program, or a scene, is about to be inactive */
    HD_APP_BACKGROUND, /* the program, or a scene, is in the background */
    HD_APP_RETURNS,    /* the program, or a scene, is about to be in the foreground */
    HD_APP_ACTIVE,
    HD_APP_DISCONNECTED, /* a scene is gone */
    HD_APP_QUITS,
};

enum hd_app_scene_state {
    HD_APP_SCENE_BACKGROUND,
    HD_APP_SCENE_INACTIVE,
    HD_APP_SCENE_ACTIVE
};

struct hd_app_state {
    hangdog_state state;
    uint32_t scenes;
    struct {
        const void *scene; /* its object, only compared */
        enum hd_app_scene_state state;
    } scene[HD_APP_SCENES];
};

/* Applies an event of the program to *app, and returns the program's state. */
hangdog_state hd_app_state_of_app(struct hd_app_state *app, enum hd_app_event event);
/* The same for an event of one scene. More scenes than HD_APP_SCENES change no state. */
hangdog_state hd_app_state_of_scene(struct hd_app_state *app, enum hd_app_event event, const void *scene);

#endif
