/* SPDX-License-Identifier: MIT
 *
 * On Apple's systems all modules are Mach-O images.
 */
#include "unwind/unwinder.h"

size_t hd_unwinder_bytes(void) {
    return hd_unwinder_bytes_macho();
}

void hd_unwinder_init(struct hd_unwinder *u, struct hd_modules *modules) {
    hd_unwinder_init_macho(u, modules);
}
