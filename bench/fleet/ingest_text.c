/* SPDX-License-Identifier: MIT */
#include "fleet/ingest_load.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define FUNCTIONS 40
#define FRAMES 8
#define THREADS 3
#define SESSION_REPORTS 10
#define LEVEL 3

struct text {
    char *to;
    size_t used;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    t->used += (size_t)vsnprintf(t->to + t->used, INGEST_TEXT_MAX - t->used, format, args);
    va_end(args);
}

static void add_frames(struct text *t, unsigned kind, unsigned thread) {
    add(t, "{\"frames\":[");
    for (unsigned i = 0; i < FRAMES; i++) {
        add(t,
            "%s{\"pc\":\"0x55cf%04x%04x\",\"module\":%u,\"offset\":\"0x%04x\",\"start\":\"0x%04x\",\"function\":"
            "\"step_%02u_%02u_of_work\",\"file\":\"/src/shop/step_%02u.c\",\"line\":%u,\"trust\":\"cfi\"}",
            i > 0 ? "," : "", kind * 256 + i, thread * 512 + i, i % 3, 0x1000 + i, 0x1000 + i,
            thread > 0 ? 99 : kind, i, i, 10 + i);
    }
    add(t, "],\"stop\":\"root\",\"capture\":\"frozen\"}");
}

size_t ingest_text(uint64_t number, char text[INGEST_TEXT_MAX]) {
    struct text t = {.to = text};
    unsigned kind = (unsigned)(number % FUNCTIONS);
    uint64_t scattered = number * UINT64_C(0x9e3779b97f4a7c15); /* ids come in no order */
    add(&t,
        "{\"format\":\"hangdog-report/1\",\"id\":\"%08x-%04x-7%03x-8%03x-%012" PRIx64 "\",\"kind\":\"hang\","
        "\"complete\":true,\"started_at\":\"2026-01-%02uT%02u:00:00.000000000Z\",\"duration_ns\":1%09u,"
        "\"fingerprint\":\"%016x\",\"app\":{\"name\":\"shop\",\"version\":\"1.%u\",\"pid\":71,\"session\":"
        "\"00000000-0000-7000-8000-%012" PRIx64
        "\"},\"host\":{\"os\":\"linux\",\"os_version\":\"1%u\",\"arch\":"
        "\"x86_64\",\"cpus\":8},\"process\":{\"cpu_percent\":12.3,\"rss_bytes\":123456789,\"thread_count\":6},"
        "\"loop\":{\"name\":\"main\",\"tid\":71,\"activity\":\"after-waiting\"},\"cause\":{\"kind\":\"cpu\","
        "\"share\":1.0},\"hot_stack\":",
        (unsigned)(scattered >> 32), (unsigned)(scattered >> 16) & 0xffff, (unsigned)scattered & 0xfff,
        (unsigned)(scattered >> 52), number & UINT64_C(0xffffffffffff), 1 + (unsigned)(number / 7 % 28),
        (unsigned)(number / 3 % 24), (unsigned)(scattered >> 36), kind, (unsigned)(number / 11 % 9),
        number / SESSION_REPORTS, (unsigned)(number / 5 % 3));
    add_frames(&t, kind, 0);
    add(&t, ",\"threads\":[");
    for (unsigned i = 1; i <= THREADS; i++) {
        add(&t, "%s{\"tid\":%u,\"name\":\"worker-%u\",\"state\":\"blocked\",\"syscall\":\"futex\",\"stack\":",
            i > 1 ? "," : "", 71 + i, i);
        add_frames(&t, kind, i);
        add(&t, "}");
    }
    add(&t,
        "],\"modules\":[{\"path\":\"/opt/shop/shop\",\"base\":\"0x1000\",\"size\":4096,\"build_id\":\"aa\"},"
        "{\"path\":\"/opt/shop/libshop.so\",\"base\":\"0x9000\",\"size\":4096},"
        "{\"path\":\"/usr/lib/x86_64-linux-gnu/libc.so.6\",\"base\":\"0x19000\",\"size\":4096}]}");
    return t.used;
}

static char *batch_of(uint64_t first, size_t reports, size_t *bytes) {
    char *lines = malloc(reports * INGEST_TEXT_MAX);
    size_t used = 0;
    for (size_t i = 0; lines != NULL && i < reports; i++) {
        used += ingest_text(first + i, lines + used);
        lines[used++] = '\n';
    }
    char *packed = malloc(ZSTD_compressBound(used));
    *bytes = lines != NULL && packed != NULL
                 ? ZSTD_compress(packed, ZSTD_compressBound(used), lines, used, LEVEL)
                 : 0;
    free(lines);
    return packed;
}

struct ingest_request ingest_request_make(const char *key, uint64_t first, size_t reports) {
    struct ingest_request r = {.reports = reports};
    size_t bytes = 0;
    char *body = reports > 1 ? batch_of(first, reports, &bytes) : malloc(INGEST_TEXT_MAX);
    if (body != NULL && reports == 1) {
        bytes = ingest_text(first, body);
    }
    r.bytes = malloc(bytes + 512);
    if (body != NULL && r.bytes != NULL) {
        r.size = (size_t)snprintf(
            r.bytes, 512,
            "POST /api/v1/reports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s"
            "Content-Length: %zu\r\n\r\n",
            key,
            reports > 1 ? "Content-Type: application/x-ndjson\r\nContent-Encoding: zstd\r\n"
                        : "Content-Type: application/json\r\n",
            bytes);
        memcpy(r.bytes + r.size, body, bytes);
        r.size += bytes;
    }
    free(body);
    return r;
}
