/* SPDX-License-Identifier: MIT
 *
 * Names of blocks. Ordinary code.
 */
#include "symbolizer/block_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *block_name(const char *name) {
    const char *at = name + strspn(name, "_");
    if (at - name < 2 || at - name > 3 || !isdigit((unsigned char)*at)) {
        return name;
    }
    char *method;
    unsigned long bytes = strtoul(at, &method, 10);
    if ((method[0] != '-' && method[0] != '+') || method[1] != '[' || bytes > strlen(method) ||
        strncmp(method + bytes, "_block_invoke", strlen("_block_invoke")) != 0) {
        return name;
    }
    return method;
}
