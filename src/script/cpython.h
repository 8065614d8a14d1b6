/* SPDX-License-Identifier: MIT
 *
 * CPython's frames, functions and lines. Private to src/script. Worker only; no allocation, no lock.
 */
#ifndef HD_SCRIPT_CPYTHON_H
#define HD_SCRIPT_CPYTHON_H

#include "script/script.h"

/* Adds the functions that CPython was running to s->frame. */
void hd_cpython_frames(struct hd_scripts *s, const struct hd_frame *frames, uint32_t count,
                       const struct hd_script_stack *stack);

/* The first PY_THREAD_BYTES of the interpreter's record of a thread. False: it has none. */
bool hd_cpython_thread(struct hd_scripts *s, int tid, uint8_t *bytes);

/* The number of the thread that this record is of; 0: not known. */
int hd_cpython_tid(const struct hd_scripts *s, uint64_t thread);
/* The word at an address that is one of the interpreter's; 0: none. */
uint64_t hd_cpython_word(const struct hd_scripts *s, uint64_t address);

/* The interpreter that has the main thread; 0: none. */
uint64_t hd_cpython_main_interpreter(const struct hd_scripts *s);
/* Calls `visit` with the address of each Python frame of the thread, from the innermost on, until it answers
 * true. Whether it did. */
bool hd_cpython_visit_frames(struct hd_scripts *s, int tid,
                             bool (*visit)(struct hd_scripts *, uint64_t frame, void *arg), void *arg);

/* At most `*count` characters of a str, the first or the last, and their width in bytes. False: it is not a
 * str.
 */
bool hd_cpython_str(const struct hd_scripts *s, uint64_t object, uint32_t *count, bool end, uint8_t *data,
                    unsigned *width);

/* The function of a code object, and the line of code unit `unit`; -1: a frame that was just made. `script`
 * 0: no free entry for the function. False: garbage. */
bool hd_cpython_place(struct hd_scripts *s, uint64_t code, int64_t unit, struct hd_script_place *out);

/* The line of a code unit, by the table of bytes `table` in the code's format; 0: no line. */
uint32_t hd_cpython_line(const struct hd_scripts *s, uint64_t table, uint32_t first_line, uint64_t unit);

#endif
