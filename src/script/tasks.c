/* SPDX-License-Identifier: MIT
 *
 * One task, and who awaits it: asyncio itself knows that by the callbacks of the task's future. Worker: may
 * run while a hang is on; no allocation.
 */
#include <string.h>

#include "base/text.h"
#include "script/cpython_object.h"
#include "script/tasks.h"

#define TASK_TYPE "_asyncio.Task"
#define CALLBACKS_MAX 8u
#define ITEMS_MAX 16u
#define DEPTH_MAX 8u
#define STEPS_MAX 64u /* objects of one search */
#define LOOPS_MAX 64u

enum {
    FUTURE_LOOP = 16,
    FUTURE_CALLBACK = 24, /* then their list */
    FUTURE_CALLBACKS = 40,
    BOUND_OBJECT = 24, /* of a method of Python or C; of a partial: its arguments */
    FUNCTION_CLOSURE = 72,
    CELL_VALUE = 16,
    TUPLE_ITEMS = 24, /* from 3.14 on a hash is before them */
    LIST_ITEMS = 24,
    TASK_BYTES = 160
};

/* ---- one task ------------------------------------------------------------------------------- */

static void read_name(const struct hd_scripts *s, uint64_t object, char out[HD_TASK_NAME_BYTES]) {
    uint64_t number;
    out[0] = '\0';
    if (!hd_object_text(s, object, out, HD_TASK_NAME_BYTES) && hd_object_int(s, object, &number)) {
        struct hd_text t; /* 3.12 on: not formatted before it is needed */
        hd_text_init(&t, out, HD_TASK_NAME_BYTES);
        hd_text_str(&t, "Task-");
        hd_text_u64(&t, number);
    }
}

bool hd_task_read(const struct hd_scripts *s, uint64_t task, struct hd_task *out) {
    const struct hd_cpython_objects *o = &s->py.layout.objects;
    uint8_t bytes[TASK_BYTES];
    int8_t state;
    if (s->py.eval == 0 || o->modules == 0 || task == 0 || !hd_object_is(s, task, TASK_TYPE) ||
        !hd_script_read(s, task, bytes, o->task_coroutine + 16u)) {
        return false;
    }
    *out = (struct hd_task){.task = task,
                            .loop = hd_script_u64(bytes + FUTURE_LOOP),
                            .future = hd_script_u64(bytes + o->task_coroutine - 8),
                            .coroutine = hd_script_u64(bytes + o->task_coroutine)};
    read_name(s, hd_script_u64(bytes + o->task_coroutine + 8), out->name);
    if (!hd_script_read(s, out->coroutine + o->coroutine_frame - HD_COROUTINE_STATE, &state, sizeof state) ||
        state > 0) {
        return false;
    }
    out->state = state == 0 ? HD_TASK_RUNS : out->future == 0 ? HD_TASK_NEW : HD_TASK_WAITS;
    return true;
}

/* ---- the running one ------------------------------------------------------------------------ */

static bool is_at(struct hd_scripts *s, uint64_t frame, void *arg) {
    (void)s;
    return frame == *(const uint64_t *)arg;
}

static bool is_of_thread(struct hd_scripts *s, int tid, uint64_t task) {
    struct hd_task t;
    if (!hd_task_read(s, task, &t) || t.state != HD_TASK_RUNS) {
        return false;
    }
    uint64_t frame = t.coroutine + s->py.layout.objects.coroutine_frame;
    return hd_cpython_visit_frames(s, tid, is_at, &frame);
}

/* asyncio's dict of running tasks has one of each loop. */
uint64_t hd_task_running(struct hd_scripts *s, int tid) {
    const struct hd_cpython_objects *o = &s->py.layout.objects;
    uint8_t bytes[PY_THREAD_BYTES];
    uint64_t dict, task = 0;
    uint32_t at = 0;
    if (s->py.eval == 0 || o->modules == 0 || !hd_cpython_thread(s, tid, bytes)) {
        return 0;
    }
    if (o->thread_task != 0) {
        task = hd_cpython_word(s, s->py.thread + o->thread_task);
        return is_of_thread(s, tid, task) ? task : 0;
    }
    dict = hd_object_global(s, "_asyncio", "_current_tasks");
    for (unsigned i = 0; i < LOOPS_MAX && (task = hd_object_next_value(s, dict, &at)) != 0; i++) {
        if (is_of_thread(s, tid, task)) {
            return task;
        }
    }
    return 0;
}

/* ---- who awaits it -------------------------------------------------------------------------- */

struct search {
    const struct hd_scripts *s;
    uint64_t from;
    unsigned steps;
};

static uint64_t task_of(struct search *q, uint64_t object, unsigned depth);

/* The first items of a tuple, or of a list's array. */
static uint64_t task_of_items(struct search *q, uint64_t items, uint64_t count, unsigned max,
                              unsigned depth) {
    uint64_t task = 0;
    for (uint64_t i = 0; task == 0 && i < count && i < max; i++) {
        task = task_of(q, hd_cpython_word(q->s, items + 8 * i), depth);
    }
    return task;
}

static uint64_t task_of_tuple(struct search *q, uint64_t tuple, unsigned max, unsigned depth) {
    uint64_t items = tuple + TUPLE_ITEMS + (q->s->py.layout.objects.minor < 14 ? 0 : 8);
    return hd_object_is(q->s, tuple, "tuple")
               ? task_of_items(q, items, hd_cpython_word(q->s, tuple + PY_VAR_SIZE), max, depth)
               : 0;
}

/* The callbacks of a future: the first, and a list of pairs of callback and context. */
static uint64_t task_of_future(struct search *q, uint64_t future, unsigned depth) {
    uint64_t task = task_of(q, hd_cpython_word(q->s, future + FUTURE_CALLBACK), depth);
    uint64_t list = hd_cpython_word(q->s, future + FUTURE_CALLBACKS);
    if (task != 0 || !hd_object_is(q->s, list, "list")) {
        return task;
    }
    uint64_t items = hd_cpython_word(q->s, list + LIST_ITEMS),
             count = hd_cpython_word(q->s, list + PY_VAR_SIZE);
    for (uint64_t i = 0; task == 0 && i < count && i < CALLBACKS_MAX; i++) {
        task = task_of_tuple(q, hd_cpython_word(q->s, items + 8 * i), 1, depth);
    }
    return task;
}

/* asyncio's TaskGroup, or anyio's. */
static uint64_t task_of_group(struct search *q, uint64_t group) {
    struct hd_task t;
    uint64_t task = hd_object_attribute(q->s, group, "_parent_task");
    if (task == 0) {
        task = hd_object_attribute(q->s, hd_object_attribute(q->s, group, "cancel_scope"), "_host_task");
    }
    return task != q->from && hd_task_read(q->s, task, &t) ? task : 0;
}

/* The task behind a callback. A task among the values of a closure is only one of those that it serves. */
static uint64_t task_of(struct search *q, uint64_t object, unsigned depth) {
    char type[PY_TYPE_NAME_BYTES];
    struct hd_task t;
    if (depth == 0 || q->steps == 0 || object == 0) {
        return 0;
    }
    q->steps--;
    hd_object_type(q->s, object, type);
    uint64_t bound = hd_cpython_word(q->s, object + BOUND_OBJECT);
    if (strcmp(type, "builtin_function_or_method") == 0) {
        return bound != q->from && hd_task_read(q->s, bound, &t) ? bound : 0;
    }
    if (strcmp(type, "method") == 0) {
        return task_of(q, bound, depth - 1);
    }
    if (strcmp(type, "functools.partial") == 0) {
        return task_of_tuple(q, bound, ITEMS_MAX, depth - 1);
    }
    if (strcmp(type, "function") == 0) {
        return task_of_tuple(q, hd_cpython_word(q->s, object + FUNCTION_CLOSURE), ITEMS_MAX, depth - 1);
    }
    if (strcmp(type, "cell") == 0) {
        return task_of(q, hd_cpython_word(q->s, object + CELL_VALUE), depth - 1);
    }
    if (strcmp(type, "TaskGroup") == 0) {
        return task_of_group(q, object);
    }
    bool future = hd_object_is(q->s, object, "_asyncio.Future") && !hd_object_is(q->s, object, TASK_TYPE);
    return future ? task_of_future(q, object, depth - 1) : 0;
}

uint64_t hd_task_awaiter(const struct hd_scripts *s, uint64_t task) {
    struct search q = {.s = s, .from = task, .steps = STEPS_MAX};
    struct hd_task t;
    return hd_task_read(s, task, &t) ? task_of_future(&q, task, DEPTH_MAX) : 0;
}

void hd_task_chain(struct hd_scripts *s, int tid, struct hd_task_chain *out) {
    struct hd_task t;
    out->name[0] = '\0';
    out->awaiters = 0;
    uint64_t task = hd_task_running(s, tid);
    if (task == 0 || !hd_task_read(s, task, &t)) {
        return;
    }
    memcpy(out->name, t.name, sizeof out->name);
    while (out->awaiters < HD_TASK_AWAITERS && (task = hd_task_awaiter(s, task)) != 0 &&
           hd_task_read(s, task, &t)) {
        memcpy(out->awaiter[out->awaiters++], t.name, sizeof t.name);
    }
}
