/* SPDX-License-Identifier: MIT
 *
 * Writes frames, the hot stack, the timeline with its distinct stacks, and the call tree. Worker code: may
 * run while a hang lasts; no allocation.
 */
#include "os/syscall_table.h"
#include "report/writer.h"

#include <errno.h>
#include <string.h>

/* ---- frames ------------------------------------------------------------------------------- */

/* The index of the frame's module in the document; adds a new module. The program may have unloaded the
 * module since the sample. A frame without a known start was in no module: an unloaded one may have had its
 * address before, so only loaded modules count. */
static uint16_t place_of_module(const struct hd_report *r, struct hd_report_scratch *w,
                                const struct hd_frame *f, int *index) {
    uint64_t pc = hd_frame_lookup_pc(f);
    *index = r->modules == NULL ? -1
             : f->start != 0    ? hd_modules_at_or_gone(r->modules, pc)
                                : hd_modules_at(r->modules, pc);
    if (*index < 0 || *index >= (int)HD_MODULES_MAX) {
        return HD_WRITER_NONE;
    }
    if (w->module_place[*index] == HD_WRITER_NONE) {
        w->module_order[w->modules_used] = (uint16_t)*index;
        w->module_place[*index] = (uint16_t)w->modules_used++;
    }
    return w->module_place[*index];
}

/* A system folder does not identify the user, and the full path is needed to find the module's names. */
static bool is_of_system(const char *path) {
    static const char folders[][8] = {"/usr/", "/lib/", "/lib64/", "/lib32/", "/opt/", "["};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

const char *hd_writer_path(const struct hd_report *r, const char *path) {
    if (path == NULL || !r->without_paths || is_of_system(path)) {
        return path;
    }
    for (const char *at = path; *at != '\0'; at++) {
        path = *at == '/' ? at + 1 : path;
    }
    return path;
}

void hd_writer_frame(const struct hd_report *r, struct hd_report_scratch *w, const struct hd_frame *f,
                     double share) {
    struct hd_json *j = &w->json;
    int index;
    uint16_t place = place_of_module(r, w, f, &index);
    hd_json_object(j, NULL);
    hd_json_hex(j, "pc", f->pc);
    if (place != HD_WRITER_NONE) {
        const struct hd_module *m = &r->modules->module[index];
        hd_json_u64(j, "module", place);
        hd_json_hex(j, "offset", f->pc - m->bias);
        if (f->script == 0 && f->start >= m->lo && f->start < m->hi) {
            hd_json_hex(j, "start", f->start - m->bias);
        }
    }
    if (f->script != 0 &&
        r->scripts != NULL) { /* for readers that look at modules, it is a part of the interpreter */
        hd_json_str(j, "function", hd_script_name(r->scripts, f));
        if (hd_script_file(r->scripts, f)[0] != '\0') {
            hd_json_str(j, "file", hd_writer_path(r, hd_script_file(r->scripts, f)));
        }
        if (f->at != 0) {
            hd_json_u64(j, "line", f->at);
        }
        hd_json_bool(j, "inlined", true);
        hd_json_str(j, "language", hd_script_language_name(r->scripts, f));
    }
    if (share >= 0) {
        hd_json_fixed(j, "share", share, 4);
    }
    hd_json_str(j, "trust", hd_words_trust(f->trust));
    hd_json_end_object(j);
}

void hd_writer_walk(struct hd_json *j, uint8_t stop, uint32_t cut, uint8_t way) {
    hd_json_str(j, "stop", hd_words_stop(stop));
    if (cut != 0) {
        hd_json_u64(j, "cut", cut);
    }
    hd_json_str(j, "capture", hd_words_way(way));
}

void hd_writer_task(struct hd_json *j, const struct hd_task_chain *task) {
    hd_json_object(j, "task");
    hd_json_str(j, "name", task->name);
    hd_json_array(j, "awaiters");
    for (unsigned i = 0; i < task->awaiters; i++) {
        hd_json_str(j, NULL, task->awaiter[i]);
    }
    hd_json_end_array(j);
    hd_json_end_object(j);
}

void hd_writer_syscall(struct hd_json *j, int32_t nr) {
    const char *name = hd_syscall_name(nr);
    char text[16];
    struct hd_text t;
    if (nr == HD_SYSCALL_NONE) {
        return;
    }
    hd_text_init(&t, text, sizeof text);
    hd_text_i64(&t, nr);
    hd_json_str(j, "syscall", name != NULL ? name : text);
}

/* ---- hot stack ---------------------------------------------------------------------------- */

static double share_of(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : part >= whole ? 1 : (double)part / (double)whole;
}

void hd_writer_hot_stack(const struct hd_report *r, struct hd_report_scratch *w) {
    const struct hd_tree *tree = r->tree;
    struct hd_json *j = &w->json;
    uint32_t count = hd_tree_hot_path(tree, w->path, HD_TREE_DEPTH_MAX);
    if (count == 0 && r->taken == 0) {
        return;
    }
    hd_json_object(j, "hot_stack");
    hd_json_array(j, "frames");
    for (uint32_t i = count; i-- != 0;) {
        const struct hd_tree_node *n = &tree->pool->node[w->path[i]];
        struct hd_frame frame =
            hd_tree_frame(tree->pool, w->path[i], i + 1 < count ? w->path[i + 1] : HD_TREE_NONE);
        hd_writer_frame(r, w, &frame, share_of(n->time_ns, tree->time_ns));
    }
    hd_json_end_array(j);
    hd_writer_walk(j, r->hot_stop, r->hot_cut, r->hot_way); /* without frames: why no sample had any */
    if (count != 0) {
        const struct hd_tree_node *leaf = &tree->pool->node[w->path[count - 1]];
        hd_json_u64(j, "samples", leaf->samples);
        hd_json_u64(j, "duration_ns", leaf->time_ns);
        hd_json_fixed(j, "share", share_of(leaf->time_ns, tree->time_ns), 4);
    }
    hd_json_end_object(j);
}

/* ---- timeline ----------------------------------------------------------------------------- */

static const struct hd_timeline_entry *timeline_at(const struct hd_report *r, uint32_t i) {
    return &r->timeline[(r->timeline_first + i) % r->timeline_size];
}

static void write_stacks(const struct hd_report *r, struct hd_report_scratch *w) {
    struct hd_json *j = &w->json;
    uint16_t stacks = 0;
    memset(w->stack_place, 0xff, sizeof w->stack_place);
    hd_json_array(j, "stacks");
    for (uint32_t i = 0; i < r->timeline_count; i++) {
        const struct hd_timeline_entry *e = timeline_at(r, i);
        if (e->leaf >= HD_TREE_POOL_NODES || w->stack_place[e->leaf] != HD_WRITER_NONE) {
            continue;
        }
        w->stack_place[e->leaf] = stacks++;
        hd_json_object(j, NULL);
        hd_json_array(j, "frames");
        for (uint32_t n = e->leaf, callee = HD_TREE_NONE; n != HD_TREE_NONE;
             n = r->tree->pool->node[n].parent) {
            struct hd_frame frame = hd_tree_frame(r->tree->pool, n, callee);
            hd_writer_frame(r, w, &frame, -1);
            callee = n;
        }
        hd_json_end_array(j);
        hd_writer_walk(j, e->stop, e->cut, e->way);
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
}

static void write_timeline(const struct hd_report *r, struct hd_report_scratch *w) {
    struct hd_json *j = &w->json;
    hd_json_array(j, "timeline");
    for (uint32_t i = 0; i < r->timeline_count; i++) {
        const struct hd_timeline_entry *e = timeline_at(r, i);
        hd_json_object(j, NULL);
        hd_json_u64(j, "at_ns", e->at_ns > r->started_ns ? e->at_ns - r->started_ns : 0);
        hd_json_u64(j, "for_ns", e->for_ns);
        if (e->leaf < HD_TREE_POOL_NODES) {
            hd_json_u64(j, "stack", w->stack_place[e->leaf]);
        }
        hd_json_str(j, "state", e->state != HD_RUN_GONE ? hd_words_run(e->state) : NULL);
        if (e->state != HD_RUN_RUNNING) {
            hd_writer_syscall(j, e->syscall_nr);
        }
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
}

/* ---- tree --------------------------------------------------------------------------------- */

/* The first node that shows the same function as node `at`: another one, or `at`. */
static uint32_t first_of_function(const struct hd_tree_pool *pool, struct hd_report_scratch *w, uint32_t at) {
    uint64_t key = hd_frame_key(&pool->node[at].frame);
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15 >> 52) % HD_WRITER_HASH;
    while (w->function[slot] != HD_WRITER_NONE) {
        if (hd_frame_key(&pool->node[w->function[slot]].frame) == key) {
            return w->function[slot];
        }
        slot = (slot + 1) % HD_WRITER_HASH;
    }
    w->function[slot] = (uint16_t)at;
    return at;
}

static void write_tree_frames(const struct hd_report *r, struct hd_report_scratch *w) {
    const struct hd_tree_pool *pool = r->tree->pool;
    uint16_t frames = 0;
    memset(w->function, 0xff, sizeof w->function);
    hd_json_array(&w->json, "frames");
    for (uint32_t n = r->tree->roots; n != HD_TREE_NONE; n = hd_tree_next(pool, n)) {
        uint32_t first = first_of_function(pool, w, n);
        if (first == n) {
            struct hd_frame frame = hd_tree_frame(pool, n, HD_TREE_NONE);
            w->frame_place[n] = frames++;
            hd_writer_frame(r, w, &frame, -1);
        } else {
            w->frame_place[n] = w->frame_place[first];
        }
    }
    hd_json_end_array(&w->json);
}

static void write_tree(const struct hd_report *r, struct hd_report_scratch *w) {
    const struct hd_tree_pool *pool = r->tree->pool;
    struct hd_json *j = &w->json;
    uint16_t nodes = 0;
    hd_json_object(j, "tree");
    write_tree_frames(r, w);
    hd_json_array(j, "nodes");
    for (uint32_t i = r->tree->roots; i != HD_TREE_NONE; i = hd_tree_next(pool, i)) {
        const struct hd_tree_node *n = &pool->node[i];
        w->node_place[i] = nodes++;
        hd_json_object(j, NULL);
        hd_json_u64(j, "frame", w->frame_place[i]);
        hd_json_i64(j, "parent", n->parent == HD_TREE_NONE ? -1 : (int64_t)w->node_place[n->parent]);
        hd_json_u64(j, "time_ns", n->time_ns);
        hd_json_u64(j, "samples", n->samples);
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
    hd_json_end_object(j);
}

void hd_writer_samples(const struct hd_report *r, struct hd_report_scratch *w) {
    struct hd_json *j = &w->json;
    hd_json_object(j, "samples");
    hd_json_u64(j, "interval_ns", r->interval_ns);
    hd_json_u64(j, "taken", r->taken);
    if (r->timeline != NULL && r->timeline_size != 0) {
        write_stacks(r, w);
        write_timeline(r, w);
    }
    write_tree(r, w);
    hd_json_end_object(j);
}

/* Writes the reason by a name of this table, else as "error 13": strerror allocates. */
void hd_writer_error(struct hd_json *j, int error) {
    char text[24];
    struct hd_text t;
    hd_text_init(&t, text, sizeof text);
    hd_text_str(&t, "error ");
    hd_text_i64(&t, error);
    switch (error) {
    case EPERM:
    case EACCES:
        hd_json_str(j, "error", "permission denied");
        break;
    case ENOENT:
    case ESRCH:
        hd_json_str(j, "error", "the thread has ended");
        break;
    case EAGAIN:
        hd_json_str(j, "error", "the thread was running");
        break;
    case ETIME:
    case ETIMEDOUT:
        hd_json_str(j, "error", "no answer in time");
        break;
    default:
        hd_json_str(j, "error", text);
    }
}
