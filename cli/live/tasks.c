/* SPDX-License-Identifier: MIT */
#include "cli/live/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "script/joins.h"
#include "script/tasks.h"

#define TASKS_MAX 1000u
#define ALL_MAX (1u << 16)        /* room to count them */
#define ENTERED_MAX 256u          /* objects of one task */
#define READ_NS (3 * HD_NS_PER_S) /* for all tasks: the process may be hostile */

struct seen {
    struct hd_task task;
    struct hd_task_wait wait;
    struct hd_frame frames[HD_TASK_FRAMES];
    uint32_t count;
    uint64_t awaiter;
    const struct seen *holder; /* of the lock that it waits for */
};

struct reading {
    const struct live_threads *t;
    struct seen *seen;
    size_t count, left_out;
    uint64_t until_ns;
};

/* ---- what a task waits for -------------------------------------------------------------------- */

static bool is_librarys(const char *file) {
    return strstr(file, "/asyncio/") != NULL || strstr(file, "/anyio/") != NULL ||
           strncmp(file, "asyncio/", strlen("asyncio/")) == 0;
}

/* The innermost function is a method of the object that the task waits for, such as Lock.acquire. */
static bool waits_for_self(const struct reading *r, const struct seen *e) {
    const struct hd_scripts *s = r->t->scripts;
    const char *dot = e->count > 0 ? strchr(hd_script_name(s, &e->frames[0]), '.') : NULL;
    return dot != NULL && is_librarys(hd_script_file(s, &e->frames[0])) && e->wait.self != e->task.loop &&
           e->wait.self_type[0] != '_' && e->wait.self_type[0] != '\0';
}

static const struct seen *find(const struct reading *r, uint64_t task) {
    for (size_t i = 0; task != 0 && i < r->count; i++) {
        if (r->seen[i].task.task == task) {
            return &r->seen[i];
        }
    }
    return NULL;
}

static bool waits_for_lock(const struct reading *r, const struct seen *e) {
    static const char *const locks[] = {"Lock", "Semaphore", "BoundedSemaphore", "Condition"};
    for (size_t k = 0; k < sizeof locks / sizeof locks[0]; k++) {
        if (strcmp(e->wait.self_type, locks[k]) == 0) {
            return e->task.state == HD_TASK_WAITS && waits_for_self(r, e);
        }
    }
    return false;
}

/* `holder` is in the body of `async with` of this object: the first such task has it. */
static void set_holder(struct reading *r, const struct seen *holder, uint64_t object) {
    if (waits_for_self(r, holder) && holder->wait.self == object) {
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        struct seen *e = &r->seen[i];
        if (e->wait.self == object && e->holder == NULL && waits_for_lock(r, e)) {
            e->holder = holder;
        }
    }
}

static void find_holders(struct reading *r) {
    uint64_t objects[ENTERED_MAX];
    bool any = false;
    for (size_t i = 0; i < r->count && !any; i++) {
        any = waits_for_lock(r, &r->seen[i]);
    }
    for (size_t i = 0; any && i < r->count && hd_os_now_ns() < r->until_ns; i++) {
        uint32_t n = hd_task_entered(r->t->scripts, &r->seen[i].task, objects, ENTERED_MAX);
        for (uint32_t k = 0; k < n; k++) {
            set_holder(r, &r->seen[i], objects[k]);
        }
    }
}

/* ---- the document ----------------------------------------------------------------------------- */

static void set_address(json_t *object, const char *name, uint64_t address) {
    char text[32];
    snprintf(text, sizeof text, "0x%lx", (unsigned long)address);
    json_object_set_new(object, name, json_string(text));
}

static void set_text(json_t *object, const char *name, const char *value) {
    if (value[0] != '\0') {
        json_object_set_new(object, name, json_string(value));
    }
}

static json_t *wait_of(const struct reading *r, const struct seen *e) {
    json_t *wait = json_object();
    const char *function = e->count > 0 ? hd_script_name(r->t->scripts, &e->frames[0]) : "";
    bool librarys = e->count > 0 && is_librarys(hd_script_file(r->t->scripts, &e->frames[0]));
    if (strstr(e->wait.type, "asyncio.Task") != NULL) {
        set_text(wait, "type", "Task");
        set_address(wait, "address", e->task.future);
    } else if (strcmp(e->wait.type, "_GatheringFuture") == 0) {
        set_text(wait, "type", "gather");
    } else if (waits_for_self(r, e)) {
        set_text(wait, "type", e->wait.self_type);
        set_address(wait, "address", e->wait.self);
    } else if (librarys) {
        set_text(wait, "type", function + strspn(function, "_"));
    } else {
        const char *dot = strrchr(e->wait.type, '.');
        set_text(wait, "type", dot != NULL ? dot + 1 : e->wait.type);
        set_address(wait, "address", e->task.future);
    }
    if (e->holder != NULL) {
        set_address(wait, "holder", e->holder->task.task);
    }
    return wait;
}

static json_t *frames_of(const struct reading *r, const struct seen *e) {
    json_t *frames = json_array();
    for (uint32_t i = 0; i < e->count; i++) {
        const struct hd_frame *f = &e->frames[i];
        json_t *frame = json_object();
        set_text(frame, "function", hd_script_name(r->t->scripts, f));
        set_text(frame, "file", hd_script_file(r->t->scripts, f));
        if (f->at != 0) {
            json_object_set_new(frame, "line", json_integer((json_int_t)f->at));
        }
        set_text(frame, "language", "python");
        json_array_append_new(frames, frame);
    }
    return frames;
}

static json_t *task_of(const struct reading *r, const struct seen *e) {
    static const char *const states[] = {
        [HD_TASK_NEW] = "new", [HD_TASK_WAITS] = "waits", [HD_TASK_RUNS] = "runs"};
    json_t *task = json_object();
    set_address(task, "id", e->task.task);
    set_text(task, "name", e->task.name);
    set_text(task, "state", states[e->task.state]);
    if (e->task.state == HD_TASK_WAITS) {
        json_object_set_new(task, "waits_for", wait_of(r, e));
    }
    if (find(r, e->awaiter) != NULL) {
        set_address(task, "awaited_by", e->awaiter);
    }
    json_object_set_new(task, "frames", frames_of(r, e));
    return task;
}

static json_t *loop_of(const struct reading *r, uint64_t loop) {
    json_t *out = json_object(), *tasks = json_array();
    const struct live_threads *t = r->t;
    for (size_t i = 0; i < t->count && hd_os_now_ns() < r->until_ns; i++) {
        int tid = hd_thread_id_tid(t->record[i].thread);
        if (hd_task_loop_runs(t->scripts, live_threads_own_number(t, tid), loop)) {
            json_object_set_new(out, "tid", json_integer(tid));
            break;
        }
    }
    for (size_t i = 0; i < r->count; i++) {
        if (r->seen[i].task.loop == loop) {
            json_array_append_new(tasks, task_of(r, &r->seen[i]));
        }
    }
    json_object_set_new(out, "tasks", tasks);
    return out;
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* A task's number, so that tasks are in the order in which they were made. */
static long number_of(const struct seen *e) {
    return strncmp(e->task.name, "Task-", 5) == 0 ? strtol(e->task.name + 5, NULL, 10) : 0;
}

static int compare(const void *a, const void *b) {
    long x = number_of(a), y = number_of(b);
    return x != y ? (x > y) - (x < y)
                  : strverscmp(((const struct seen *)a)->task.name, ((const struct seen *)b)->task.name);
}

static void read_all(struct reading *r) {
    struct hd_scripts *s = r->t->scripts;
    uint64_t *tasks = calloc(ALL_MAX, sizeof *tasks);
    uint32_t count = tasks != NULL ? hd_tasks_all(s, tasks, ALL_MAX) : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct seen *e = &r->seen[r->count];
        if (r->count == TASKS_MAX || hd_os_now_ns() > r->until_ns) {
            r->left_out++;
            continue;
        }
        if (find(r, tasks[i]) != NULL || !hd_task_read(s, tasks[i], &e->task)) {
            continue;
        }
        e->count = hd_task_frames(s, &e->task, e->frames, HD_TASK_FRAMES, &e->wait);
        e->awaiter = hd_task_awaiter(s, tasks[i]);
        r->count++;
    }
    free(tasks);
    qsort(r->seen, r->count, sizeof *r->seen, compare);
    find_holders(r);
}

void tasks_name_threads(json_t *report, const struct live_threads *t) {
    json_t *threads = json_object_get(report, "threads"), *thread;
    char name[HD_TASK_NAME_BYTES];
    uint32_t at = 0;
    int tid;
    size_t i;
    const char *first = json_string_value(json_object_get(json_array_get(threads, 0), "name"));
    while (first != NULL && hd_scripts_next_thread(t->scripts, &at, &tid, name, sizeof name)) {
        int number = live_threads_called(t, tid);
        json_array_foreach(threads, i, thread) {
            const char *old = json_string_value(json_object_get(thread, "name"));
            if (i > 0 && number != 0 && json_integer_value(json_object_get(thread, "tid")) == number &&
                old != NULL && strcmp(old, first) == 0) {
                json_object_set_new(thread, "name", json_string(name));
            }
        }
    }
}

void tasks_add(json_t *report, const struct live_threads *t) {
    struct reading r = {
        .t = t, .seen = calloc(TASKS_MAX + 1, sizeof *r.seen), .until_ns = hd_os_now_ns() + READ_NS};
    json_t *loops = json_array();
    if (r.seen == NULL) {
        json_decref(loops);
        return;
    }
    read_all(&r);
    for (size_t i = 0; i < r.count; i++) {
        size_t first = 0;
        while (r.seen[first].task.loop != r.seen[i].task.loop) {
            first++;
        }
        if (first == i) {
            json_array_append_new(loops, loop_of(&r, r.seen[i].task.loop));
        }
    }
    if (json_array_size(loops) != 0) {
        json_object_set(report, "event_loops", loops);
    }
    if (r.left_out != 0) {
        json_object_set_new(report, "tasks_left_out", json_integer((json_int_t)r.left_out));
    }
    json_decref(loops);
    free(r.seen);
}
