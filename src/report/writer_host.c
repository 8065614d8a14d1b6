/* SPDX-License-Identifier: MIT
 *
 * Writes the host of a report, and the unit and container of the program. Worker code: may run while a hang
 * lasts; no allocation.
 */
#include "report/writer.h"

#if defined(__x86_64__)
#define ARCH "x86_64"
#elif defined(__aarch64__)
#define ARCH "aarch64"
#endif

static void write_origin(const struct hd_origin *o, struct hd_json *j) {
#define FIELD(name, text) hd_writer_field(j, name, text, sizeof(text))
    FIELD("name", o->host);
    FIELD("unit", o->unit);
    if (o->container_id[0] != '\0' || o->pod[0] != '\0') {
        hd_json_object(j, "container");
        FIELD("id", o->container_id);
        FIELD("name", o->container_name);
        FIELD("image", o->image);
        FIELD("pod", o->pod);
        hd_json_end_object(j);
    }
#undef FIELD
}

void hd_writer_host(const struct hd_host *h, struct hd_json *j) {
    hd_json_object(j, "host");
    hd_json_str(j, "os", h->os != NULL ? h->os : "linux");
    hd_json_str(j, "os_version", h->os_version);
    hd_json_str(j, "kernel", h->kernel);
    hd_json_str(j, "arch", ARCH);
    hd_json_str(j, "model", h->model);
    if (h->cpus > 0) {
        hd_json_i64(j, "cpus", h->cpus);
    }
    if (h->memory_bytes != 0) {
        hd_json_u64(j, "memory_bytes", h->memory_bytes);
    }
    if (h->origin != NULL) {
        write_origin(h->origin, j);
    }
    hd_json_end_object(j);
}
