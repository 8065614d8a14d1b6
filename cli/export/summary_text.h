/* SPDX-License-Identifier: MIT
 *
 * A report in a line, and its stack as text, for formats that have no place for more. Ordinary code.
 */
#ifndef CLI_EXPORT_SUMMARY_TEXT_H
#define CLI_EXPORT_SUMMARY_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* "hang of 2.0 s in lookup (lock.c:13)". Caller frees; NULL: no memory. */
char *export_title(const json_t *report);
/* The hot stack, "at lookup (lock.c:13)" a line, innermost first. Caller frees; NULL: no memory. */
char *export_stack_text(const json_t *report);
/* "AppHang", "FatalAppHang", a crash's signal, or the kind. */
const char *export_type(const json_t *report);
/* The process ended in it. */
bool export_is_fatal(const json_t *report);

#endif
