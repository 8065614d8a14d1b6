/* SPDX-License-Identifier: MIT
 *
 * The rows of hangdog list for the reports that a part of an id fits.
 */
#ifndef CLI_CMD_LIST_H
#define CLI_CMD_LIST_H

/* `id`: a beginning or an end of ids. `spool`: NULL for those of every app. */
void cmd_list_matches(const char *spool, const char *id);

#endif
