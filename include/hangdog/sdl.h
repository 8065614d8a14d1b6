/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for the event loop of SDL 2 and SDL 3. SDL has no hook for its waits, so the program calls these
 * functions in place of SDL's.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_loop *loop = hangdog_loop_watch("main", 0);
 * SDL_Event event;
 * while (hangdog_sdl_wait_event(loop, &event))
 *     handle(&event);
 * @endcode
 *
 * A game that draws all the time polls and presents:
 *
 * @code
 * for (;;) {
 *     while (hangdog_sdl_poll_event(loop, &event))
 *         handle(&event);
 *     draw(renderer);
 *     hangdog_sdl_present(loop, renderer);
 * }
 * @endcode
 *
 * An event filter of the program runs in SDL's function, and counts as a part of a wait.
 *
 * For SDL 3, include SDL's own header before this one. The functions are inline. The program links SDL
 * itself.
 */
#ifndef HANGDOG_SDL_H
#define HANGDOG_SDL_H

#ifndef SDL_MAJOR_VERSION
#include <SDL.h>
#endif

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Waits for an event, as SDL_WaitEvent() does. The loop is idle meanwhile.
 * @param loop The loop of the calling thread.
 * @param event Gets the event.
 * @return Not 0: there is an event. 0: SDL has an error.
 */
static inline int hangdog_sdl_wait_event(hangdog_loop *loop, SDL_Event *event) {
    hangdog_before_wait(loop);
    int found = SDL_WaitEvent(event);
    hangdog_after_wait(loop);
    return found;
}

/**
 * Waits for an event for some time, as SDL_WaitEventTimeout() does. The loop is idle meanwhile.
 * @param loop The loop of the calling thread.
 * @param event Gets the event.
 * @param ms The longest time to wait, in milliseconds; -1: no limit.
 * @return Not 0: there is an event. 0: there is none.
 */
static inline int hangdog_sdl_wait_event_timeout(hangdog_loop *loop, SDL_Event *event, int ms) {
    hangdog_before_wait(loop);
    int found = SDL_WaitEventTimeout(event, ms);
    hangdog_after_wait(loop);
    return found;
}

/**
 * Takes an event if there is one, as SDL_PollEvent() does. A turn ends, and the next one starts.
 * @param loop The loop of the calling thread.
 * @param event Gets the event.
 * @return Not 0: there is an event. 0: there is none.
 */
static inline int hangdog_sdl_poll_event(hangdog_loop *loop, SDL_Event *event) {
    hangdog_turn(loop);
    return SDL_PollEvent(event);
}

/**
 * Sleeps until the next frame is due, as SDL_Delay() does. The loop is idle meanwhile.
 * @param loop The loop of the calling thread.
 * @param ms The time in milliseconds.
 */
static inline void hangdog_sdl_delay(hangdog_loop *loop, uint32_t ms) {
    hangdog_before_wait(loop);
    SDL_Delay(ms);
    hangdog_after_wait(loop);
}

/**
 * Presents a frame, as SDL_RenderPresent() does, and marks it: hangdog_frame(). For OpenGL and Vulkan, call
 * hangdog_frame() after the function that presents.
 * @param loop The loop of the calling thread.
 * @param renderer The renderer.
 */
static inline void hangdog_sdl_present(hangdog_loop *loop, SDL_Renderer *renderer) {
    SDL_RenderPresent(renderer);
    hangdog_frame(loop);
}

#ifdef __cplusplus
}
#endif
#endif
