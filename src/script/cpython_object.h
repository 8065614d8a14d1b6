/* SPDX-License-Identifier: MIT
 *
 * CPython's objects, read by name, from 3.11 on. An address may be garbage: each answer is then "none".
 * Private to src/script. Worker only; no allocation, no lock.
 */
#ifndef HD_CPYTHON_OBJECT_H
#define HD_CPYTHON_OBJECT_H

#include "script/cpython.h"

#define PY_TYPE_NAME_BYTES 48u
/* So far before a coroutine's frame its state is, a byte: negative before its end, -1 in an await, 0: it
 * runs.
 */
#define HD_COROUTINE_STATE 5u

/* The name of the object's type, empty: none. */
void hd_object_type(const struct hd_scripts *s, uint64_t object, char out[PY_TYPE_NAME_BYTES]);
/* Whether the type, or one it is derived from, has this name. */
bool hd_object_is(const struct hd_scripts *s, uint64_t object, const char *type);

/* An attribute of an instance, and the value of a str in a dict; 0: none. */
uint64_t hd_object_attribute(const struct hd_scripts *s, uint64_t object, const char *name);
uint64_t hd_object_item(const struct hd_scripts *s, uint64_t dict, const char *name);
/* The value of the entry at `at` or behind it, which becomes the next entry; 0: no more. */
uint64_t hd_object_next_value(const struct hd_scripts *s, uint64_t dict, uint32_t *at);
/* A global of a module that was imported; 0: none. */
uint64_t hd_object_global(const struct hd_scripts *s, const char *module, const char *name);

/* A str as UTF-8, truncated at the buffer's end. False: it is not a str. */
bool hd_object_text(const struct hd_scripts *s, uint64_t object, char *out, size_t size);
/* An int from 0 to 2^60. False: it is not an int. */
bool hd_object_int(const struct hd_scripts *s, uint64_t object, uint64_t *out);

#endif
