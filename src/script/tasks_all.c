/* SPDX-License-Identifier: MIT
 *
 * All tasks of asyncio, and in which functions each of them stands. For a reader outside of the process.
 */
#include <string.h>

#include "script/cpython_object.h"
#include "script/tasks.h"

#define THREADS_MAX 4096u
#define SET_MAX (1u << 16) /* entries of the set's table */
#define STACK_MAX 64u      /* words of a frame */
#define TAG_BITS UINT64_C(3)
#define WRAPPERS_MAX 4u /* around each other */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    SET_MASK = 32,
    SET_TABLE = 40,
    SET_ENTRY_BYTES = 16,
    WEAK_OBJECT = 16,
    AWAITED = 16,     /* the future of an iterator, the coroutine of a wrapper */
    FRAME_STACK = 64, /* an int: words from the locals on; 3.14: the address of the end */
    METHOD_SELF = 24
};

/* ---- all of them ---------------------------------------------------------------------------- */

/* The tasks of a ring of nodes, which starts at `head`. */
static uint32_t add_ring(const struct hd_scripts *s, uint64_t head, uint64_t *tasks, uint32_t n,
                         uint32_t max) {
    uint64_t node = hd_cpython_word(s, head);
    while (node != 0 && node != head && n < max && hd_cpython_word(s, hd_cpython_word(s, node + 8)) == node) {
        tasks[n++] = node - s->py.layout.objects.task_node;
        node = hd_cpython_word(s, node);
    }
    return n;
}

/* 3.14 on: each thread has a ring, and the interpreter has those of threads that ended. */
static uint32_t add_rings(const struct hd_scripts *s, uint64_t *tasks, uint32_t max) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint64_t interpreter = hd_cpython_main_interpreter(s);
    uint64_t thread = interpreter != 0 ? hd_cpython_word(s, interpreter + l->threads) : 0;
    uint32_t n = interpreter != 0 ? add_ring(s, interpreter + l->objects.all_tasks, tasks, 0, max) : 0;
    for (unsigned i = 0; thread != 0 && i < THREADS_MAX; i++) {
        n = add_ring(s, thread + l->objects.thread_tasks, tasks, n, max);
        thread = hd_cpython_word(s, thread + l->next_thread);
    }
    return n;
}

/* Up to 3.13: a WeakSet, which has a set of weak references. */
static uint32_t add_weak_set(const struct hd_scripts *s, uint64_t *tasks, uint32_t max) {
    uint64_t weak =
        hd_object_global(s, "_asyncio", s->py.layout.objects.minor == 11 ? "_all_tasks" : "_scheduled_tasks");
    uint64_t set = hd_object_attribute(s, weak, "data"), mask, table;
    uint32_t n = 0;
    if (!hd_object_is(s, set, "set")) {
        return 0;
    }
    mask = hd_cpython_word(s, set + SET_MASK);
    table = hd_cpython_word(s, set + SET_TABLE);
    for (uint64_t i = 0; table != 0 && i <= mask && i < SET_MAX && n < max; i++) {
        uint64_t reference = hd_cpython_word(s, table + SET_ENTRY_BYTES * i);
        uint64_t task = reference != 0 ? hd_cpython_word(s, reference + WEAK_OBJECT) : 0;
        if (task != 0 && hd_object_is(s, task, "_asyncio.Task")) {
            tasks[n++] = task;
        }
    }
    return n;
}

uint32_t hd_tasks_all(const struct hd_scripts *s, uint64_t *tasks, uint32_t max) {
    if (s->py.eval == 0 || s->py.layout.objects.modules == 0) {
        return 0;
    }
    return s->py.layout.objects.thread_tasks != 0 ? add_rings(s, tasks, max) : add_weak_set(s, tasks, max);
}

/* ---- a coroutine's frame -------------------------------------------------------------------- */

struct frame {
    uint64_t code, local;
    int64_t unit;
    uint64_t word[STACK_MAX]; /* locals and stack */
    uint32_t words;
    bool awaits;
};

static bool has_frame(const char *type) {
    return strcmp(type, "coroutine") == 0 || strcmp(type, "generator") == 0 ||
           strcmp(type, "async_generator") == 0;
}

static bool read_frame(const struct hd_scripts *s, uint64_t coroutine, struct frame *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint64_t at = coroutine + l->objects.coroutine_frame, locals = at + l->objects.frame_locals;
    uint8_t bytes[PY_FRAME_BYTES];
    int32_t words;
    int8_t state;
    if (coroutine == 0 || !hd_script_read(s, at, bytes, l->objects.frame_locals) ||
        !hd_script_read(s, at - HD_COROUTINE_STATE, &state, sizeof state)) {
        return false;
    }
    out->awaits = state == -1;
    memcpy(&words, bytes + FRAME_STACK, sizeof words);
    uint64_t count =
        l->objects.minor < 14 ? (uint64_t)words : (hd_script_u64(bytes + FRAME_STACK) - locals) / 8;
    out->code = hd_script_u64(bytes + l->frame_code) & ~TAG_BITS;
    out->unit = (int64_t)(hd_script_u64(bytes + l->frame_at) - out->code - l->code_units) / PY_UNIT_BYTES;
    out->words = count <= STACK_MAX ? (uint32_t)count : 0;
    for (uint32_t i = 0; i < out->words; i++) {
        out->word[i] = hd_cpython_word(s, locals + 8 * (uint64_t)i) & ~TAG_BITS;
    }
    out->local = out->words > 0 ? out->word[0] : 0;
    if (hd_object_is(s, out->local, "cell")) {
        out->local = hd_cpython_word(s, out->local + AWAITED);
    }
    return out->code != 0;
}

/* The object that a coroutine awaits: the last word of the frame's stack. */
static uint64_t awaited(const struct frame *f) {
    return f->awaits && f->words > 0 ? f->word[f->words - 1] : 0;
}

/* The object behind iterators and wrappers, and its type. */
static uint64_t unwrap(const struct hd_scripts *s, uint64_t object, char type[HD_TASK_TYPE_BYTES]) {
    static const char wrappers[][24] = {"_asyncio.FutureIter", "coroutine_wrapper", "async_generator_asend",
                                        "async_generator_athrow", "anext_awaitable"};
    for (unsigned steps = 0, i = 0; steps < WRAPPERS_MAX && i < COUNT(wrappers); steps++) {
        hd_object_type(s, object, type);
        for (i = 0; i < COUNT(wrappers) && strcmp(type, wrappers[i]) != 0; i++) {
        }
        object = i < COUNT(wrappers) ? hd_cpython_word(s, object + AWAITED) : object;
    }
    return object;
}

uint32_t hd_task_frames(struct hd_scripts *s, const struct hd_task *task, struct hd_frame *frames,
                        uint32_t max, struct hd_task_wait *wait) {
    uint64_t object = task->coroutine;
    uint32_t n = 0;
    struct frame f;
    struct hd_script_place place;
    memset(wait, 0, sizeof *wait);
    for (uint32_t i = 0; i < max; i++) {
        object = unwrap(s, object, wait->type);
        if (!has_frame(wait->type) || !read_frame(s, object, &f) ||
            !hd_cpython_place(s, f.code, f.unit, &place)) {
            break;
        }
        if (place.script != 0) {
            frames[n++] = (struct hd_frame){.script = place.script, .at = place.line};
        }
        wait->self = f.local;
        object = awaited(&f);
    }
    hd_object_type(s, wait->self, wait->self_type);
    for (uint32_t i = 0; i < n / 2; i++) { /* the innermost first */
        struct hd_frame outer = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = outer;
    }
    return n;
}

/* In the body the stack has the method __aexit__; from 3.14 on the function and then the object. */
static uint64_t entered_at(const struct hd_scripts *s, const struct frame *f, uint32_t i) {
    if (hd_object_is(s, f->word[i], "method")) {
        return hd_cpython_word(s, f->word[i] + METHOD_SELF);
    }
    return i + 1 < f->words && hd_object_is(s, f->word[i], "function") ? f->word[i + 1] : 0;
}

uint32_t hd_task_entered(const struct hd_scripts *s, const struct hd_task *task, uint64_t *objects,
                         uint32_t max) {
    char type[HD_TASK_TYPE_BYTES];
    struct frame f;
    uint64_t at = task->coroutine;
    uint32_t n = 0;
    for (uint32_t i = 0; i < HD_TASK_FRAMES; i++) {
        at = unwrap(s, at, type);
        if (!has_frame(type) || !read_frame(s, at, &f)) {
            break;
        }
        for (uint32_t k = 0; k < f.words && n < max; k++) {
            objects[n] = entered_at(s, &f, k);
            n += objects[n] != 0;
        }
        at = awaited(&f);
    }
    return n;
}

/* ---- the loop's thread ---------------------------------------------------------------------- */

/* The first local of run_forever is the loop; asyncio.run's Runner has the loop as an attribute. */
static bool has_loop(struct hd_scripts *s, uint64_t frame, void *arg) {
    uint64_t loop = *(const uint64_t *)arg;
    uint64_t local = hd_cpython_word(s, frame + s->py.layout.objects.frame_locals) & ~TAG_BITS;
    return local == loop ||
           (hd_object_is(s, local, "Runner") && hd_object_attribute(s, local, "_loop") == loop);
}

bool hd_task_loop_runs(struct hd_scripts *s, int tid, uint64_t loop) {
    return s->py.eval != 0 && s->py.layout.objects.modules != 0 &&
           hd_cpython_visit_frames(s, tid, has_loop, &loop);
}
