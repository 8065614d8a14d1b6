/* SPDX-License-Identifier: MIT
 *
 * Names of Swift's functions as a person reads them: "View.layout(of:in:)", "closure #1 in run()".
 */
#ifndef SYMBOLIZER_SWIFT_NAME_H
#define SYMBOLIZER_SWIFT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The name is mangled by Swift 4.2 or later: $s, $S, $e, with or without an underscore before. */
bool swift_is_mangled(const char *name);

/* Returns the bytes in out, with a final 0 behind them. 0: no function of Swift that this reader knows, or no
 * room. The time is bounded by the length of the name and by the room. */
size_t swift_name(const char *name, char *out, size_t room);

#endif
