/* SPDX-License-Identifier: MIT
 *
 * The buffer for a stack that the monitor copies. On the monitor thread: no allocation, no lock.
 */
#include "capture/darwin/signal_request.h"

#include <errno.h>

#include "os/os.h"

static uint8_t *spare;

int hd_capture_buffers(void) {
    spare = spare != NULL ? spare : hd_os_memory_take(HD_STACK_BYTES_MAX);
    return spare != NULL ? 0 : -ENOMEM;
}

uint8_t *hd_signal_request_spare(void) {
    return spare;
}
