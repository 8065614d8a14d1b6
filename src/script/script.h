/* SPDX-License-Identifier: MIT
 * Functions of scripts on a thread's stack, next to the frames of the interpreter. The interpreter's records
 * are read from memory while the thread may still run. Every read may fail and every value may be garbage:
 * inconsistent data give no frame. No allocation, no lock, no call into the interpreter. Worker only.
 *
 * Known: CPython 3.8 to 3.14, and V8 as in node 18 to 24. A thread that stays blocked is read exactly. One
 * that runs is read some microseconds after the copy of the stack. The outer functions are those of the copy;
 * the innermost function and line may be newer. hd_scripts_drop_changed drops those of a thread that moved
 * on.
 */
#ifndef HD_SCRIPT_H
#define HD_SCRIPT_H

#include "base/types.h"
#include "image/modules.h"
#include "script/cpython_layout.h"
#include "script/v8_offsets.h"

#define HD_SCRIPTS_MAX 384u /* functions that are known at a time */
#define HD_SCRIPT_STRINGS_BYTES (24u * 1024u)
#define HD_SCRIPT_FRAMES_MAX 128u     /* of one stack */
#define HD_SCRIPT_FRAMES_PER_CALL 64u /* of one call of the interpreter */
#define HD_V8_COLLECTOR_FUNCTIONS 4u
#define HD_SCRIPT_CACHE 128u /* a power of two */

enum hd_script_language {
    HD_SCRIPT_PYTHON,
    HD_SCRIPT_JAVASCRIPT
};

struct hd_script { /* one function */
    /* The interpreter's object, and what it consists of: another one may take its place. Of JavaScript, whose
     * objects move, a hash of name, file and place. */
    uint64_t code;
    uint64_t name_object, file_object;
    uint32_t first_line;
    uint32_t name, file; /* offsets into the strings; an empty file: a function of the interpreter itself */
    uint8_t language;    /* enum hd_script_language */
};

struct hd_script_place { /* an instruction that was met */
    uint64_t instr, code;
    uint32_t line;
    uint16_t script;
};

struct hd_script_frame {
    uint32_t line;
    uint16_t script; /* as in struct hd_frame */
    uint16_t native; /* index of the interpreter's own frame */
};

struct hd_cpython { /* once it is among the modules */
    uint64_t eval;  /* 0: it is not */
    uint64_t runtime, code_type, str_type, frame_type;
    uint32_t module;
    struct hd_cpython_layout layout;
    /* The thread that was found last, 0: none. */
    int tid;
    bool ask_libc;
    uint64_t thread;
};

struct hd_scripts {
    struct hd_modules *modules;
    uint32_t modules_seen, resets; /* so many of their list, and which list that was */
    struct hd_cpython py;
    /* V8, if a module has it; smi_shift 0: no V8. Then maps of the heap that were read. */
    struct hd_v8_offsets v8;
    uint64_t v8_function_map, v8_shared_map;
    uint64_t v8_collector[HD_V8_COLLECTOR_FUNCTIONS]; /* where they start, 0: not exported */
    uint32_t count, string_bytes, frames;
    struct hd_script_place place[HD_SCRIPT_CACHE];
    /* from here on not touched before there is a function */
    struct hd_script_frame frame[HD_SCRIPT_FRAMES_MAX];
    struct hd_script script[HD_SCRIPTS_MAX];
    char string[HD_SCRIPT_STRINGS_BYTES];
};

void hd_scripts_init(struct hd_scripts *s, struct hd_modules *modules);
/* A turn is going to be watched. `sole`: no frame of an earlier one is in use. */
void hd_scripts_begin(struct hd_scripts *s, bool sole);

/* The stack in which the frames were found. */
struct hd_script_stack {
    int tid;         /* the thread id in the PID namespace of the process */
    uint32_t cut_at; /* frames are missing before this one, 0: none */
    const uint8_t *bytes;
    uint64_t address;
    uint32_t size;
};

/* The stack that was unwound to `count` frames. Script functions are put before the frame of the interpreter
 * that ran them, as far as there is room up to `max`. The new count. */
uint32_t hd_scripts_expand(struct hd_scripts *s, struct hd_frame *frames, uint32_t count, uint32_t max,
                           const struct hd_script_stack *stack);

/* Drops the functions whose records the thread has changed since the stack was copied: those of Python. The
 * place of a JavaScript function is in the copy, so that function stays. The new count. */
uint32_t hd_scripts_drop_changed(const struct hd_scripts *s, struct hd_frame *frames, uint32_t count);

/* The Python functions that a thread runs now, before one frame of the interpreter, without its stack: into
 * `frames`, at least two. Their number; 0: it runs none. */
uint32_t hd_scripts_running(struct hd_scripts *s, int tid, struct hd_frame *frames, uint32_t max);

/* Whether a futex at this address belongs to Python's global lock; `owner`: the thread that has the lock, by
 * its process's number, 0: not known. */
bool hd_scripts_is_gil(const struct hd_scripts *s, uint64_t futex, int *owner);
/* Whether this thread runs Python's garbage collector now. */
bool hd_scripts_collects(const struct hd_scripts *s, int tid);
/* Finds the thread's innermost call of a Python function with this name, and its first local variable that is
 * a _queue.SimpleQueue. Returns the queue's length, -1: not known. `queue`: its address, 0: not known. */
int32_t hd_scripts_queued(struct hd_scripts *s, int tid, const char *function, uint64_t *queue);
/* Whether a stack is in V8's garbage collector. */
bool hd_scripts_in_v8_collector(const struct hd_scripts *s, const struct hd_frame *frames, uint32_t count);

/* Of a frame with `script` != 0. */
static inline const char *hd_script_name(const struct hd_scripts *s, const struct hd_frame *f) {
    return s->string + s->script[f->script - 1].name;
}
static inline const char *hd_script_file(const struct hd_scripts *s, const struct hd_frame *f) {
    return s->string + s->script[f->script - 1].file;
}

static inline const char *hd_script_language_name(const struct hd_scripts *s, const struct hd_frame *f) {
    return s->script[f->script - 1].language == HD_SCRIPT_JAVASCRIPT ? "javascript" : "python";
}

/* ---- private to src/script ------------------------------------------------------------------ */

static inline bool hd_script_read(const struct hd_scripts *s, uint64_t address, void *out, size_t n) {
    return hd_memory_read(&s->modules->memory, address, out, n);
}

static inline uint64_t hd_script_u64(const uint8_t *bytes) {
    uint64_t v;
    __builtin_memcpy(&v, bytes, sizeof v);
    return v;
}

#endif
