/* SPDX-License-Identifier: MIT
 *
 * V8's heap as far as names of functions need it: node 18 to 24 without any option. Private to src/script.
 * The heap may change while it is read: each read can fail, and each object is checked by its map. Worker
 * only; no allocation, no lock.
 */
#ifndef HD_SCRIPT_V8_H
#define HD_SCRIPT_V8_H

#include "script/script.h"

/* A string's characters, wherever V8 keeps them. */
struct hd_v8_string {
    uint64_t address;
    uint32_t length; /* in characters */
    unsigned width;  /* of one, in bytes: 1 or 2 */
};

/* Adds the JavaScript functions of a stack to s->frame. Their frames of JIT code get a function's start, so
 * that samples of one function are one. */
void hd_v8_frames(struct hd_scripts *s, struct hd_frame *frames, uint32_t count,
                  const struct hd_script_stack *stack);

/* The functions of the garbage collector, in V8's module. */
void hd_v8_find_collector(struct hd_scripts *s, uint32_t module);

/* The word at `offset` of the heap object `object` (a tagged pointer). */
bool hd_v8_word(const struct hd_scripts *s, uint64_t object, int32_t offset, uint64_t *out);

/* The instance type of a heap object; -1: not a heap object. */
int32_t hd_v8_type(const struct hd_scripts *s, uint64_t object);

/* Follows cons, thin, sliced and external strings. False: `object` is not a string, or is a string in pieces.
 */
bool hd_v8_string(const struct hd_scripts *s, uint64_t object, struct hd_v8_string *out);

/* Where a function starts and ends in its script's source, from its ScopeInfo. False: it does not say. */
bool hd_v8_range(const struct hd_scripts *s, uint64_t scope, uint32_t *start, uint32_t *end);

/* The position in the source of an instruction of the bytecode, within [start, end]; 0: not known. */
uint32_t hd_v8_position(const struct hd_scripts *s, uint64_t bytecode, uint64_t offset, uint32_t start,
                        uint32_t end);

/* The line, from 1, of a position in a script's source; 0: not known. */
uint32_t hd_v8_line(const struct hd_scripts *s, uint64_t source, uint32_t position);

static inline bool hd_v8_is_object(uint64_t word) {
    return (word & 3) == 1;
}

/* Node's small integers fill the upper half of a word. */
static inline bool hd_v8_is_small(uint64_t word) {
    return (word & 0xffffffffu) == 0;
}

static inline int32_t hd_v8_small(uint64_t word) {
    return (int32_t)(word >> 32);
}

#endif
