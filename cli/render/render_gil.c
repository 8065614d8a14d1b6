/* SPDX-License-Identifier: MIT
 * Recognises a wait for the lock of Python's interpreter (GIL) by the names of functions: the report has it
 * as a wait for a futex. Reports are hostile input: a member that is missing or of another type reads as
 * NULL, 0 or empty.
 */
#include "cli/base/path.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"

#include <string.h>

/* CALLERS_MAX: scripts' functions stand between, too */
enum {
    CALLERS_MAX = 64,
    UNNAMED_MAX = 4,
    THREADS_SHOWN = 3
};
/* Callers that all nodes may have: a hostile tree has as many as it may for each. The library's has 1,792
 * nodes, and few of them wait for a condition. */
enum {
    CALLERS_OF_ALL_MAX = 16384
};
#define MOST 0.9 /* of the time in locks: then no other lock is what was waited for */
#define RAN_PERCENT 10.0

static const char *name_of(const json_t *frame) {
    const char *name = value_text(frame, "function");
    return name != NULL && name[0] != 0 ? name : NULL;
}

/* Without what the compiler adds to one that it has cloned or split: "take_gil.isra.0". */
static bool is_one_of(const char *name, const char *const *names) {
    size_t n = strcspn(name, ".");
    while (*names != NULL && (strlen(*names) != n || strncmp(*names, name, n) != 0)) {
        names++;
    }
    return *names != NULL;
}

/* Also by glibc's inner names of it: ___pthread_cond_timedwait64. */
static bool is_timed_condition(const json_t *frame) {
    static const char *const names[] = {"pthread_cond_timedwait", "pthread_cond_clockwait",
                                        "pthread_cond_timedwait64", "pthread_cond_clockwait64", NULL};
    const char *name = name_of(frame);
    return name != NULL && is_one_of(name + strspn(name, "_"), names);
}

/* The interpreter itself, and no program that has it linked in among functions of its own. */
static bool is_python(const json_t *report, const json_t *module) {
    const json_t *modules = json_object_get(report, "modules");
    const char *name =
        base_name(value_text(json_array_get(modules, (size_t)json_integer_value(module)), "path"));
    return name != NULL && (strncmp(name, "python", 6) == 0 || strncmp(name, "libpython", 9) == 0);
}

/* Whether who called the wait for a condition, innermost first, are the functions of CPython's
 * Python/ceval_gil.c. In most builds take_gil has no name: then by those around it that are exported. In the
 * first ones of these nothing else is waited for with a limit. A function that the bytecode called may be
 * without a name, too, but what waits in an interpreter's own ones is called PyThread_acquire_lock_timed. */
static bool take_the_gil(const json_t *report, const json_t *const *callers, size_t count) {
    static const char *const lock[] = {"take_gil", NULL};
    static const char *const between[] = {
        "PyCOND_TIMEDWAIT",  "COND_TIMED_WAIT",     "_PyEval_AcquireLock",       "_PyThreadState_Attach",
        "_Py_HandlePending", "handle_eval_breaker", "eval_frame_handle_pending", NULL};
    static const char *const only[] = {"PyEval_RestoreThread", "PyEval_AcquireThread", "PyEval_AcquireLock",
                                       "PyGILState_Ensure", NULL};
    static const char *const bytecode[] = {"_PyEval_EvalFrameDefault", NULL};
    const json_t *module = count > 0 ? json_object_get(callers[0], "module") : NULL;
    size_t unnamed = 0;
    for (size_t i = 0; i < count && module != NULL && unnamed <= UNNAMED_MAX; i++) {
        const char *name = name_of(callers[i]);
        if (script_frame_language(callers[i]) != NULL) {
            continue; /* a script's frame is next to the interpreter's frame */
        }
        if (!json_equal(json_object_get(callers[i], "module"), module)) {
            return false;
        }
        if (name == NULL) {
            unnamed++;
        } else if (is_one_of(name, lock) || is_one_of(name, only)) {
            return true;
        } else if (is_one_of(name, bytecode)) {
            return is_python(report, module);
        } else if (!is_one_of(name, between)) {
            return false;
        }
    }
    return false;
}

/* ---- how much of the hang ------------------------------------------------------------------- */

static double share_in_tree(const json_t *report, const json_t *nodes, const json_t *frames) {
    const json_t *hot = json_object_get(report, "hot_stack"), *callers[CALLERS_MAX];
    double ns = 0,
           all_ns = (double)value_int(hot, "duration_ns") / json_number_value(json_object_get(hot, "share"));
    size_t all = 0;
    for (size_t i = 0; i < json_array_size(nodes) && all < CALLERS_OF_ALL_MAX; i++) {
        const json_t *node = json_array_get(nodes, i);
        size_t count = 0;
        if (!is_timed_condition(json_array_get(frames, (size_t)value_int(node, "frame")))) {
            continue;
        }
        json_int_t below = (json_int_t)i, at = value_signed(node, "parent");
        for (; at >= 0 && at < below && count < CALLERS_MAX; below = at, at = value_signed(node, "parent")) {
            node = json_array_get(nodes, (size_t)at); /* a caller comes before what it calls */
            callers[count++] = json_array_get(frames, (size_t)value_int(node, "frame"));
        }
        all += count;
        if (take_the_gil(report, callers, count)) {
            ns += (double)value_int(json_array_get(nodes, i), "time_ns");
        }
    }
    return all_ns > 0 ? ns / all_ns : 0;
}

static double share_in_stack(const json_t *report, const json_t *frames) {
    const json_t *callers[CALLERS_MAX];
    size_t at = 0, count = 0;
    while (at < json_array_size(frames) && !is_timed_condition(json_array_get(frames, at))) {
        at++;
    }
    for (size_t i = at + 1; i < json_array_size(frames) && count < CALLERS_MAX; i++) {
        callers[count++] = json_array_get(frames, i);
    }
    return take_the_gil(report, callers, count)
               ? json_number_value(json_object_get(json_array_get(frames, at), "share"))
               : 0;
}

/* No lock of Python's has an owner. */
bool render_is_gil(const json_t *report) {
    const json_t *cause = json_object_get(report, "cause"),
                 *tree = json_object_get(json_object_get(report, "samples"), "tree"),
                 *nodes = json_object_get(tree, "nodes");
    const char *kind = value_text(cause, "kind");
    if (kind == NULL || strcmp(kind, "lock") != 0 || value_int(cause, "lock_owner_tid") != 0 ||
        json_object_get(cause, "deadlock") != NULL || value_text(cause, "syscall") == NULL ||
        strcmp(value_text(cause, "syscall"), "futex") != 0) {
        return false;
    }
    double share =
        json_array_size(nodes) > 0
            ? share_in_tree(report, nodes, json_object_get(tree, "frames"))
            : share_in_stack(report, json_object_get(json_object_get(report, "hot_stack"), "frames"));
    return share > 0 && share >= MOST * json_number_value(json_object_get(cause, "share"));
}

/* ---- which threads ran meanwhile ------------------------------------------------------------ */

/* Which of them had the lock is not known: a thread that runs may have released it. */
void render_who_ran(FILE *out, const json_t *report) {
    const json_t *threads = json_object_get(report, "threads");
    size_t shown = 0;
    for (size_t i = 0; i < json_array_size(threads) && shown < THREADS_SHOWN; i++) {
        const json_t *thread = json_array_get(threads, i);
        double percent = json_number_value(json_object_get(thread, "cpu_percent"));
        if (percent < RAN_PERCENT || json_is_true(json_object_get(thread, "watched"))) {
            continue;
        }
        fputs(shown == 0 ? "; " : ", ", out);
        render_put_thread(out, value_int(thread, "tid"), thread);
        fprintf(out, " used %.0f%% of a CPU", percent < 100 ? percent : 100);
        shown++;
    }
}
