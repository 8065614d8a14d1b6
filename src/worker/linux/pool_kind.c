/* SPDX-License-Identifier: MIT
 *
 * Recognises threads of known pools by the functions on their stacks.
 *
 * libuv and GLib do not export the
 * function that takes work, but an exported one lies next to it. On the worker thread.
 */
#include "worker/pool_kind.h"

#include <string.h>

#include "capture/capture.h"

/* The function that takes work starts at most this far from the exported one of the same source file. */
#define FILE_BYTES 8192
#define ANYIO_THREADS 40 /* AnyIO's default limit */

static const char names[HD_POOL_KINDS][20] = {"", "", "libuv", "ThreadPoolExecutor", "AnyIO", "GLib"};

const char *hd_pool_kind_name(uint8_t kind) {
    return names[kind];
}

uint32_t hd_pool_kind_capture(struct hd_worker *worker, hd_thread_id thread, struct hd_capture *c,
                              struct hd_walk *walk) {
    struct hd_target target = {0};
    uint32_t count = 0;
    if (hd_target_open(&target, thread) == 0 && hd_capture_frozen(&target, worker->threads.stack, c) == 0) {
        c->stack = worker->threads.stack;
        count = hd_stacks_read(&worker->stacks, thread, c, walk);
    }
    hd_target_close(&target);
    return count;
}

/* ---- libraries of C --------------------------------------------------------------------------- */

/* The stack, and the frame of the thread's first function that is not libc's. */
struct native {
    struct hd_modules *modules;
    const struct hd_frame *frames;
    uint32_t count, first;
    int module; /* of frames[first] */
};

static int module_at(const struct native *n, uint32_t i) {
    const struct hd_frame *f = &n->frames[i];
    return f->script == 0 ? hd_modules_at(n->modules, hd_frame_lookup_pc(f)) : -1;
}

static bool is_libc(const struct native *n, int module) {
    const char *path = module >= 0 ? hd_module_path(n->modules, (uint32_t)module) : "";
    const char *name = path;
    for (const char *at = path; *at != '\0'; at++) {
        name = *at == '/' ? at + 1 : name;
    }
    return strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
           strncmp(name, "libpthread", 10) == 0 || strncmp(name, "ld-musl", 7) == 0;
}

static bool find_first(struct native *n) {
    for (uint32_t i = n->count; i > 1; i--) {
        int module = module_at(n, i - 1);
        if (module >= 0 && !is_libc(n, module)) {
            n->first = i - 1;
            n->module = module;
            return true;
        }
    }
    return false;
}

/* True: frame `i` is a function of the file that exports `symbol`. */
static bool is_next_to(const struct native *n, uint32_t i, const char *symbol) {
    uint64_t at = hd_module_symbol(n->modules, (uint32_t)n->module, symbol), start = n->frames[i].start;
    return at != 0 && start != 0 && start - at + FILE_BYTES <= 2 * FILE_BYTES;
}

/* libuv's `worker` waits in uv_cond_wait or libc; any other callee is work. */
static void read_libuv(const struct native *n, struct hd_pool_stack *out) {
    const struct hd_frame *inner = &n->frames[n->first - 1];
    uint64_t wait = hd_module_symbol(n->modules, (uint32_t)n->module, "uv_cond_wait");
    out->kind = HD_POOL_LIBUV;
    out->key = n->frames[n->first].start;
    out->idle = (wait != 0 && inner->start == wait) || is_libc(n, module_at(n, n->first - 1));
}

/* The head of GLib's GRealThreadPool, since 2.32, and where GAsyncQueue has its length. */
struct glib_pool {
    uint64_t function, user_data;
    uint32_t exclusive, pad;
    uint64_t queue, cond[2];
    int32_t most, threads;
};
#define GLIB_QUEUE_LENGTH 40

static bool is_glib_pool(const struct native *n, uint64_t address, uint64_t function,
                         struct glib_pool *pool) {
    return address % 8 == 0 && address > FILE_BYTES &&
           hd_memory_read(&n->modules->memory, address, pool, sizeof *pool) && pool->function == function &&
           pool->exclusive <= 1 && pool->threads > 0;
}

/* Finds the struct of the pool, whose function the thread runs, among the words of the stack. */
static void find_glib_pool(const struct native *n, const struct hd_capture *c, uint32_t work,
                           struct hd_pool_stack *out) {
    struct glib_pool pool;
    uint64_t word, function = n->frames[work].start;
    for (uint32_t at = 0; function != 0 && at + 8 <= c->stack_bytes; at += 8) {
        memcpy(&word, c->stack + at, sizeof word);
        if (is_glib_pool(n, word, function, &pool)) {
            uint32_t length = 0;
            bool read =
                hd_memory_read(&n->modules->memory, pool.queue + GLIB_QUEUE_LENGTH, &length, sizeof length);
            out->key = word;
            out->most = pool.most > 0 ? (uint32_t)pool.most : 0;
            out->queued = read && length <= INT32_MAX ? (int32_t)length : -1;
            return;
        }
    }
}

/* Outermost are g_thread_proxy and g_thread_pool_thread_proxy. A callee of GLib's is its wait for work. */
static void read_glib(const struct native *n, const struct hd_capture *c, struct hd_pool_stack *out) {
    uint32_t work = n->first - 2;
    out->kind = HD_POOL_GLIB;
    out->idle = module_at(n, work) == n->module;
    if (!out->idle) {
        find_glib_pool(n, c, work, out);
    }
}

/* ---- Python ----------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* CPython 3.11 and later have qualified names: WorkerThread.run. */
static bool is_script(const struct hd_scripts *s, const struct hd_frame *f, const char *name,
                      const char *file) {
    return f->script != 0 && ends_with(hd_script_name(s, f), name) && ends_with(hd_script_file(s, f), file);
}

static void read_python(struct hd_worker *worker, hd_thread_id thread, uint32_t count,
                        struct hd_pool_stack *out) {
    struct hd_scripts *s = &worker->stacks.scripts;
    const struct hd_frame *frames = worker->stacks.frames, *inner = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_frame *f = &frames[i];
        if (is_script(s, f, "_worker", "concurrent/futures/thread.py")) {
            out->kind = HD_POOL_PYTHON;
            out->idle = inner == NULL;
            out->queued = hd_scripts_queued(s, hd_thread_id_tid(thread), "_worker", &out->key);
            return;
        }
        if (is_script(s, f, "run", "anyio/_backends/_asyncio.py")) {
            out->kind = HD_POOL_ANYIO;
            out->idle = inner != NULL && is_script(s, inner, "get", "/queue.py");
            out->most = ANYIO_THREADS;
            return;
        }
        inner = f->script != 0 ? f : inner;
    }
}

/* ---- any -------------------------------------------------------------------------------------- */

void hd_pool_kind_read(struct hd_worker *worker, hd_thread_id thread, const struct hd_capture *c,
                       const struct hd_walk *walk, uint32_t count, struct hd_pool_stack *out) {
    struct native n = {.modules = &worker->stacks.modules, .frames = worker->stacks.frames, .count = count};
    *out = (struct hd_pool_stack){.queued = -1, .whole = walk->stop == HD_STOP_ROOT};
    read_python(worker, thread, count, out);
    if (out->kind != HD_POOL_NONE || !out->whole || !find_first(&n)) {
        return;
    }
    if (is_next_to(&n, n.first, "uv_queue_work")) {
        read_libuv(&n, out);
    } else if (n.first >= 2 && module_at(&n, n.first - 1) == n.module &&
               is_next_to(&n, n.first - 1, "g_thread_pool_push")) {
        read_glib(&n, c, out);
    }
}

bool hd_pool_kind_may_be_idle(struct hd_worker *worker, hd_thread_id thread, const struct hd_capture *c,
                              uint32_t count) {
    struct hd_probe probe;
    hd_probe_read(&worker->probe, thread, c, worker->stacks.frames, count, hd_os_now_ns(), &probe);
    const struct hd_lock_seen *lock = hd_evidence_lock(&probe);
    return lock->kind == HD_LOCK_CONDITION || lock->kind == HD_LOCK_SEMAPHORE ||
           (lock->kind == HD_LOCK_UNKNOWN && !lock->ownable && !lock->gil &&
            hd_thread_id_is_none(lock->joined));
}
