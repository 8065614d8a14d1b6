/* SPDX-License-Identifier: MIT */
#include "cli/reporter/pending_text.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "os/os.h"

/* Editors, pagers and the like take the terminal's keys one by one. */
static bool is_drawn_on(void) {
    struct termios mode;
    return tcgetattr(STDERR_FILENO, &mode) == 0 && (mode.c_lflag & ICANON) == 0;
}

void pending_text_print(struct printer *r) {
    if (r->pending != NULL) {
        output_write(r->pending, r->pending_bytes);
    }
    free(r->pending);
    r->pending = NULL;
    r->pending_bytes = 0;
}

void pending_text_add(struct printer *r, const char *text, size_t bytes) {
    char *more = bytes > 0 ? realloc(r->pending, r->pending_bytes + bytes) : NULL;
    if (more != NULL) {
        memcpy(more + r->pending_bytes, text, bytes);
        r->pending = more;
        r->pending_bytes += bytes;
    } else if (bytes > 0) {
        output_write(text, bytes);
    }
    (void)pending_text_flush(r, 0);
}

uint64_t pending_text_flush(struct printer *r, uint64_t now_ns) {
    if (r->pending == NULL) {
        return UINT64_MAX;
    }
    if (is_drawn_on()) {
        return now_ns + HD_NS_PER_S;
    }
    pending_text_print(r);
    return UINT64_MAX;
}
