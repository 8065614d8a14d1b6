/* SPDX-License-Identifier: MIT
 *
 * Writes JSON text member by member, through a fixed buffer into a sink, and puts the commas. Each string
 * becomes valid UTF-8. After the sink's first error it writes no more. No allocation.
 */
#ifndef HD_JSON_H
#define HD_JSON_H

#include "base/text.h"
#include "base/types.h"
#include "report/report.h"

struct hd_json {
    char *buf;
    size_t size, used;
    struct hd_sink sink;
    int error;  /* the sink's first error */
    bool comma; /* the next value follows another one */
};

void hd_json_init(struct hd_json *j, char *buf, size_t size, struct hd_sink sink);
/* Writes a newline and the rest of the buffer. Returns the first error. */
int hd_json_finish(struct hd_json *j);

/* `name` NULL: an element of an array, or the document. Names are ours: plain ASCII, not escaped. */
void hd_json_object(struct hd_json *j, const char *name);
void hd_json_end_object(struct hd_json *j);
void hd_json_array(struct hd_json *j, const char *name);
void hd_json_end_array(struct hd_json *j);
void hd_json_str(struct hd_json *j, const char *name, const char *s); /* s NULL: the member is left out */
void hd_json_mem(struct hd_json *j, const char *name, const char *s, size_t n);
void hd_json_u64(struct hd_json *j, const char *name, uint64_t v);
void hd_json_i64(struct hd_json *j, const char *name, int64_t v);
void hd_json_bool(struct hd_json *j, const char *name, bool v);
void hd_json_fixed(struct hd_json *j, const char *name, double v, unsigned decimals);
void hd_json_hex(struct hd_json *j, const char *name, uint64_t v);
void hd_json_hex_bytes(struct hd_json *j, const char *name, const uint8_t *bytes, size_t n);
void hd_json_time(struct hd_json *j, const char *name, uint64_t wall_ns);
void hd_json_uuid(struct hd_json *j, const char *name, const uint8_t id[HD_UUID_BYTES]);

#endif
