/* SPDX-License-Identifier: MIT
 *
 * Commands that a person may copy. Ordinary code.
 */
#ifndef CLI_SHELL_QUOTE_H
#define CLI_SHELL_QUOTE_H

#include <stddef.h>

/* The path as a word for a shell. */
void quote_word(char *to, size_t size, const char *path);
/* " --spool PATH", the path as such a word. */
void quote_spool(char *to, size_t size, const char *path);
/* The word that starts this command again: the path by which it was started, where a shell would not find it
 * by its name. */
const char *shell_own_command(void);

#endif
