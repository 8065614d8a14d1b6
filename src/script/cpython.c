/* SPDX-License-Identifier: MIT
 *
 * CPython's frames. The thread's record leads to the innermost Python frame, and a list from there outwards.
 * A call of the interpreter, a C frame of _PyEval_EvalFrameDefault, runs one Python frame or more. From
 * 3.11 on, a list entry lies in the C frame, so the entry's address shows the call. Before 3.11, calls and
 * Python frames are counted. Worker; runs during a hang; no allocation.
 */
#include "script/cpython.h"

#include <string.h>

#define TRIES 4u
#define WALK_MAX 4096u /* a recursion is deeper than it is named: its callers are named, too */
#define TAG_BITS 3u    /* of a reference, 3.14 */

enum {
    OWNED_BY_THREAD,
    OWNED_BY_GENERATOR,
    OWNED_BY_OBJECT,
    OWNED_BY_INTERPRETER,
    OWNED_BY_C_STACK
};

struct native { /* the stack */
    const struct hd_frame *frames;
    uint32_t count;
    const struct hd_script_stack *copy;
    bool live; /* its copy is too old */
};

/* Reads from the copy of the stack where possible: the copy has the values at the time of the sample. */
static bool read_bytes(const struct hd_scripts *s, const struct native *n, uint64_t address, void *out,
                       size_t bytes) {
    uint64_t offset = address - n->copy->address;
    if (!n->live && address >= n->copy->address && offset <= n->copy->size &&
        n->copy->size - offset >= bytes) {
        memcpy(out, n->copy->bytes + offset, bytes);
        return true;
    }
    return hd_script_read(s, address, out, bytes);
}

/* The C frame that has `address`; -1: none that is known. */
static int32_t native_at(const struct native *n, uint64_t address) {
    if (n->copy->size == 0) { /* without a stack there is one for all */
        return 0;
    }
    uint64_t offset = address - n->copy->address;
    for (uint32_t i = 0; address >= n->copy->address && i + 1 < n->count && n->frames[i].at <= offset; i++) {
        if (offset < n->frames[i + 1].at && i + 1 != n->copy->cut_at) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* ---- one Python frame ----------------------------------------------------------------------- */

struct frame {
    uint64_t code, back; /* code 0: no function */
    int64_t unit;
    bool ends; /* the call of the interpreter */
};

/* Memory of a frame and below. A caller's frame is a little below the callee's frame. One read is cheaper
 * than many, and has the values of one instant. */
struct window {
    uint64_t from; /* 0: nothing was read */
    uint8_t bytes[1024];
};

/* The bytes of the frame at `address`, NULL: they cannot be read. */
static const uint8_t *look_up(const struct hd_scripts *s, const struct native *n, struct window *w,
                              uint64_t address) {
    uint64_t end = address + PY_FRAME_BYTES;
    if (w->from != 0 && address >= w->from && end - w->from <= sizeof w->bytes) {
        return w->bytes + (address - w->from);
    }
    bool on_stack = address >= n->copy->address && address - n->copy->address < n->copy->size;
    w->from = end > sizeof w->bytes && !on_stack ? end - sizeof w->bytes : 0;
    if (w->from != 0 && hd_script_read(s, w->from, w->bytes, sizeof w->bytes)) {
        return w->bytes + (address - w->from);
    }
    w->from = 0;
    return read_bytes(s, n, address, w->bytes, PY_FRAME_BYTES) ? w->bytes : NULL;
}

static bool read_object(const struct hd_scripts *s, const uint8_t *bytes, struct frame *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    int32_t at;
    memcpy(&at, bytes + l->frame_at, sizeof at);
    out->ends = true;
    out->unit = l->lines == PY_LNOTAB && at > 0 ? at / PY_UNIT_BYTES : at;
    return hd_script_u64(bytes + PY_TYPE) == s->py.frame_type;
}

static bool read_listed(const struct hd_scripts *s, const uint8_t *bytes, struct frame *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint8_t owner = bytes[l->frame_owner];
    uint64_t distance = hd_script_u64(bytes + l->frame_at) - (out->code + l->code_units);
    out->unit = (int64_t)distance / PY_UNIT_BYTES;
    if (l->frames == PY_ENTRY_FLAG) {
        uint8_t entry = bytes[l->frame_owner - 1];
        out->ends = entry != 0;
        return entry <= 1 && owner <= OWNED_BY_OBJECT && distance % PY_UNIT_BYTES == 0;
    }
    out->ends = owner >= OWNED_BY_INTERPRETER;
    out->code = out->ends ? 0 : out->code;
    return owner <= OWNED_BY_C_STACK && (out->ends || distance % PY_UNIT_BYTES == 0);
}

static bool read_frame(const struct hd_scripts *s, const struct native *n, struct window *w, uint64_t address,
                       struct frame *out) {
    const struct hd_cpython_layout *l = &s->py.layout;
    const uint8_t *bytes = address % 8 != 0 ? NULL : look_up(s, n, w, address);
    if (bytes == NULL) {
        return false;
    }
    *out = (struct frame){.code = hd_script_u64(bytes + l->frame_code) & ~(uint64_t)TAG_BITS,
                          .back = hd_script_u64(bytes + l->frame_back)};
    return (l->frames == PY_FRAME_OBJECTS ? read_object : read_listed)(s, bytes, out) &&
           (out->code != 0 || (out->ends && l->frames == PY_ENTRY_FRAME)) && out->code % 8 == 0;
}

/* ---- the list ------------------------------------------------------------------------------- */

struct walk {
    struct hd_scripts *s;
    const struct native *native;
    struct window window;
    uint64_t cframe;
    uint32_t calls,
        first;    /* calls of the interpreter that were left; where s->frame has this one's functions */
    int32_t last; /* the C frame of the one before */
};

/* The call of the interpreter ends here: its functions get its C frame. One that began since the stack was
 * copied has none, nor has one whose part of the stack was not. False: calls out of order are garbage. */
static bool leave_call(struct walk *w, uint64_t address) {
    struct hd_scripts *s = w->s;
    const struct hd_cpython_layout *l = &s->py.layout;
    w->calls++;
    if (l->frames != PY_FRAME_OBJECTS) {
        int32_t native = native_at(w->native, l->frames == PY_ENTRY_FLAG ? w->cframe : address);
        if (native < 0) {
            s->frames = w->first;
        } else if (native < w->last) {
            return false;
        } else {
            w->last = native;
        }
        for (uint32_t i = w->first; i < s->frames; i++) {
            s->frame[i].native = (uint16_t)native;
        }
    }
    if (l->frames == PY_ENTRY_FLAG &&
        !read_bytes(s, w->native, w->cframe + PY_CFRAME_PREVIOUS_311, &w->cframe, sizeof w->cframe)) {
        w->cframe = 0;
    }
    w->first = s->frames;
    return true;
}

/* Finds the next frame after a generator that has yielded since the sample, and so has no caller. In 3.11 the
 * next call's record on the stack has the frame's address. In a greenlet the record is the thread's own,
 * which is not on the stack. 0: not known. */
static uint64_t next_call(const struct walk *w) {
    uint64_t current = 0;
    bool known =
        w->s->py.layout.frames == PY_ENTRY_FLAG && native_at(w->native, w->cframe) > 0 &&
        read_bytes(w->s, w->native, w->cframe + w->s->py.layout.cframe_current, &current, sizeof current);
    return known ? current : 0;
}

/* The functions of the list from `address` on. False: it is garbage, or changed under our eyes. */
static bool walk_list(struct walk *w, uint64_t address) {
    struct hd_scripts *s = w->s;
    struct frame f;
    struct hd_script_place place;
    for (unsigned i = 0; address != 0 && i < WALK_MAX; i++) {
        if (!read_frame(s, w->native, &w->window, address, &f)) {
            return false;
        }
        if (f.code != 0 && s->frames < HD_SCRIPT_FRAMES_MAX &&
            s->frames - w->first < HD_SCRIPT_FRAMES_PER_CALL) {
            if (!hd_cpython_place(s, f.code, f.unit, &place)) {
                return false;
            }
            if (place.script != 0) {
                s->frame[s->frames++] = (struct hd_script_frame){
                    .script = place.script, .line = place.line, .native = (uint16_t)w->calls};
            }
        }
        if (f.ends && !leave_call(w, address)) {
            return false;
        }
        address = f.back != 0 || !f.ends ? f.back : next_call(w);
    }
    return true;
}

/* ---- calls that are counted, up to 3.10 ------------------------------------------------------- */

/* Index of the call with this number, from the innermost on. */
static uint32_t nth_call(const struct hd_scripts *s, const struct native *n, uint32_t number) {
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->frames[i].start == s->py.eval && number-- == 0) {
            return i;
        }
    }
    return n->count;
}

/* Each function is a call of its own. With more functions than calls, some functions were called after the
 * copy of the stack. With fewer, some have returned, or the outer calls are another greenlet's. So functions
 * and calls are matched from the outermost on, but before a cut from the innermost on. */
static void count_calls(struct hd_scripts *s, const struct native *n, uint32_t functions) {
    uint32_t calls = 0, before_cut = 0, kept = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        bool is_call = n->frames[i].start == s->py.eval;
        calls += is_call;
        before_cut += is_call && i < n->copy->cut_at;
    }
    for (uint32_t i = 0; i < s->frames && calls != 0; i++) {
        struct hd_script_frame f = s->frame[i];
        uint32_t outer = functions - f.native;
        uint32_t number = f.native < before_cut ? f.native : outer <= calls ? calls - outer : 0;
        if (number >= before_cut || f.native < before_cut) {
            f.native = (uint16_t)nth_call(s, n, number);
            s->frame[kept++] = f;
        }
    }
    s->frames = kept;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Where the thread's list starts; false: nowhere. */
static bool list_of(struct hd_scripts *s, int tid, struct walk *w, uint64_t *address) {
    const struct hd_cpython_layout *l = &s->py.layout;
    uint8_t bytes[PY_THREAD_BYTES];
    if (!hd_cpython_thread(s, tid, bytes)) {
        return false;
    }
    *address = hd_script_u64(bytes + l->thread_frame);
    if (l->cframe) {
        w->cframe = *address;
        return read_bytes(s, w->native, w->cframe + l->cframe_current, address, sizeof *address);
    }
    return true;
}

bool hd_cpython_visit_frames(struct hd_scripts *s, int tid,
                             bool (*visit)(struct hd_scripts *, uint64_t, void *), void *arg) {
    static const struct hd_script_stack none;
    struct native native = {.copy = &none, .live = true};
    struct walk w = {.s = s, .native = &native};
    uint64_t at = 0;
    if (!list_of(s, tid, &w, &at)) {
        return false;
    }
    for (unsigned i = 0; at != 0 && i < WALK_MAX; i++) {
        if (visit(s, at, arg)) {
            return true;
        }
        at = hd_cpython_word(s, at + s->py.layout.frame_back);
    }
    return false;
}

/* A thread that never was in the interpreter needs no search. */
static bool has_module(const struct hd_scripts *s, const struct native *n) {
    const struct hd_module *m = &s->modules->module[s->py.module];
    uint32_t i = 0;
    while (i < n->count && n->frames[i].start != s->py.eval &&
           (n->frames[i].pc < m->lo || n->frames[i].pc >= m->hi)) {
        i++;
    }
    return i < n->count;
}

void hd_cpython_frames(struct hd_scripts *s, const struct hd_frame *frames, uint32_t count,
                       const struct hd_script_stack *stack) {
    struct native native = {frames, count, stack, false};
    struct walk w;
    uint64_t address;
    bool whole = !has_module(s, &native);
    if (whole) {
        return;
    }
    for (unsigned tries = 0; !whole && tries < TRIES; tries++) { /* a thread that runs changes its list */
        native.live = tries != 0;
        w = (struct walk){.s = s, .native = &native};
        s->frames = 0;
        if (!list_of(s, stack->tid, &w, &address)) {
            return;
        }
        whole = walk_list(&w, address);
    }
    if (s->py.layout.frames == PY_FRAME_OBJECTS) {
        count_calls(s, &native, w.calls);
    } else {
        s->frames = w.first; /* drop frames of an unfinished call */
    }
}
