/* SPDX-License-Identifier: MIT
 *
 * Names of functions for a column. Pure.
 */
#ifndef HANGDOG_CLI_SHORT_NAME_H
#define HANGDOG_CLI_SHORT_NAME_H

/* The name, in at most `width` characters where that can be had by leaving out what stands between the
 * parentheses of its parameters, then between the angle brackets of its templates, then the outer namespaces:
 * "f(...)", "vector<...>::at(...)", "...::f(...)". The caller frees it; NULL: no memory. */
char *short_name(const char *name, int width);

/* Columns on a terminal: characters, not bytes. */
int name_width(const char *text);

#endif
