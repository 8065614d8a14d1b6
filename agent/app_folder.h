/* SPDX-License-Identifier: MIT
 *
 * The agent's spool: SPOOL/UID/APP. The folder of a user is the agent's; an access list lets that user read
 * it, and no other. A report belongs to the program's user, as that of `hangdog run` does: names for it are
 * looked up with that user's rights. Ordinary code.
 */
#ifndef AGENT_APP_FOLDER_H
#define AGENT_APP_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/base/error.h"

/* Makes the spool itself: others may pass through it, and not list it. False, and why. */
bool app_folder_make_spool(const char *spool, struct problem *why);

/* Makes the folder of an app, and stores its path. The program chooses the app's
 * name, so the function replaces characters that a folder's name must not have. A user has at most 64
 * folders; later apps share the folder "other". Returns 0 or a negative errno value. -ENOTSUP: the folder is
 * made, and the file system has no access lists, so only root reads it. */
int app_folder_make(const char *spool, uid_t user, const char *app, char *path, size_t size);

/* No watched program uses the folder any more. Removes it if it is empty, since a user has few places. */
void app_folder_leave(const char *path);

/* Gives the reports that the agent wrote there to the program's user. `lasts`: a hang there is not over, so
 * the user may only read them. 0 or a negative errno value. */
int app_folder_give(const char *path, uid_t user, bool lasts);

/* ---- private ---------------------------------------------------------------------------------- */

#define APP_FOLDER_NAME_BYTES 104
void app_folder_name(const char *app, char name[APP_FOLDER_NAME_BYTES]);

#endif
