/* SPDX-License-Identifier: MIT */
#include "adapter/darwin/app_state.h"

hangdog_state hd_app_state_of_app(struct hd_app_state *app, enum hd_app_event event) {
    static const uint8_t states[] = {[HD_APP_LAUNCHED] = HANGDOG_STATE_FOREGROUND,
                                     [HD_APP_RESIGNS] = HANGDOG_STATE_SUSPEND,
                                     [HD_APP_BACKGROUND] = HANGDOG_STATE_BACKGROUND,
                                     [HD_APP_RETURNS] = HANGDOG_STATE_RESUME,
                                     [HD_APP_ACTIVE] = HANGDOG_STATE_FOREGROUND,
                                     [HD_APP_DISCONNECTED] = HANGDOG_STATE_BACKGROUND,
                                     [HD_APP_QUITS] = HANGDOG_STATE_QUIT};
    if (app->state != HANGDOG_STATE_QUIT) { /* the program goes to the background as it quits */
        app->state = (hangdog_state)states[event];
    }
    return app->state;
}

/* Returns the state of a scene before its first event, which may come long after the scene was made. */
static enum hd_app_scene_state before_event(enum hd_app_event event) {
    return event == HD_APP_RESIGNS   ? HD_APP_SCENE_ACTIVE
           : event == HD_APP_RETURNS ? HD_APP_SCENE_BACKGROUND
                                     : HD_APP_SCENE_INACTIVE;
}

static enum hd_app_scene_state after_event(enum hd_app_event event) {
    return event == HD_APP_ACTIVE                               ? HD_APP_SCENE_ACTIVE
           : event == HD_APP_RESIGNS || event == HD_APP_RETURNS ? HD_APP_SCENE_INACTIVE
                                                                : HD_APP_SCENE_BACKGROUND;
}

/* Returns the place of the scene; HD_APP_SCENES: the table is full. */
static uint32_t place_of(struct hd_app_state *app, enum hd_app_event event, const void *scene) {
    uint32_t i = 0;
    while (i < app->scenes && app->scene[i].scene != scene) {
        i++;
    }
    if (i == app->scenes && i < HD_APP_SCENES) {
        app->scene[i].scene = scene;
        app->scene[i].state = before_event(event);
        app->scenes++;
    }
    return i;
}

static enum hd_app_scene_state most_visible(const struct hd_app_state *app) {
    enum hd_app_scene_state most = HD_APP_SCENE_BACKGROUND;
    for (uint32_t i = 0; i < app->scenes; i++) {
        most = app->scene[i].state > most ? app->scene[i].state : most;
    }
    return most;
}

hangdog_state hd_app_state_of_scene(struct hd_app_state *app, enum hd_app_event event, const void *scene) {
    uint32_t place = place_of(app, event, scene);
    enum hd_app_scene_state before = most_visible(app);
    if (place == HD_APP_SCENES) {
        return app->state;
    }
    app->scene[place].state = after_event(event);
    if (event == HD_APP_DISCONNECTED) {
        app->scene[place] = app->scene[--app->scenes];
    }
    enum hd_app_scene_state after = most_visible(app);
    if (after == before) {
        return app->state;
    }
    return hd_app_state_of_app(app, after == HD_APP_SCENE_ACTIVE       ? HD_APP_ACTIVE
                                    : after == HD_APP_SCENE_BACKGROUND ? HD_APP_BACKGROUND
                                    : before == HD_APP_SCENE_ACTIVE    ? HD_APP_RESIGNS
                                                                       : HD_APP_RETURNS);
}
