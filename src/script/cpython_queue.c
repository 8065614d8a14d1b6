/* SPDX-License-Identifier: MIT
 *
 * The length of a queue that is a local variable of a Python function: the queue of work of a
 * ThreadPoolExecutor. Worker only; no allocation. Every read can fail.
 */
#include <string.h>

#include "script/cpython.h"

#define FRAMES_MAX 256u
#define LOCALS_WORDS 56u /* of a frame, its local variables among them */
#define TAG_BITS 3u
#define PY_TYPE_NAME 24
#define QUEUE_LIST 32 /* up to 3.12: a list, and the first item's index */
#define QUEUE_RING 24 /* from 3.13 on: indices to put and get, the items, their capacity and number */

static bool has_type(const struct hd_scripts *s, uint64_t object, const char *name) {
    char text[32];
    size_t n = strlen(name) + 1;
    uint64_t type = hd_cpython_word(s, object + PY_TYPE);
    uint64_t at = type != 0 ? hd_cpython_word(s, type + PY_TYPE_NAME) : 0;
    return at != 0 && hd_script_read(s, at, text, n) && memcmp(text, name, n) == 0;
}

static uint64_t find_queue(const struct hd_scripts *s, uint64_t frame) {
    uint64_t words[LOCALS_WORDS];
    if (!hd_script_read(s, frame, words, sizeof words)) {
        return 0;
    }
    for (uint32_t i = 0; i < LOCALS_WORDS; i++) {
        uint64_t object = words[i] & ~(uint64_t)TAG_BITS;
        if (object != 0 && object % 8 == 0 && has_type(s, object, "_queue.SimpleQueue")) {
            return object;
        }
    }
    return 0;
}

static int32_t length_of(const struct hd_scripts *s, uint64_t queue) {
    uint64_t list = hd_cpython_word(s, queue + QUEUE_LIST), ring[5] = {0};
    uint64_t n = 0;
    if (list != 0 && has_type(s, list, "list")) {
        n = hd_cpython_word(s, list + PY_VAR_SIZE) - hd_cpython_word(s, queue + QUEUE_LIST + 8);
    } else if (hd_script_read(s, queue + QUEUE_RING, ring, sizeof ring) && ring[0] < ring[3] &&
               ring[1] < ring[3] && ring[4] <= ring[3]) {
        n = ring[4];
    } else {
        return -1;
    }
    return n <= INT32_MAX ? (int32_t)n : -1;
}

int32_t hd_scripts_queued(struct hd_scripts *s, int tid, const char *function, uint64_t *queue) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint8_t bytes[PY_THREAD_BYTES];
    struct hd_script_place place;
    *queue = 0;
    if (s->py.eval == 0 || !hd_cpython_thread(s, tid, bytes)) {
        return -1;
    }
    uint64_t frame = hd_script_u64(bytes + l->thread_frame);
    frame = l->cframe ? hd_cpython_word(s, frame + l->cframe_current) : frame;
    for (unsigned i = 0; frame != 0 && i < FRAMES_MAX; i++) {
        uint64_t code = hd_cpython_word(s, frame + l->frame_code) & ~(uint64_t)TAG_BITS;
        if (code != 0 && hd_cpython_place(s, code, 0, &place) && place.script != 0 &&
            strcmp(s->string + s->script[place.script - 1].name, function) == 0) {
            *queue = find_queue(s, frame);
            return *queue != 0 ? length_of(s, *queue) : -1;
        }
        frame = hd_cpython_word(s, frame + l->frame_back);
    }
    return -1;
}
