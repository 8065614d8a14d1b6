/* SPDX-License-Identifier: MIT
 *
 * Thread-local variables: each descriptor has a thunk, a key and an offset.
 */
#include <err.h>
#include <string.h>
#include <sys/mman.h>

#include "images.h"
#include "thread.h"

void *tls_address(uint64_t *descriptor) {
    int key = (int)descriptor[1];
    struct thread *t = thread_self;
    if (!t || key <= 0 || key >= THREAD_TLS) {
        errx(2, "a thread-local variable without a thread, or too many images with some");
    }
    if (!t->tls[key]) {
        const struct image *image = images_of_tls_key(key);
        uint8_t *block = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!image || block == MAP_FAILED || image->tls_hi - image->tls_lo > 65536) {
            errx(2, "no memory for thread-local variables");
        }
        memcpy(block, (void *)image->tls_lo, image->tls_template_bytes);
        t->tls[key] = block;
    }
    return t->tls[key] + descriptor[2];
}
