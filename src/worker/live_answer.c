/* SPDX-License-Identifier: MIT
 *
 * Threads that are blocked are read in place. A watched one that computes has its newest sample, where its
 * turn is sampled. The set of threads is that of an open hang, too, which has newer ones from then on.
 * Worker.
 */
#include "worker/live_answer.h"

#include <string.h>

#include "publish/describe.h"
#include "record/uuid.h"
#include "report/live_text.h"
#include "worker/facts.h"
#include "worker/host.h"
#include "worker/other_threads.h"

struct out {
    char *buffer;
    size_t size, used; /* used: of the whole document, also of what did not fit */
};

static int put(void *ctx, const char *bytes, size_t n) {
    struct out *o = ctx;
    size_t room = o->used < o->size ? o->size - o->used : 0;
    if (room > 0) { /* without a buffer there is none */
        memcpy(o->buffer + o->used, bytes, n < room ? n : room);
    }
    o->used += n;
    return 0;
}

/* ---- threads that run ------------------------------------------------------------------------- */

static const struct hd_turn *sampled_turn(const struct hd_worker *k, hd_thread_id thread) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        const struct hd_turn *h = &k->turns.turn[i];
        if (h->used && h->samples.has_stack && hd_thread_id_equal(h->loop.thread, thread) &&
            h->samples.known_leaf != HD_TREE_NONE) {
            return h;
        }
    }
    return NULL;
}

static void take_sample(struct hd_worker *k, struct hd_thread_record *t, const struct hd_turn *h) {
    uint32_t callee = HD_TREE_NONE;
    t->first = k->others.frames_used;
    for (uint32_t at = h->samples.known_leaf;
         at != HD_TREE_NONE && k->others.frames_used < HD_THREAD_FRAMES_MAX;
         at = k->turns.pool.node[at].parent) {
        k->others.frames[k->others.frames_used++] = hd_tree_frame(&k->turns.pool, at, callee);
        callee = at;
    }
    t->count = (uint16_t)(k->others.frames_used - t->first);
    t->error = 0;
    t->way = h->samples.newest.way;
    t->stop = h->samples.newest.stop;
    t->cut = h->samples.newest.cut;
}

static void take_samples(struct hd_worker *k) {
    for (uint32_t i = 0; i < k->others.count; i++) {
        struct hd_thread_record *t = &k->others.thread[i];
        const struct hd_turn *h = t->count == 0 ? sampled_turn(k, t->thread) : NULL;
        if (h != NULL) {
            take_sample(k, t, h);
        }
    }
}

/* ---- the report ------------------------------------------------------------------------------- */

static void read_threads(struct hd_worker *k) {
    bool sole = !k->profile.on && hd_turns_is_empty(&k->turns); /* trees have indexes of these tables */
    if (!hd_modules_still_valid(&k->modules, !sole)) {
        hd_unwinder_flush(k->unwinder);
    }
    hd_scripts_begin(&k->scripts, sole);
    hd_host_read_process(k->probe.proc_fd, &k->process);
    hd_threads_capture(k, HD_THREAD_ID_NONE, HD_THREAD_ID_NONE);
    take_samples(k);
}

void hd_live_answer(struct hd_worker *k) {
    struct hd_live_request *q = &k->run->channel.live;
    if (!hd_live_request_take(q)) {
        return;
    }
    uint64_t began_ns = hd_os_now_ns(), began_wall_ns = hd_os_wall_ns();
    read_threads(k);
    struct hd_monitor_cost cost = {.samples = k->others.count};
    struct hd_report r;
    struct hd_facts facts;
    hd_facts_take(&k->others, &k->process, &facts);
    hd_describe_run(&k->publisher, HD_REPORT_LIVE, &r);
    hd_describe_threads(&facts, &r);
    hd_describe_process(&facts, &r);
    r.started_wall_ns = began_wall_ns;
    r.started_ns = began_ns;
    r.duration_ns = hd_os_now_ns() - began_ns;
    r.thread_count = (int)(k->others.count + k->others.left_out);
    r.monitor = &cost;
    hd_uuid_make(r.id, began_wall_ns);
    struct out out = {.buffer = q->buffer, .size = q->size > 0 ? q->size - 1 : 0};
    struct hd_sink sink = {.put = put, .ctx = &out};
    int rc = q->as_text ? hd_live_text_write(&r, sink) : hd_report_write(&r, k->publisher.scratch, sink);
    if (q->size > 0) {
        q->buffer[out.used < out.size ? out.used : out.size] = '\0';
    }
    hd_live_request_answer(q, rc != 0 ? rc : (long)out.used);
}
