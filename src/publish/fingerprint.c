/* SPDX-License-Identifier: MIT
 *
 * A fingerprint identifies a function by its module's build-id and its offset in that module. Both are the
 * same in each run. On the worker thread.
 */
#include "publish/fingerprint.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* version of the rules in this file; it is part of each fingerprint, so other rules give other
 * fingerprints */
#define RULE 3
#define FRAMES 5

/* The kind of functions from which a fingerprint is made. */
enum which {
    OWN,
    LIBRARYS,
    ANY,
    TRIES
};

static const struct hd_frame *frame_at(const struct hd_code *code, const struct hd_hot_path *hot,
                                       uint32_t i) {
    return &code->pool->node[hot->node[i]].frame;
}

/* True: frame `i` has at least half of the hot stack's time. A function with less time does not count,
 * because the next hang of the same bug may have another function in its place. */
static bool has_half(const struct hd_code *code, const struct hd_hot_path *hot, uint32_t i) {
    return code->pool->node[hot->node[i]].time_ns >= code->pool->node[hot->node[0]].time_ns / 2;
}

static bool is_own_script(const struct hd_code *code, const struct hd_frame *f) {
    const char *file = hd_script_file(code->scripts, f);
    return !(hd_module_path_is_system(file) || file[0] == '<' || file[0] == '\0' ||
             strncmp(file, "node:", 5) == 0);
}

static bool is_own(const struct hd_code *code, uint32_t module) {
    return !hd_module_is_system(code->modules, module) ||
           hd_module_path_is_of_program(hd_module_path(code->modules, module), code->executable);
}

/* True: the module is a library of the system, but not the C library. The C library does not count, because
 * all libraries call it. */
static bool is_librarys(const struct hd_code *code, uint32_t module) {
    static const char c_library[] = "libc.so\0ld-linux\0linux-vdso\0libhangdog\0";
    char name[32];
    hd_text_base_name(name, sizeof name, hd_module_path(code->modules, module));
    for (const char *at = c_library, *end = c_library + sizeof c_library - 1; at < end;
         at += strlen(at) + 1) {
        if (strncmp(name, at, strlen(at)) == 0) {
            return false;
        }
    }
    return !is_own(code, module);
}

static uint64_t mix_frame(const struct hd_code *code, uint64_t hash, const struct hd_frame *f,
                          enum which which, bool *used) {
    *used = false;
    if (f->script != 0) {
        const char *name = hd_script_name(code->scripts, f), *file = hd_script_file(code->scripts, f);
        *used = which == ANY || (which == OWN && is_own_script(code, f));
        return *used ? hd_hash(hd_hash(hash, name, strlen(name) + 1), file, strlen(file) + 1) : hash;
    }
    int index = hd_modules_at_or_gone(code->modules, hd_frame_lookup_pc(f));
    if (index < 0 || f->start == 0 || (which == OWN && !is_own(code, (uint32_t)index)) ||
        (which == LIBRARYS && !is_librarys(code, (uint32_t)index))) {
        return hash;
    }
    const struct hd_module *mod = &code->modules->module[index];
    uint64_t start = f->start - mod->bias;
    *used = true;
    hash = hd_hash(hash, mod->build_id, mod->build_id_bytes);
    return hd_hash(hash, &start, sizeof start);
}

/* Adds the innermost functions of kind `which` to the hash, at most FRAMES of them. *used: the number of
 * functions added. */
static uint64_t mix(const struct hd_code *code, uint64_t hash, const struct hd_hot_path *hot,
                    enum which which, unsigned *used) {
    *used = 0;
    for (uint32_t i = hot->count; i > 0 && *used < FRAMES; i--) {
        bool counts = which != LIBRARYS || has_half(code, hot, i - 1);
        hash = counts ? mix_frame(code, hash, frame_at(code, hot, i - 1), which, &counts) : hash;
        *used += counts;
    }
    return hash;
}

/* True: `f` is the outermost function of a script. That function runs the loop, as main does in C. */
static bool is_main_script(const struct hd_code *code, const struct hd_frame *f) {
    const char *name = hd_script_name(code->scripts, f);
    return strcmp(name, "<module>") == 0 || strcmp(name, "main") == 0;
}

/* True: main, or the first function of a thread, is the program's only function on the stack. That function
 * runs the loop, so all hangs have it on their stacks. If functions of the program's scripts are on the
 * stack, functions of the interpreter do not count as the program's. */
static bool is_only_main(const struct hd_code *code, const struct hd_hot_path *hot) {
    uint64_t first = 0;
    bool scripts = false, only = true;
    for (uint32_t i = 0; i < hot->count; i++) {
        const struct hd_frame *f = frame_at(code, hot, i);
        if (f->script != 0) {
            scripts |= is_own_script(code, f);
            only &= !is_own_script(code, f) || is_main_script(code, f);
        }
    }
    for (uint32_t i = 1; i < hot->count && !scripts && only; i++) { /* skips frame 0, because it is _start */
        const struct hd_frame *f = frame_at(code, hot, i);
        int module = f->script == 0 ? hd_modules_at_or_gone(code->modules, hd_frame_lookup_pc(f)) : -1;
        if (module >= 0 && f->start != 0 && is_own(code, (uint32_t)module)) {
            only = first == 0 || first == f->start;
            first = f->start;
        }
    }
    return only;
}

uint64_t hd_fingerprint_of(const struct hd_code *code, const struct hd_hot_path *hot,
                           const struct hd_cause *cause) {
    static const enum which order[2][TRIES] = {{OWN, ANY, ANY}, {LIBRARYS, OWN, ANY}};
    if (hot->count == 0) {
        return 0;
    }
    uint8_t rule = RULE;
    uint64_t hash = hd_hash(hd_hash(HD_HASH_BEGIN, &rule, 1), &cause->kind, 1);
    const enum which *which = order[is_only_main(code, hot)];
    for (unsigned i = 0; i < TRIES; i++) {
        unsigned used;
        uint64_t sum = mix(code, hash, hot, which[i], &used);
        if (used > 0) {
            return sum;
        }
    }
    return hash;
}

/* JIT code has no module, so its address goes into the hash. The address identifies the code within this run.
 * Returns 0 if the innermost function is JIT code, because the start of that function is not known. */
uint64_t hd_fingerprint_of_stack(const struct hd_code *code, const struct hd_hot_path *hot) {
    uint64_t hash = hot->count != 0 ? HD_HASH_BEGIN : 0;
    for (uint32_t i = hot->count; i > 0; i--) {
        const struct hd_frame *f = frame_at(code, hot, i - 1);
        bool used;
        if (f->script == 0 && f->start == 0 && hd_modules_at(code->modules, hd_frame_lookup_pc(f)) < 0) {
            if (i == hot->count) {
                return 0;
            }
            hash = hd_hash(hash, &f->pc, sizeof f->pc);
        } else if (has_half(code, hot, i - 1)) {
            hash = mix_frame(code, hash, f, ANY, &used);
        }
    }
    return hash;
}
