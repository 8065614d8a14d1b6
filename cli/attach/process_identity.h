/* SPDX-License-Identifier: MIT
 *
 * How the reports of a process that already runs name its app. Ordinary code; may read files.
 */
#ifndef CLI_ATTACH_PROCESS_IDENTITY_H
#define CLI_ATTACH_PROCESS_IDENTITY_H

#include <sys/types.h>

#include "cli/run/app_identity.h"
#include "cli/run/run_options.h"

/* The app as hangdog run would name it: "server.py" of python3 server.py. Files of a program that is another
 * user's, or of another file system, are not read: such an app has no version. `name`: for a person. */
void process_identity_find(pid_t pid, uid_t uid, const char *name, const struct run_options *o,
                           struct app_identity *out);

#endif
