/* SPDX-License-Identifier: MIT
 *
 * Where things are in CPython 3.11 on a 64-bit machine: its headers cpython/code.h, cpython/pystate.h,
 * cpython/unicodeobject.h and internal/pycore_frame.h. They are the same in every 3.11.x: extension modules
 * are compiled against the first three, and debuggers against the last.
 */
#ifndef HD_CPYTHON_OFFSETS_H
#define HD_CPYTHON_OFFSETS_H

#define HD_CPYTHON_VERSION 0x030bu /* of Py_Version, the upper half */

enum {
    PY_TYPE = 8,      /* of any object */
    PY_VAR_SIZE = 16, /* of an object with a size */

    /* _PyCFrame, in the C stack frame of _PyEval_EvalFrameDefault */
    PY_CFRAME_TRACING = 0, /* one byte, 0 or 255 */
    PY_CFRAME_CURRENT = 8, /* _PyInterpreterFrame */
    PY_CFRAME_PREVIOUS = 16,
    PY_CFRAME_BYTES = 24,

    /* _PyInterpreterFrame */
    PY_FRAME_CODE = 32,
    PY_FRAME_PREVIOUS = 48,
    PY_FRAME_INSTR = 56, /* before the next instruction */
    PY_FRAME_ENTRY = 68, /* one byte: the outermost one of its C frame */
    PY_FRAME_OWNER = 69, /* one byte: enum _frameowner */
    PY_FRAME_BYTES = 72,
    PY_FRAME_OWNERS = 3,

    /* PyCodeObject; its size is in code units */
    PY_CODE_FIRST_LINE = 72,
    PY_CODE_FILE = 112,
    PY_CODE_NAME = 128, /* co_qualname */
    PY_CODE_LINES = 136,
    PY_CODE_UNITS = 184,
    PY_CODE_BYTES = 184,
    PY_UNIT_BYTES = 2,

    /* str: the compact forms */
    PY_STR_LENGTH = 16, /* in characters */
    PY_STR_STATE = 32,  /* one byte: 2 bits interned, 3 bytes per character, then compact, ASCII, ready */
    PY_STR_ASCII_DATA = 48,
    PY_STR_DATA = 72,

    /* bytes */
    PY_BYTES_DATA = 32,
};

#endif
