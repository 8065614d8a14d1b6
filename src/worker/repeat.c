/* SPDX-License-Identifier: MIT
 *
 * Worker: no allocation.
 */
#include "worker/repeat.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "worker/worker.h"

#define RULE 3 /* of how it is made: another one is another fingerprint */
#define FRAMES 5
#define LONGER 4 /* a part: a hang that is longer by it is no repeat */

enum which {
    OWN,
    LIBRARYS,
    ANY,
    WAYS
};

static const struct hd_frame *frame_at(const struct hd_worker *k, const struct hd_hot_path *hot, uint32_t i) {
    return &k->turns.pool.node[hot->node[i]].frame;
}

/* In less time than that the next hang of the same bug may have another function. */
static bool has_half(const struct hd_worker *k, const struct hd_hot_path *hot, uint32_t i) {
    return k->turns.pool.node[hot->node[i]].time_ns >= k->turns.pool.node[hot->node[0]].time_ns / 2;
}

static bool is_own_script(const struct hd_worker *k, const struct hd_frame *f) {
    const char *file = hd_script_file(&k->scripts, f);
    return !(hd_module_path_is_system(file) || file[0] == '<' || file[0] == '\0' ||
             strncmp(file, "node:", 5) == 0);
}

static bool is_own(const struct hd_worker *k, uint32_t module) {
    return !hd_module_is_system(&k->modules, module) ||
           hd_module_path_is_of_program(hd_module_path(&k->modules, module), k->executable);
}

/* The C library is called by all others. */
static bool is_librarys(const struct hd_worker *k, uint32_t module) {
    static const char c_library[] = "libc.so\0ld-linux\0linux-vdso\0libhangdog\0";
    char name[32];
    hd_text_base_name(name, sizeof name, hd_module_path(&k->modules, module));
    for (const char *at = c_library, *end = c_library + sizeof c_library - 1; at < end;
         at += strlen(at) + 1) {
        if (strncmp(name, at, strlen(at)) == 0) {
            return false;
        }
    }
    return !is_own(k, module);
}

static uint64_t mix_frame(struct hd_worker *k, uint64_t hash, const struct hd_frame *f, enum which which,
                          bool *used) {
    *used = false;
    if (f->script != 0) {
        const char *name = hd_script_name(&k->scripts, f), *file = hd_script_file(&k->scripts, f);
        *used = which == ANY || (which == OWN && is_own_script(k, f));
        return *used ? hd_hash(hd_hash(hash, name, strlen(name) + 1), file, strlen(file) + 1) : hash;
    }
    int index = hd_modules_at_or_gone(&k->modules, hd_frame_lookup_pc(f));
    if (index < 0 || f->start == 0 || (which == OWN && !is_own(k, (uint32_t)index)) ||
        (which == LIBRARYS && !is_librarys(k, (uint32_t)index))) {
        return hash;
    }
    const struct hd_module *mod = &k->modules.module[index];
    uint64_t start = f->start - mod->bias;
    *used = true;
    hash = hd_hash(hash, mod->build_id, mod->build_id_bytes);
    return hd_hash(hash, &start, sizeof start);
}

/* Mixes the innermost functions of a kind; *used: how many there are. */
static uint64_t mix(struct hd_worker *k, uint64_t hash, const struct hd_hot_path *hot, enum which which,
                    unsigned *used) {
    *used = 0;
    for (uint32_t i = hot->count; i > 0 && *used < FRAMES; i--) {
        bool counts = which != LIBRARYS || has_half(k, hot, i - 1);
        hash = counts ? mix_frame(k, hash, frame_at(k, hot, i - 1), which, &counts) : hash;
        *used += counts;
    }
    return hash;
}

/* A script's outermost function: it has the loop, as main has it. */
static bool is_main_script(const struct hd_worker *k, const struct hd_frame *f) {
    const char *name = hd_script_name(&k->scripts, f);
    return strcmp(name, "<module>") == 0 || strcmp(name, "main") == 0;
}

/* Only main, or the function that a thread started with, is the program's: it calls the loop, and so it is
 * the same in each hang. Where there are scripts the interpreter has no function of the program's. */
static bool is_only_main(struct hd_worker *k, const struct hd_hot_path *hot) {
    uint64_t first = 0;
    bool scripts = false, only = true;
    for (uint32_t i = 0; i < hot->count; i++) {
        const struct hd_frame *f = frame_at(k, hot, i);
        if (f->script != 0) {
            scripts |= is_own_script(k, f);
            only &= !is_own_script(k, f) || is_main_script(k, f);
        }
    }
    for (uint32_t i = 1; i < hot->count && !scripts && only; i++) { /* 0: _start */
        const struct hd_frame *f = frame_at(k, hot, i);
        int module = f->script == 0 ? hd_modules_at_or_gone(&k->modules, hd_frame_lookup_pc(f)) : -1;
        if (module >= 0 && f->start != 0 && is_own(k, (uint32_t)module)) {
            only = first == 0 || first == f->start;
            first = f->start;
        }
    }
    return only;
}

uint64_t hd_repeat_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot,
                               const struct hd_cause *cause) {
    static const enum which order[2][WAYS] = {{OWN, ANY, ANY}, {LIBRARYS, OWN, ANY}};
    if (hot->count == 0) {
        return 0;
    }
    uint8_t rule = RULE;
    uint64_t hash = hd_hash(hd_hash(HD_HASH_BEGIN, &rule, 1), &cause->kind, 1);
    const enum which *way = order[is_only_main(k, hot)];
    for (unsigned i = 0; i < WAYS; i++) {
        unsigned used;
        uint64_t sum = mix(k, hash, hot, way[i], &used);
        if (used > 0) {
            return sum;
        }
    }
    return hash;
}

/* The functions of the hot stack with half of its time, and all places in code made at run time: their
 * addresses mean nothing in the next run, but within this one they do. 0: no other hang is the same, for
 * there is no hot stack, or it ends in such code, and where its function begins is not known. */
static uint64_t stack_hash(struct hd_worker *k, const struct hd_hot_path *hot) {
    uint64_t hash = hot->count != 0 ? HD_HASH_BEGIN : 0;
    for (uint32_t i = hot->count; i > 0; i--) {
        const struct hd_frame *f = frame_at(k, hot, i - 1);
        bool used;
        if (f->script == 0 && f->start == 0 && hd_modules_at(&k->modules, hd_frame_lookup_pc(f)) < 0) {
            if (i == hot->count) {
                return 0;
            }
            hash = hd_hash(hash, &f->pc, sizeof f->pc);
        } else if (has_half(k, hot, i - 1)) {
            hash = mix_frame(k, hash, f, ANY, &used);
        }
    }
    return hash;
}

/* One that is longer has the more to say. */
static bool is_longer(const struct hd_worker *k, const struct hd_report *r) {
    return r->duration_ns > k->before.duration_ns + k->before.duration_ns / LONGER;
}

void hd_repeat_compare(struct hd_worker *k, const struct hd_hot_path *hot, struct hd_report *r) {
    uint64_t stack = stack_hash(k, hot);
    if (r->complete && r->fingerprint == k->before.fingerprint && stack != 0 && stack == k->before.stack &&
        !is_longer(k, r) && hd_spool_has(&k->spool, k->before.id)) {
        r->brief = true;
        memcpy(r->repeat_of, k->before.id, sizeof r->repeat_of);
    }
}

void hd_repeat_store(struct hd_worker *k, const struct hd_hot_path *hot, const struct hd_report *r) {
    k->before.fingerprint = r->fingerprint;
    k->before.stack = stack_hash(k, hot);
    k->before.duration_ns = r->duration_ns;
    memcpy(k->before.id, r->id, sizeof k->before.id);
}
