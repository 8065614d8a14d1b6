/* SPDX-License-Identifier: MIT
 *
 * A message of several lines on stderr: text, and commands to paste. On a terminal the text wraps at words
 * and each command has its own line. Elsewhere all is one line, which suits journals.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stddef.h>

struct message_part {
    const char *text;
    const char *command; /* follows the text; NULL: none */
};

/* Colours of the first line. */
#define MESSAGE_PLAIN ""
#define MESSAGE_BOLD "\033[1m"
#define MESSAGE_DIM "\033[2m"
#define MESSAGE_WARNING "\033[33m"
#define MESSAGE_ALARM "\033[1;31m"

/* "hangdog: " and the parts. Control characters are replaced. */
void message_print(const char *colour, const struct message_part *parts, size_t count);

/* The same as text, which the caller frees. NULL: no memory. */
char *message_text(const char *colour, const struct message_part *parts, size_t count, size_t *bytes);

#endif
