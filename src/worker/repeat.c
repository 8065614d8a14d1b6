/* SPDX-License-Identifier: MIT
 *
 * Worker: no allocation.
 */
#include "worker/repeat.h"

#include <string.h>

#include "base/hash.h"
#include "worker/worker.h"

#define RULE 2 /* of how it is made: another one is another fingerprint */
#define FRAMES 5

static uint64_t mix_frame(struct hd_worker *k, uint64_t hash, const struct hd_frame *f, bool own_only,
                          bool *used) {
    int index = hd_modules_at_or_gone(&k->modules, hd_frame_lookup_pc(f));
    if (f->script != 0) {
        const char *name = hd_script_name(&k->scripts, f), *file = hd_script_file(&k->scripts, f);
        *used = !own_only || !(hd_module_path_is_system(file) || file[0] == '<' || file[0] == '\0' ||
                               strncmp(file, "node:", 5) == 0);
        return *used ? hd_hash(hd_hash(hash, name, strlen(name) + 1), file, strlen(file) + 1) : hash;
    }
    *used = false;
    if (index < 0 || f->start == 0 || (own_only && hd_module_is_system(&k->modules, (uint32_t)index))) {
        return hash;
    }
    const struct hd_module *mod = &k->modules.module[index];
    uint64_t start = f->start - mod->bias;
    *used = true;
    hash = hd_hash(hash, mod->build_id, mod->build_id_bytes);
    return hd_hash(hash, &start, sizeof start);
}

uint64_t hd_repeat_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot,
                               const struct hd_cause *cause) {
    if (hot->count == 0) {
        return 0;
    }
    uint8_t rule = RULE;
    uint64_t hash = hd_hash(hd_hash(HD_HASH_BEGIN, &rule, 1), &cause->kind, 1);
    for (int own_only = 1; own_only >= 0; own_only--) {
        unsigned used = 0;
        uint64_t sum = hash;
        for (uint32_t i = hot->count; i > 0 && used < FRAMES; i--) {
            bool counts;
            sum = mix_frame(k, sum, &k->pool.node[hot->node[i - 1]].frame, own_only != 0, &counts);
            used += counts;
        }
        if (used > 0) {
            return sum;
        }
    }
    return hash;
}

/* Code made at run time has no part in the fingerprint: its addresses mean nothing in the next run. Within
 * this run they do: two hangs are the same if it is at the same places on the way to the same function. 0: no
 * other hang is the same, for there is no hot stack, or it ends in such code, and where its function begins
 * is not known. */
static uint64_t jit_fingerprint(struct hd_worker *k, const struct hd_hot_path *hot) {
    uint64_t hash = hot->count != 0 ? HD_HASH_BEGIN : 0;
    for (uint32_t i = hot->count; i > 0; i--) {
        const struct hd_frame *f = &k->pool.node[hot->node[i - 1]].frame;
        if (f->start == 0 && hd_modules_at(&k->modules, hd_frame_lookup_pc(f)) < 0) {
            if (i == hot->count) {
                return 0;
            }
            hash = hd_hash(hash, &f->pc, sizeof f->pc);
        }
    }
    return hash;
}

void hd_repeat_compare(struct hd_worker *k, const struct hd_hot_path *hot, struct hd_report *r) {
    uint64_t jit = jit_fingerprint(k, hot);
    if (r->complete && r->fingerprint == k->before.fingerprint && jit != 0 && jit == k->before.jit &&
        hd_spool_has(&k->spool, k->before.id)) {
        r->brief = true;
        memcpy(r->repeat_of, k->before.id, sizeof r->repeat_of);
    }
}

void hd_repeat_store(struct hd_worker *k, const struct hd_hot_path *hot, const struct hd_report *r) {
    k->before.fingerprint = r->fingerprint;
    k->before.jit = jit_fingerprint(k, hot);
    memcpy(k->before.id, r->id, sizeof k->before.id);
}
