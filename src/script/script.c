/* SPDX-License-Identifier: MIT
 *
 * Which interpreter is in the process, and script functions among a stack's frames. Worker: may run while a
 * hang is on; no allocation.
 */
#include "script/script.h"

#include <stddef.h>
#include <string.h>

#include "script/cpython.h"
#include "script/v8.h"

void hd_scripts_init(struct hd_scripts *s, struct hd_modules *modules) {
    memset(s, 0, offsetof(struct hd_scripts, frame)); /* the rest is not touched before it is needed */
    s->modules = modules;
}

void hd_scripts_begin(struct hd_scripts *s, bool sole) {
    if (s->py.eval == 0 && s->v8.smi_shift == 0) {
        return;
    }
    memset(s->place, 0, sizeof s->place); /* code objects come and go */
    s->v8_function_map = s->v8_shared_map = 0;
    if (sole && (s->count > HD_SCRIPTS_MAX / 2 || s->string_bytes > HD_SCRIPT_STRINGS_BYTES / 2)) {
        s->count = s->string_bytes = 0;
    }
}

static void find_cpython(struct hd_scripts *s, uint32_t index) {
    uint64_t eval = hd_module_symbol(s->modules, index, "_PyEval_EvalFrameDefault");
    if (eval == 0) {
        return;
    }
    struct hd_cpython *py = &s->py;
    py->module = index;
    py->runtime = hd_module_symbol(s->modules, index, "_PyRuntime");
    py->code_type = hd_module_symbol(s->modules, index, "PyCode_Type");
    py->str_type = hd_module_symbol(s->modules, index, "PyUnicode_Type");
    py->frame_type = hd_module_symbol(s->modules, index, "PyFrame_Type");
    if (py->runtime != 0 && py->code_type != 0 && py->str_type != 0 &&
        hd_cpython_layout_read(s->modules, index, &py->layout)) {
        py->eval = eval;
    }
}

static void find_v8(struct hd_scripts *s, uint32_t index) {
    struct hd_v8_offsets offsets;
    if (hd_v8_offsets_read(s->modules, index, &offsets)) {
        s->v8 = offsets;
        hd_v8_find_collector(s, index);
    }
}

uint32_t hd_scripts_running(struct hd_scripts *s, int tid, struct hd_frame *frames, uint32_t max) {
    const struct hd_script_stack none = {.tid = tid};
    if (s->py.eval == 0) {
        return 0;
    }
    frames[0] = (struct hd_frame){.pc = s->py.eval + 1, .start = s->py.eval, .trust = HD_TRUST_SCAN};
    uint32_t count = hd_scripts_expand(s, frames, 1, max, &none);
    return count > 1 ? count : 0;
}

uint32_t hd_scripts_expand(struct hd_scripts *s, struct hd_frame *frames, uint32_t count, uint32_t max,
                           const struct hd_script_stack *stack) {
    if (s->resets != s->modules->resets) {
        s->resets = s->modules->resets;
        s->modules_seen = 0;
        s->py.eval = 0;
        s->py.tid = 0;
        s->v8.smi_shift = 0;
    }
    for (; s->modules_seen < s->modules->count && s->py.eval == 0 && s->v8.smi_shift == 0;
         s->modules_seen++) {
        find_cpython(s, s->modules_seen);
        find_v8(s, s->modules_seen);
    }
    s->frames = 0;
    if (s->py.eval != 0 && count < max) {
        hd_cpython_frames(s, frames, count, stack);
    } else if (s->v8.smi_shift != 0 && count < max) {
        hd_v8_frames(s, frames, count, stack);
    }
    uint32_t left = s->frames < max - count ? s->frames : max - count, to = count + left, sum = to;
    for (uint32_t i = count; i-- > 0;) {
        struct hd_frame native = frames[i];
        frames[--to] = native;
        for (; left > 0 && s->frame[left - 1].native == i; left--) {
            const struct hd_script_frame *f = &s->frame[left - 1];
            frames[--to] = (struct hd_frame){.pc = native.pc,
                                             .start = s->script[f->script - 1].code,
                                             .trust = native.trust,
                                             .script = f->script,
                                             .at = f->line};
        }
    }
    return sum;
}

uint32_t hd_scripts_drop_changed(const struct hd_scripts *s, struct hd_frame *frames, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint16_t script = frames[i].script;
        if (script == 0 || s->script[script - 1].language != HD_SCRIPT_PYTHON) {
            frames[kept++] = frames[i];
        }
    }
    return kept;
}
