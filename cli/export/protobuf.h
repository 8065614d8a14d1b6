/* SPDX-License-Identifier: MIT
 *
 * A writer of protocol buffers' wire format. Ordinary code.
 */
#ifndef CLI_EXPORT_PROTOBUF_H
#define CLI_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
    uint8_t *data;
    size_t bytes, capacity;
    bool failed; /* no memory */
};

void protobuf_free(struct protobuf *p);

/* A member of that number. A zero is the default, and is left out. */
void protobuf_put_uint(struct protobuf *p, unsigned member, uint64_t value);
void protobuf_put_bytes(struct protobuf *p, unsigned member, const void *data, size_t bytes);
/* A member that is a message, which is freed. */
void protobuf_put_message(struct protobuf *p, unsigned member, struct protobuf *message);
/* An item of repeated numbers in packed form: without a member's number. */
void protobuf_put_packed(struct protobuf *p, uint64_t value);

#endif
