/* SPDX-License-Identifier: MIT
 *
 * The player: callbacks of GLib, by a timer's pointer and by a table's. Each action is a bug. Two by one
 * function of GLib: lyrics, titles. Two that wait for one lock without an owner: volume, mute. usage: player
 * ACTION
 */
#include <glob.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../versions.h"

/* Of GLib's headers, which the build needs for nothing else. */
typedef int (*callback)(void *data);
void *g_main_loop_new(void *context, int running);
void g_main_loop_run(void *loop);
void g_main_loop_quit(void *loop);
unsigned g_timeout_add(unsigned ms, callback function, void *data);
int64_t g_get_monotonic_time(void);
void *g_hash_table_new(unsigned (*hash)(const void *), int (*equal)(const void *, const void *));
int g_hash_table_insert(void *table, void *key, void *value);
void g_hash_table_foreach(void *table, void (*call)(void *, void *, void *), void *data);
unsigned g_direct_hash(const void *key);
char *g_utf8_casefold(const char *text, ssize_t bytes);
char *g_utf8_normalize(const char *text, ssize_t bytes, int mode);
void g_free(void *memory);
void g_mutex_lock(void *mutex);
void g_mutex_unlock(void *mutex);
void g_cond_wait(void *condition, void *mutex);
void g_cond_signal(void *condition);
void *g_thread_new(const char *name, void *(*run)(void *), void *data);
void g_usleep(unsigned long us);

static volatile unsigned sink;
static int64_t deadline;
static void *loop;

static int over(void) {
    return g_get_monotonic_time() >= deadline;
}

#if VERSION >= 2
int shuffle_songs(int n) {
    while (n-- > 0) {
        sink = sink * 3 + (unsigned)n;
    }
    return (int)sink;
}
#endif

/* A table's callback does the work: GLib is between two functions of the player. */
static void rate_song(void *key, void *value, void *data) {
    unsigned n = (unsigned)(uintptr_t)key + (unsigned)(uintptr_t)value;
    for (int i = 0; i < 2000; i++) {
        n = n * 22695477 + 1;
    }
    *(unsigned *)data += n;
}

static void scan_library(unsigned songs MORE) {
    void *table = g_hash_table_new(g_direct_hash, NULL);
    unsigned sum = 0;
    USE(songs);
    for (unsigned i = 1; i <= songs; i++) {
        g_hash_table_insert(table, (void *)(uintptr_t)i, (void *)(uintptr_t)(i * 7));
    }
    while (!over()) {
        g_hash_table_foreach(table, rate_song, &sum);
    }
    sink += sum;
}

static int scan(void *data) {
    (void)data;
    scan_library(300 GIVE);
    return 0;
}

/* Two functions that call each other. */
static unsigned parse_list(const char *text, int depth MORE);

static unsigned parse_tag(const char *text, int depth MORE) {
    unsigned n = 0;
    for (int i = 0; i < 200; i++) {
        n = n * 33 + (unsigned char)text[i % 20];
    }
    USE(n);
    return depth > 0 ? n + parse_list(text, depth - 1 PASS) : n;
}

static unsigned parse_list(const char *text, int depth MORE) {
    unsigned n = 0;
    for (int i = 0; i < 3; i++) {
        n = n * 7 + parse_tag(text + i, depth PASS);
    }
    return n;
}

static int tags(void *data) {
    (void)data;
    while (!over()) {
        sink += parse_list("a list of tags, each with a list of tags", 6 GIVE);
    }
    return 0;
}

/* Decoders in a table of pointers; all are called from one place. */
struct decoder {
    const char *name;
    unsigned (*decode)(unsigned frame MORE);
};

static unsigned decode_wave(unsigned frame MORE) {
    USE(frame);
    for (int i = 0; i < 30000; i++) {
        frame = (frame >> 1) ^ (-(frame & 1u) & 0xedb88320u);
    }
    return frame;
}

static unsigned decode_noise(unsigned frame MORE) {
    USE(frame);
    for (int i = 0; i < 30000; i++) {
        frame = frame * 134775813 + 1;
    }
    return frame;
}

static const struct decoder decoders[] = {{"wave", decode_wave}, {"noise", decode_noise}};

static void decode_file(const char *name) {
    const struct decoder *d = &decoders[strcmp(name, "noise") == 0];
    for (unsigned frame = 1; !over(); frame++) {
        sink += d->decode(frame GIVE);
    }
}

static int seek(void *data) {
    decode_file(data);
    return 0;
}

static int skip(void *data) {
    (void)data;
    decode_file("noise");
    return 0;
}

/* One function of GLib, from two places. */
static void fold_lyrics(const char *text MORE) {
    unsigned n = 0;
    char *folded = g_utf8_normalize(text, -1, 0);
    USE(n);
    sink += n + (unsigned char)folded[0];
    g_free(folded);
}

static void sort_titles(const char *text MORE) {
    unsigned n = 1;
    char *folded = g_utf8_normalize(text, -1, 0);
    USE(n);
    sink ^= n * (unsigned char)folded[1];
    g_free(folded);
}

static char long_text[40001];

static void write_text(void) {
    for (size_t i = 0; i + 2 < sizeof long_text; i += 2) {
        memcpy(long_text + i, i % 6 == 0 ? "\xc3\xa9" : "ab", 2);
    }
}

static int lyrics(void *data) {
    (void)data;
    write_text();
    while (!over()) {
        fold_lyrics(long_text GIVE);
    }
    return 0;
}

static int titles(void *data) {
    (void)data;
    write_text();
    while (!over()) {
        sort_titles(long_text GIVE);
    }
    return 0;
}

/* Waits: a lock that names no owner, a condition, a folder's names. */
static void *mutex[1], *ended[2];
static volatile int is_locked;

static void *lock_long(void *data) {
    g_mutex_lock(mutex);
    is_locked = 1;
    g_usleep(BUG_MS * 1000);
    g_mutex_unlock(mutex);
    return data;
}

static void start_locker(void) {
    g_thread_new("locker", lock_long, NULL);
    while (!is_locked) {
        g_usleep(1000);
    }
}

static void set_volume(unsigned percent MORE) {
    USE(percent);
    g_mutex_lock(mutex);
    sink += percent;
    g_mutex_unlock(mutex);
}

static int volume(void *data) {
    (void)data;
    start_locker();
    set_volume(50 GIVE);
    return 0;
}

static void mute_all(unsigned outputs MORE) {
    USE(outputs);
    g_mutex_lock(mutex);
    sink ^= outputs;
    g_mutex_unlock(mutex);
}

static int mute(void *data) {
    (void)data;
    start_locker();
    mute_all(3 GIVE);
    return 0;
}

static int is_ended;

static void *end_song(void *data) {
    g_usleep(BUG_MS * 1000);
    g_mutex_lock(mutex);
    is_ended = 1;
    g_cond_signal(ended);
    g_mutex_unlock(mutex);
    return data;
}

static void wait_for_song(unsigned n MORE) {
    USE(n);
    g_mutex_lock(mutex);
    while (!is_ended) {
        g_cond_wait(ended, mutex);
    }
    g_mutex_unlock(mutex);
    sink += n;
}

static int stop(void *data) {
    (void)data;
    g_thread_new("song", end_song, NULL);
    wait_for_song(1 GIVE);
    return 0;
}

static void find_covers(const char *pattern MORE) {
    glob_t found;
    unsigned n = 0;
    USE(n);
    if (glob(pattern, 0, NULL, &found) == 0) {
        n += (unsigned)found.gl_pathc;
        globfree(&found);
    }
    sink += n;
}

static int covers(void *data) {
    (void)data;
    while (!over()) {
        find_covers("/usr/share/*/*.png" GIVE);
    }
    return 0;
}

static const struct {
    const char *name;
    callback call;
} actions[] = {
    {"scan", scan},     {"tags", tags},     {"seek", seek}, {"skip", skip}, {"lyrics", lyrics},
    {"titles", titles}, {"volume", volume}, {"mute", mute}, {"stop", stop}, {"covers", covers},
};

static int ticks;
static size_t action;

static int tick(void *data) {
    (void)data;
    if (++ticks == 12) {
        deadline = g_get_monotonic_time() + BUG_MS * 1000;
        g_timeout_add(1, actions[action].call, (void *)"wave");
    }
    if (ticks == 18) {
        g_main_loop_quit(loop);
    }
    return 1;
}

int main(int argc, char **argv) {
    const size_t count = sizeof actions / sizeof actions[0];
    while (action < count && strcmp(actions[action].name, argc > 1 ? argv[1] : "") != 0) {
        action++;
    }
    if (action == count) {
        return 2;
    }
    loop = g_main_loop_new(NULL, 0);
    g_timeout_add(10, tick, NULL);
    g_main_loop_run(loop);
    return 0;
}
