/* SPDX-License-Identifier: MIT
 *
 * Names of functions for a column. Pure.
 */
#ifndef HANGDOG_CLI_SHORT_NAME_H
#define HANGDOG_CLI_SHORT_NAME_H

/* Shortens the name to `width` characters, if possible. Omits first the parameters, then template arguments,
 * then outer namespaces, then all but the function: "f(...)", "vector<...>::at(...)", "...::f(...)", "f". The
 * caller frees it; NULL: no memory. */
char *short_name(const char *name, int width);

/* Columns on a terminal: characters, not bytes. */
int name_width(const char *text);

#endif
