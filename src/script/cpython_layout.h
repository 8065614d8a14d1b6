/* SPDX-License-Identifier: MIT
 *
 * Where CPython 3.8 to 3.14 has its threads, frames and functions, on a 64-bit machine. Private to
 * src/script. Worker only; no allocation.
 */
#ifndef HD_CPYTHON_LAYOUT_H
#define HD_CPYTHON_LAYOUT_H

#include "image/modules.h"

/* The same in all of them. */
enum {
    PY_TYPE = 8,            /* of any object */
    PY_VAR_SIZE = 16,       /* of an object with a size; of code in code units */
    PY_TYPE_BASICSIZE = 32, /* PyTypeObject */
    PY_STR_LENGTH = 16,     /* in characters */
    PY_STR_STATE = 32,      /* one byte: 2 bits interned, 3 bytes per character, then compact, ASCII */
    PY_BYTES_DATA = 32,
    PY_UNIT_BYTES = 2,
    PY_STR_DATA_MAX = 48,  /* the largest `str_data` */
    PY_STR_WIDE_MAX = 24,  /* characters that are not ASCII start this much later, at most */
    PY_FRAME_BYTES = 112,  /* the fields of any frame are within these */
    PY_CODE_BYTES = 256,   /* and of code */
    PY_THREAD_BYTES = 256, /* and of a thread state */
    PY_GIL_HOLDER = 8,     /* _gil_runtime_state: the last one that had it */
    PY_GIL_LOCKED = 16,    /* an int */
    PY_GIL_WAITS = 32,     /* its conditions and mutexes, to PY_GIL_BYTES */
    PY_GIL_BYTES = 208,
};

/* _PyCFrame: a record in the C frame of each call of the interpreter, 3.11 and 3.12. */
enum {
    PY_CFRAME_CURRENT_311 = 8,
    PY_CFRAME_PREVIOUS_311 = 16,
    PY_CFRAME_BYTES = 24
};

/* A call of the interpreter runs one PyFrameObject up to 3.10, later a list of _PyInterpreterFrame. In 3.11
 * the last frame has `is_entry` set. From 3.12 on the last one has no function, and lies in the C frame. */
enum hd_cpython_frames {
    PY_FRAME_OBJECTS,
    PY_ENTRY_FLAG,
    PY_ENTRY_FRAME
};

enum hd_cpython_lines {
    PY_LNOTAB,
    PY_LINE_RANGES,
    PY_LOCATIONS
};

/* Offsets. The first members are in the order in which cpython_layout.c finds them in _Py_DebugOffsets. */
struct hd_cpython_layout {
    uint16_t interpreters;                                       /* _PyRuntime */
    uint16_t next_interpreter, threads;                          /* PyInterpreterState */
    uint16_t next_thread, thread_frame, thread_self, thread_tid; /* PyThreadState; 3.8 to 3.10 know no tid */
    uint16_t frame_code, frame_back, frame_at, frame_owner;
    uint16_t code_first_line, code_file, code_name, code_lines,
        code_units;             /* units 0: in an object of their own */
    uint16_t gil;               /* of _PyRuntime up to 3.11, then a pointer in PyInterpreterState */
    uint16_t gc, gc_collecting; /* PyInterpreterState, in 3.8 _PyRuntime; and its flag */
    uint16_t str_data;          /* of an ASCII string */
    uint8_t frames, lines;      /* enums of above */
    bool gc_of_runtime;         /* 3.8 */
    bool cframe;                /* thread_frame leads to a _PyCFrame */
    uint8_t cframe_current;
    struct hd_cpython_objects {
        uint16_t modules;         /* PyInterpreterState: sys.modules. 0: the rest is not known, up to 3.10 */
        uint16_t type_keys;       /* PyHeapTypeObject: names of the instances' attributes */
        uint16_t coroutine_frame; /* in a coroutine or generator */
        uint16_t frame_locals;
        uint16_t task_coroutine; /* the word before is what the task waits for, the next one its name */
        /* 3.14 on: the thread's task and its list of tasks, the interpreter's list, and a task's list node.
         */
        uint16_t thread_task, thread_tasks, all_tasks, task_node;
        uint8_t minor; /* of the version */
    } objects;
};

/* False: `module` is no CPython of a known version. */
bool hd_cpython_layout_read(struct hd_modules *modules, uint32_t module, struct hd_cpython_layout *out);

#endif
