/* SPDX-License-Identifier: MIT
 *
 * The table of script functions that were met, and their strings. Private to src/script. Worker only.
 */
#ifndef HD_SCRIPT_FUNCTIONS_H
#define HD_SCRIPT_FUNCTIONS_H

#include "script/script.h"

#define HD_SCRIPT_NAME_CHARACTERS 120u
#define HD_SCRIPT_FILE_CHARACTERS 240u

/* False: the table takes no further function with a name and a file of these lengths. */
bool hd_functions_room(const struct hd_scripts *s);

/* Stores `n` characters of `width` bytes each as UTF-8; `file`: an equal file's string is used again. Where
 * the string is. Call only while there is room. */
uint32_t hd_functions_keep(struct hd_scripts *s, const uint8_t *data, uint32_t n, unsigned width, bool file);

/* The same into a buffer, truncated behind a whole character. */
void hd_functions_utf8(const uint8_t *data, uint32_t n, unsigned width, char *out, size_t size);

/* Adds a function while there is room: its index plus one. */
uint16_t hd_functions_add(struct hd_scripts *s, const struct hd_script *function);

#endif
