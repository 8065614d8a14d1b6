/* SPDX-License-Identifier: MIT
 *
 * The environment of a program that gets Hangdog's library on macOS. Main thread.
 */
#ifndef CLI_INSERT_ENVIRONMENT_H
#define CLI_INSERT_ENVIRONMENT_H

#include "record/record.h"

/* Sets DYLD_INSERT_LIBRARIES to `library`, then the user's entries, and HANGDOG_RUN to the options. Call it
 * just before exec. 0; -EINVAL: the path of the library has a colon, or an option has a line break;
 * -ENAMETOOLONG; -ENOMEM. After an error the environment is as it was. */
int insert_environment_set(const struct hd_record_options *options, const char *library);

#endif
