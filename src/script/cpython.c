/* SPDX-License-Identifier: MIT
 *
 * CPython's frames. Each C frame of _PyEval_EvalFrameDefault holds a _PyCFrame at a place that the compiler
 * chose: it points to the innermost Python frame that this C frame runs, from which a list leads out to the
 * one that the C frame was entered for, and to the _PyCFrame of the next C frame further out. The place is
 * found by that: words that lead from one such record to the next, at the same distance from the ends of
 * their frames. Worker: may run while a hang is on; no allocation.
 */
#include <string.h>

#include "script/cpython_offsets.h"
#include "script/script.h"

#define TRIES 4

struct stack {
    const struct hd_frame *frames;
    uint32_t count, cut_at;
    const uint8_t *bytes;
    uint64_t address;
    uint32_t size;
};

/* Where a frame's part of the copy ends; 0: that is not known. */
static uint32_t end_of(const struct stack *st, uint32_t i) {
    if (i + 1 >= st->count || i + 1 == st->cut_at || st->frames[i + 1].at <= st->frames[i].at ||
        st->frames[i + 1].at > st->size) {
        return 0;
    }
    return st->frames[i + 1].at;
}

static uint32_t next_eval(const struct hd_scripts *s, const struct stack *st, uint32_t i) {
    while (i < st->count && st->frames[i].start != s->eval) {
        i++;
    }
    return i;
}

/* ---- one Python frame ----------------------------------------------------------------------- */

struct frame {
    uint64_t code, previous, instr;
    bool entry;
};

/* Memory below a frame and with it: a caller's frame is a little lower than that of the function it calls,
 * and one read is cheaper than many, and of one instant. */
struct window {
    uint64_t from; /* 0: nothing was read */
    uint8_t bytes[1024];
};

/* The bytes of the frame at `address`, NULL: they cannot be read. */
static const uint8_t *look_up(const struct hd_scripts *s, struct window *w, uint64_t address) {
    uint64_t end = address + PY_FRAME_BYTES;
    if (w->from != 0 && address >= w->from && end - w->from <= sizeof w->bytes) {
        return w->bytes + (address - w->from);
    }
    w->from = end > sizeof w->bytes ? end - sizeof w->bytes : 0;
    if (w->from != 0 && hd_script_read(s, w->from, w->bytes, sizeof w->bytes)) {
        return w->bytes + (address - w->from);
    }
    w->from = 0;
    return hd_script_read(s, address, w->bytes, PY_FRAME_BYTES) ? w->bytes : NULL;
}

static bool read_frame(const struct hd_scripts *s, struct window *w, uint64_t address, struct frame *out) {
    const uint8_t *bytes = address == 0 || address % 8 != 0 ? NULL : look_up(s, w, address);
    if (bytes == NULL || bytes[PY_FRAME_ENTRY] > 1 || bytes[PY_FRAME_OWNER] >= PY_FRAME_OWNERS) {
        return false;
    }
    *out = (struct frame){.code = hd_script_u64(bytes + PY_FRAME_CODE),
                          .previous = hd_script_u64(bytes + PY_FRAME_PREVIOUS),
                          .instr = hd_script_u64(bytes + PY_FRAME_INSTR),
                          .entry = bytes[PY_FRAME_ENTRY] != 0};
    return out->code != 0 && out->code % 8 == 0;
}

/* The Python frames of the C frame `native`, from the innermost on. Its list ends at the frame `outer`, of
 * the next C frame (0: not known), or nowhere: in a greenlet what is further out is not its caller. False: it
 * is garbage, or changed under our eyes; then nothing was added. */
static bool take_frames(struct hd_scripts *s, struct window *w, uint64_t address, uint64_t outer,
                        uint32_t native) {
    struct frame f;
    struct hd_script_place place;
    uint32_t before = s->frames;
    for (unsigned i = 0; i < HD_SCRIPT_FRAMES_PER_CALL && s->frames < HD_SCRIPT_FRAMES_MAX; i++) {
        if (!read_frame(s, w, address, &f) || !hd_cpython_place(s, f.code, f.instr, &place) ||
            (f.entry && outer != 0 && f.previous != 0 && f.previous != outer)) {
            s->frames = before;
            return false;
        }
        if (place.script != 0) {
            s->frame[s->frames++] = (struct hd_script_frame){
                .script = place.script, .line = place.line, .native = (uint16_t)native};
        }
        if (f.entry) {
            return true;
        }
        address = f.previous;
    }
    return true; /* deeper than is told */
}

/* ---- where the record is -------------------------------------------------------------------- */

/* True when the words at `at`, in frame i that ends at `end`, are a record: the next one is where it has to
 * be.
 */
static bool is_record(struct hd_scripts *s, const struct stack *st, uint32_t i, uint32_t at, uint32_t end) {
    const uint8_t *words = st->bytes + at;
    uint64_t current = hd_script_u64(words + PY_CFRAME_CURRENT);
    uint64_t previous = hd_script_u64(words + PY_CFRAME_PREVIOUS);
    struct frame f;
    struct hd_script_place place;
    struct window w = {.from = 0};
    if ((words[PY_CFRAME_TRACING] != 0 && words[PY_CFRAME_TRACING] != 255) || previous == 0 ||
        previous % 8 != 0) {
        return false;
    }
    uint32_t outer = next_eval(s, st, i + 1);
    if (outer < st->count) {
        uint32_t outer_end = end_of(st, outer);
        if (outer_end == 0 || previous != st->address + outer_end - (end - at)) {
            return false;
        }
    } else { /* the outermost: its thread's own, which is not on the stack, and the last one */
        uint8_t root[PY_CFRAME_BYTES];
        if (previous - st->address < st->size || !hd_script_read(s, previous, root, sizeof root) ||
            hd_script_u64(root + PY_CFRAME_PREVIOUS) != 0) {
            return false;
        }
    }
    return read_frame(s, &w, current, &f) && hd_cpython_place(s, f.code, f.instr, &place);
}

static void find_record(struct hd_scripts *s, const struct stack *st) {
    for (uint32_t i = next_eval(s, st, 0); i < st->count; i = next_eval(s, st, i + 1)) {
        uint32_t end = end_of(st, i);
        uint32_t at = st->frames[i].at + (uint32_t)(-(st->address + st->frames[i].at) & 7);
        for (; end != 0 && at + PY_CFRAME_BYTES <= end; at += 8) {
            if (is_record(s, st, i, at, end)) {
                s->cframe = (int64_t)at - end;
                return;
            }
        }
    }
}

/* Where the record of C frame i is. */
static uint64_t address_of(const struct hd_scripts *s, const struct stack *st, uint32_t i) {
    return st->address + end_of(st, i) + (uint64_t)s->cframe;
}

/* The innermost Python frame of C frame i when the stack was copied; 0: that is not known. */
static uint64_t current_of(const struct hd_scripts *s, const struct stack *st, uint32_t i) {
    if (i >= st->count) {
        return 0;
    }
    int64_t at = (int64_t)end_of(st, i) + s->cframe;
    return at >= st->frames[i].at && at + PY_CFRAME_BYTES <= st->size
               ? hd_script_u64(st->bytes + at + PY_CFRAME_CURRENT)
               : 0;
}

void hd_cpython_frames(struct hd_scripts *s, const struct hd_frame *frames, uint32_t count, uint32_t cut_at,
                       const uint8_t *stack, uint64_t stack_addr, uint32_t stack_bytes) {
    struct stack st = {frames, count, cut_at, stack, stack_addr, stack_bytes};
    struct window w = {.from = 0};
    if (s->cframe == 0) {
        find_record(s, &st);
    }
    for (uint32_t i = next_eval(s, &st, 0); s->cframe != 0 && i < count;) {
        uint32_t outer = next_eval(s, &st, i + 1);
        uint64_t current = current_of(s, &st, i);
        uint64_t end = current_of(s, &st, outer), now = current;
        bool whole = current == 0 || take_frames(s, &w, current, end, i);
        /* A thread that runs may have left the innermost functions since: those that it is in now will do. */
        for (unsigned tries = 0; !whole && tries < TRIES; tries++) {
            w.from = 0;
            whole = hd_script_read(s, address_of(s, &st, i) + PY_CFRAME_CURRENT, &now, sizeof now) &&
                    take_frames(s, &w, now, end, i);
        }
        i = outer;
    }
}
