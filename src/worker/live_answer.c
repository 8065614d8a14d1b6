/* SPDX-License-Identifier: MIT
 *
 * The worker can read the stack of a blocked thread in place, but not that of a running thread. If the
 * monitor samples the turn of a running thread, the live report shows the newest stack of that turn instead.
 * The worker has memory for one capture of all threads, so this capture overwrites that of an open hang. The
 * next report of that hang then shows the threads that were captured here, unless the worker captures them
 * again. On the worker thread.
 */
#include "worker/live_answer.h"

#include <string.h>

#include "publish/describe.h"
#include "record/uuid.h"
#include "report/live_text.h"
#include "worker/facts.h"

struct out {
    char *buffer;
    /* used: size of the document so far, including the part that `buffer` had no space for */
    size_t size, used;
};

static int put(void *ctx, const char *bytes, size_t n) {
    struct out *o = ctx;
    size_t room = o->used < o->size ? o->size - o->used : 0;
    /* if the buffer is full, only counts the bytes, because a caller may pass no buffer to learn the size */
    if (room > 0) {
        memcpy(o->buffer + o->used, bytes, n < room ? n : room);
    }
    o->used += n;
    return 0;
}

/* ---- running threads -------------------------------------------------------------------------- */

static const struct hd_turn *sampled_turn(const struct hd_turns *turns, hd_thread_id thread) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        const struct hd_turn *turn = &turns->turn[i];
        if (turn->used && turn->samples.has_stack && hd_thread_id_equal(turn->loop.thread, thread) &&
            turn->samples.known_leaf != HD_TREE_NONE) {
            return turn;
        }
    }
    return NULL;
}

static void take_sample(struct hd_threads *threads, struct hd_thread_record *t, const struct hd_turn *turn) {
    const struct hd_tree_pool *pool = turn->samples.tree.pool;
    uint32_t callee = HD_TREE_NONE;
    t->first = threads->frames_used;
    for (uint32_t at = turn->samples.known_leaf;
         at != HD_TREE_NONE && threads->frames_used < HD_THREAD_FRAMES_MAX; at = pool->node[at].parent) {
        threads->frames[threads->frames_used++] = hd_tree_frame(pool, at, callee);
        callee = at;
    }
    t->count = (uint16_t)(threads->frames_used - t->first);
    t->error = 0;
    t->way = turn->samples.newest.way;
    t->stop = turn->samples.newest.stop;
    t->cut = turn->samples.newest.cut;
}

static void take_samples(struct hd_threads *threads, const struct hd_turns *turns) {
    for (uint32_t i = 0; i < threads->count; i++) {
        struct hd_thread_record *t = &threads->thread[i];
        const struct hd_turn *turn = t->count == 0 ? sampled_turn(turns, t->thread) : NULL;
        if (turn != NULL) {
            take_sample(threads, t, turn);
        }
    }
}

/* ---- the report ------------------------------------------------------------------------------- */

static void read_threads(struct hd_worker *worker) {
    bool no_tree = hd_worker_has_no_tree(worker);
    hd_stacks_check_modules(&worker->stacks, !no_tree);
    hd_scripts_begin(&worker->stacks.scripts, no_tree);
    hd_host_read_process(worker->probe.proc_fd, &worker->process);
    hd_threads_capture(&worker->threads, HD_THREAD_ID_NONE, HD_THREAD_ID_NONE);
    take_samples(&worker->threads, &worker->turns);
}

/* Writes the report as text or JSON into the request's buffer. Returns the size of the whole report, or a
 * negative errno value. */
static long write_answer(const struct hd_live_request *q, const struct hd_report *r,
                         struct hd_report_scratch *scratch) {
    struct out out = {.buffer = q->buffer, .size = q->size > 0 ? q->size - 1 : 0};
    struct hd_sink sink = {.put = put, .ctx = &out};
    int rc = q->as_text ? hd_live_text_write(r, sink) : hd_report_write(r, scratch, sink);
    if (q->size > 0) {
        q->buffer[out.used < out.size ? out.used : out.size] = '\0';
    }
    return rc != 0 ? rc : (long)out.used;
}

void hd_live_answer(struct hd_worker *worker) {
    struct hd_live_request *q = &worker->run->channel.live;
    if (!hd_live_request_take(q)) {
        return;
    }
    const struct hd_threads *threads = &worker->threads;
    struct hd_report r;
    struct hd_facts facts;
    uint64_t start_ns = hd_os_now_ns(), start_wall_ns = hd_os_wall_ns();
    read_threads(worker);
    struct hd_monitor_cost cost = {.samples = threads->count};
    hd_facts_take(threads, &worker->process, &facts);
    hd_describe_run(&worker->publisher, HD_REPORT_LIVE, &r);
    hd_describe_threads(&facts, &r);
    hd_describe_process(&facts, &r);
    r.started_wall_ns = start_wall_ns;
    r.started_ns = start_ns;
    r.duration_ns = hd_os_now_ns() - start_ns;
    r.thread_count = (int)(threads->count + threads->left_out);
    r.monitor = &cost;
    hd_uuid_make(r.id, start_wall_ns);
    hd_live_request_answer(q, write_answer(q, &r, worker->publisher.scratch));
}
