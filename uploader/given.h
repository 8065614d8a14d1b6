/* SPDX-License-Identifier: MIT
 *
 * A value that the user gave by an option, else by a variable of the environment.
 */
#ifndef UPLOADER_GIVEN_H
#define UPLOADER_GIVEN_H

#include <stddef.h>
#include <stdlib.h>

/* NULL: neither. */
static inline const char *given(const char *option, const char *variable) {
    const char *value = option != NULL ? option : getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

#endif
