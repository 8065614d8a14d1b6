/* SPDX-License-Identifier: MIT */
#include "cli/export/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_BYTES = 2
};

void protobuf_free(struct protobuf *p) {
    free(p->data);
    *p = (struct protobuf){0};
}

static void append(struct protobuf *p, const void *data, size_t bytes) {
    if (p->failed || bytes == 0) {
        return;
    }
    if (bytes > p->capacity - p->bytes) {
        size_t capacity = 2 * p->capacity > p->bytes + bytes ? 2 * p->capacity : p->bytes + bytes + 32;
        uint8_t *more = realloc(p->data, capacity);
        if (more == NULL) {
            p->failed = true;
            return;
        }
        p->data = more;
        p->capacity = capacity;
    }
    memcpy(p->data + p->bytes, data, bytes);
    p->bytes += bytes;
}

void protobuf_put_packed(struct protobuf *p, uint64_t value) {
    uint8_t text[10];
    size_t n = 0;
    do {
        text[n] = (uint8_t)(value & 0x7f);
        value >>= 7;
        text[n++] |= value != 0 ? 0x80 : 0;
    } while (value != 0);
    append(p, text, n);
}

void protobuf_put_uint(struct protobuf *p, unsigned member, uint64_t value) {
    if (value != 0) {
        protobuf_put_packed(p, (uint64_t)member << 3 | WIRE_VARINT);
        protobuf_put_packed(p, value);
    }
}

void protobuf_put_bytes(struct protobuf *p, unsigned member, const void *data, size_t bytes) {
    protobuf_put_packed(p, (uint64_t)member << 3 | WIRE_BYTES);
    protobuf_put_packed(p, bytes);
    append(p, data, bytes);
}

void protobuf_put_message(struct protobuf *p, unsigned member, struct protobuf *message) {
    p->failed |= message->failed;
    protobuf_put_bytes(p, member, message->data, message->bytes);
    protobuf_free(message);
}
