/* SPDX-License-Identifier: MIT
 *
 * threading joins by a lock that has no owner, so the Thread object says which thread it is. Worker: may run
 * while a hang is on; no allocation.
 */
#include "script/joins.h"

#include <string.h>

#include "script/cpython_object.h"

#define INNERMOST 4u /* frames */
#define TAG_BITS UINT64_C(3)
#define PYTHON_THREADS_MAX 1024u

struct join {
    unsigned frames;
    int own, tid;
};

/* The thread of a Thread object, by its attribute; 0: it has not started, or it is the asking one. */
static int thread_of(const struct hd_scripts *s, uint64_t object, int own) {
    uint64_t tid = 0;
    bool known = hd_object_is(s, object, "Thread") &&
                 hd_object_int(s, hd_object_attribute(s, object, "_native_id"), &tid) && tid <= INT32_MAX;
    return known && (int)tid != own ? (int)tid : 0;
}

bool hd_scripts_next_thread(const struct hd_scripts *s, uint32_t *at, int *tid, char *name, size_t size) {
    uint64_t object;
    uint64_t dict = s->py.eval != 0 ? hd_object_global(s, "threading", "_active") : 0;
    while (*at < PYTHON_THREADS_MAX && (object = hd_object_next_value(s, dict, at)) != 0) {
        *tid = thread_of(s, object, 0);
        if (*tid != 0 && hd_object_text(s, hd_object_attribute(s, object, "_name"), name, size)) {
            return true;
        }
    }
    return false;
}

/* At exit the interpreter waits for each thread that is no daemon. */
static int last_thread(const struct hd_scripts *s, int own) {
    uint64_t dict = hd_object_global(s, "threading", "_active"), object, daemon;
    uint32_t at = 0;
    for (unsigned i = 0; i < PYTHON_THREADS_MAX && (object = hd_object_next_value(s, dict, &at)) != 0; i++) {
        int tid = thread_of(s, object, own);
        if (tid != 0 && hd_object_int(s, hd_object_attribute(s, object, "_daemonic"), &daemon) &&
            daemon == 0) {
            return tid;
        }
    }
    return 0;
}

static bool visit(struct hd_scripts *s, uint64_t frame, void *arg) {
    const struct hd_cpython_layout *l = &s->py.layout;
    struct join *j = arg;
    struct hd_script_place place;
    uint64_t code = hd_cpython_word(s, frame + l->frame_code) & ~TAG_BITS;
    if (code == 0 || !hd_cpython_place(s, code, 0, &place) || place.script == 0) {
        return ++j->frames == INNERMOST;
    }
    const char *name = s->string + s->script[place.script - 1].name;
    const char *file = s->string + s->script[place.script - 1].file;
    size_t n = strlen(file), end = strlen("threading.py");
    if (n >= end && strcmp(file + n - end, "threading.py") == 0) {
        bool joins = strcmp(name, "Thread.join") == 0 || strcmp(name, "Thread._wait_for_tstate_lock") == 0;
        uint64_t local = hd_cpython_word(s, frame + l->objects.frame_locals) & ~TAG_BITS;
        j->tid = joins                            ? thread_of(s, local, j->own)
                 : strcmp(name, "_shutdown") == 0 ? last_thread(s, j->own)
                                                  : 0;
    }
    return j->tid != 0 || ++j->frames == INNERMOST;
}

int hd_scripts_joined(struct hd_scripts *s, int tid) {
    struct join j = {.own = tid};
    if (s->py.eval != 0 && s->py.layout.objects.modules != 0) {
        hd_cpython_visit_frames(s, tid, visit, &j);
    }
    return j.tid;
}
