/* SPDX-License-Identifier: MIT
 *
 * A window of SDL: with `game` as the last argument frames, each of which asks for events and draws; else it
 * waits for events.
 */
#include <stdint.h>

#include "schedule.h"

int SDL_Init(uint32_t flags);
void SDL_Quit(void);
void *SDL_CreateWindow(const char *title, int x, int y, int width, int height, uint32_t flags);
int SDL_UpdateWindowSurface(void *window);
void *SDL_GetWindowSurface(void *window);
int SDL_WaitEventTimeout(void *event, int ms);
int SDL_PollEvent(void *event);
void SDL_Delay(uint32_t ms);
#define SDL_INIT_VIDEO 0x20u

/* Until that time, by the monotonic clock. */
static void serve_events_until(long long end_ns, void *window, int is_game) {
    uint64_t event[32]; /* more than an SDL_Event */
    while (monotonic_ns() < end_ns) {
        if (is_game) {
            while (SDL_PollEvent(event)) {
            }
            SDL_UpdateWindowSurface(window);
            SDL_Delay(16);
        } else {
            SDL_WaitEventTimeout(event, (int)((end_ns - monotonic_ns()) / 1000000) + 1);
        }
    }
}

int main(int argc, char **argv) {
    int is_game = argc > 2 && strcmp(argv[argc - 1], "game") == 0;
    void *window;
    if (argc < 2 || SDL_Init(SDL_INIT_VIDEO) != 0) {
        return 2;
    }
    if (is_game) {
        argv[argc - 1] = NULL;
    }
    window = SDL_CreateWindow("SDL", 0, 0, 200, 100, 0);
    SDL_GetWindowSurface(window);
    for (int ms = first_wait_ms(argv); ms >= 0; ms = run_callback()) {
        serve_events_until(monotonic_ns() + ms * 1000000LL, window, is_game);
    }
    SDL_Quit();
    return 0;
}
