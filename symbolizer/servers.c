/* SPDX-License-Identifier: MIT */
#include "symbolizer/servers.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

struct client; /* debuginfod_client; there may be no header of libdebuginfod */

/* Of libdebuginfod, which libdw loads when it needs it. */
struct library {
    void (*set_progress)(struct client *c, int (*progress)(struct client *c, long a, long b));
    const char *(*url)(struct client *c);
    struct client *(*client)(Dwfl *dwfl);
};

static struct servers *current; /* symbolizers are of one thread */
static struct library library;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t servers_answer_seconds(void) {
    const char *text = getenv("DEBUGINFOD_TIMEOUT");
    long seconds = text != NULL ? strtol(text, NULL, 10) : 0;
    return seconds > 0 && seconds <= 3600 ? seconds : SERVERS_ANSWER_SECONDS;
}

/* libdebuginfod calls this function each second or more often. Ends the query unless the result is 0. */
static int on_progress(struct client *c, long a, long b) {
    struct servers *s = current;
    int64_t now = now_ms();
    (void)a;
    if (s == NULL) {
        return 0;
    }
    if (!s->waited && s->on_wait != NULL && now - s->begun_ms >= 1000) {
        s->waited = true;
        s->on_wait();
    }
    bool answered = b > 0 || library.url(c) != NULL;
    s->silent |= !answered && now >= s->answer_ms;
    return s->silent || (s->until_ms != 0 && now >= s->until_ms);
}

static bool load(void) {
    if (library.client != NULL) {
        return true;
    }
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return false; /* then libdw has none either */
    }
    *(void **)&library.set_progress = dlsym(handle, "debuginfod_set_progressfn");
    *(void **)&library.url = dlsym(handle, "debuginfod_get_url");
    *(void **)&library.client = dlsym(RTLD_DEFAULT, "dwfl_get_debuginfod_client");
    return library.set_progress != NULL && library.url != NULL && library.client != NULL;
}

bool servers_begin(struct servers *s, Dwfl *dwfl, int64_t until_ms) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!s->use || s->silent || urls == NULL || urls[0] == '\0') {
        return false;
    }
    struct client *client = load() ? library.client(dwfl) : NULL;
    s->begun_ms = now_ms();
    s->answer_ms = s->begun_ms + 1000 * servers_answer_seconds();
    s->until_ms = until_ms != 0 && until_ms < s->answer_ms ? s->answer_ms : until_ms;
    current = s;
    if (client != NULL) { /* else an old libdw: its queries end by $DEBUGINFOD_TIMEOUT only */
        library.set_progress(client, on_progress);
    }
    return true;
}

void servers_end(struct servers *s, bool *counted, const char *file, bool found) {
    s->silent |= current != NULL && !found && now_ms() >= s->answer_ms; /* libdebuginfod ended the query */
    current = NULL;
    if (found || !s->silent || *counted) {
        return;
    }
    *counted = true;
    if (s->left_out < SERVERS_NAMES) {
        s->name[s->left_out] = file;
    }
    s->left_out++;
}
