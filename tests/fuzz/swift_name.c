/* SPDX-License-Identifier: MIT
 *
 * Names of Swift, by CPU time and memory faults. The input is what follows "$s".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_cost.h"
#include "symbolizer/swift_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char out[8193];
    char *name = calloc(1, bytes + 3);
    if (name == NULL) {
        return 0;
    }
    name[0] = '$';
    name[1] = 's';
    if (bytes != 0) {
        memcpy(name + 2, data, bytes);
    }
    fuzz_cost_start(data, bytes);
    size_t n = swift_name(name, out, sizeof out);
    fuzz_cost_end(0, "name");
    if (n != 0 && strlen(out) != n) {
        abort();
    }
    free(name);
    return 0;
}
