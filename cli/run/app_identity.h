/* SPDX-License-Identifier: MIT
 * The name and the version of a program that hangdog runs: from the user's options, else found from the
 * program's files. Main thread; may read files.
 */
#ifndef CLI_APP_IDENTITY_H
#define CLI_APP_IDENTITY_H

#include <limits.h>
#include <stdbool.h>

#include "record/record.h"

struct app_identity {
    char name[HD_RECORD_STRING];                         /* never empty, without a slash */
    char version[HD_APP_TEXT], environment[HD_APP_TEXT]; /* empty: not known */
    bool named; /* by the user, or by the package that npm starts: children then have the same name */
};

/* True: the name can also be the name of a folder. */
bool app_name_is_valid(const char *text);

/* `name`, `version`, `environment`: options of the user, or NULL. Then come HANGDOG_APP, HANGDOG_VERSION and
 * HANGDOG_ENVIRONMENT. Else the name is that of the script, of the script's package.json, or of the program.
 * The version is that of package.json, of the git repository around the program or script, or of the Debian
 * package that has it. `words`: the program and its arguments. */
void app_identity_find(const char *name, const char *version, const char *environment, char *const *words,
                       struct app_identity *out);

#endif
