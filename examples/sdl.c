/* SPDX-License-Identifier: MIT
 *
 * A program of SDL 2, watched by Hangdog. A thread posts each line on standard input as an event: "slow"
 * takes a second, and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc sdl.c $(pkg-config --cflags --libs hangdog sdl2) -o sdl
 */
#include <SDL.h>
#include <hangdog/sdl.h>
#include <stdio.h>
#include <string.h>

static int read_requests(void *unused) {
    char line[64];
    (void)unused;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        SDL_Event event = {.user = {.type = SDL_USEREVENT, .data1 = SDL_strdup(line)}};
        SDL_PushEvent(&event);
    }
    SDL_PushEvent(&(SDL_Event){.type = SDL_QUIT});
    return 0;
}

static void handle(const char *request) {
    if (strcmp(request, "slow") == 0) {
        SDL_Delay(1000);
    }
    printf("%s: done\n", request);
}

int main(int argc, char **argv) {
    hangdog_options options = {.size = sizeof options};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 500 * 1000 * 1000;
    }
    (void)argc, (void)argv;
    hangdog_start(&options);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    SDL_Init(SDL_INIT_VIDEO);
    SDL_DetachThread(SDL_CreateThread(read_requests, "requests", NULL));

    SDL_Event event;
    while (hangdog_sdl_wait_event(loop, &event) && event.type != SDL_QUIT) {
        if (event.type == SDL_USEREVENT) {
            hangdog_label(loop, event.user.data1, NULL);
            handle(event.user.data1);
            SDL_free(event.user.data1);
        }
    }
    SDL_Quit();
    return hangdog_stop();
}
