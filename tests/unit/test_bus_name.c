/* SPDX-License-Identifier: MIT
 *
 * The D-Bus service of a message that a stack points to. The messages here are made up, also broken ones;
 * those of the real libraries are in tests/real/test_parties.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cause/linux/bus_name.h"
#include "chance.h"

static int mem_fd;

static int read_self(void *ctx, uint64_t at, void *to, size_t n) {
    (void)ctx;
    return pread(mem_fd, to, n, (off_t)at) == (ssize_t)n ? 0 : -EFAULT;
}

static const struct hd_memory memory = {.read = read_self};
static uint64_t stack[8];
static struct hd_bus_message found;

static const char *service_in(enum hd_bus_library library, const void *first, const void *second) {
    const struct hd_capture c = {.stack = (const uint8_t *)stack,
                                 .stack_addr = 4096,
                                 .stack_bytes = sizeof stack,
                                 .regs.sp = 4096 + 8};
    stack[0] = 1;
    stack[2] = (uint64_t)(uintptr_t)first;
    stack[5] = (uint64_t)(uintptr_t)second;
    return hd_bus_name_find(&memory, &c, c.stack_bytes, library, &found) ? found.service : "";
}

/* ---- libdbus ---------------------------------------------------------------------------------------- */

struct libdbus {
    uint32_t references, unused;
    uint8_t *header;
    uint32_t bytes, capacity;
    uint8_t text[256] __attribute__((aligned(8)));
};

static void add_field(struct libdbus *m, uint8_t code, char type, const char *value) {
    m->bytes = (m->bytes + 7) & ~7u;
    uint8_t *to = m->text + m->bytes;
    uint32_t n = (uint32_t)strlen(value);
    memcpy(to, (uint8_t[]){code, 1, (uint8_t)type, 0}, 4);
    memcpy(to + 4, &n, 4);
    memcpy(to + 8, value, n + 1);
    m->bytes += 8 + n + 1;
}

static void make(struct libdbus *m, const char *service) {
    memset(m, 0, sizeof *m);
    *m = (struct libdbus){.references = 1, .header = m->text, .bytes = 16, .capacity = 256};
    memcpy(m->text, "l\1\0\1", 4);
    add_field(m, 1, 'o', "/org/example/Portal");
    add_field(m, 2, 's', "org.example.Portal");
    add_field(m, 3, 's', "Slow");
    add_field(m, 6, 's', service);
    uint32_t fields = m->bytes - 16;
    memcpy(m->text + 12, &fields, 4);
    m->bytes = (m->bytes + 7) & ~7u;
}

static void finds_the_destination_and_the_interface(void **state) {
    static struct libdbus m, other, same;
    (void)state;
    make(&m, "org.example.Files");
    make(&same, "org.example.Files");
    make(&other, "org.example.Other");
    assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, NULL), "org.example.Files");
    assert_string_equal(found.interface, "org.example.Portal");
    assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, &same), "org.example.Files");
    assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, &other), "");
    assert_string_equal(service_in(HD_BUS_LIBDBUS, &other, &m), "");
    other.references = 0; /* it was freed */
    assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, &other), "org.example.Files");
    assert_string_equal(service_in(HD_BUS_LIBDBUS, (void *)8, (void *)(UINTPTR_MAX - 7)), "");
    assert_string_equal(service_in(HD_BUS_SYSTEMD, &m, NULL), "");
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "");
    assert_string_equal(service_in(HD_BUS_QT, &m, NULL), "");
}

static void refuses_names_that_the_bus_refuses(void **state) {
    static const char *const good[] = {"a.b", ":1.0", ":1.42", "org.example.a-b", "_a._b"};
    static const char *const bad[] = {"",  "a",  ".a.b",  "a..b",  "a.b.",  "a.1b",
                                      ":", ":1", "a b.c", "a.b\n", "a/b.c", "a.\xc3\xa9"};
    static struct libdbus m;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        make(&m, good[i]);
        assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, NULL), good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        make(&m, bad[i]);
        assert_string_equal(service_in(HD_BUS_LIBDBUS, &m, NULL), "");
    }
}

/* A message of whatever bytes: no read behind its end, and no name with other characters. */
static void a_broken_message_does_no_harm(void **state) {
    static struct libdbus m;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        make(&m, "org.example.Files");
        for (int n = any(4); n >= 0; n--) {
            m.text[any(128)] = (uint8_t)any(256);
        }
        m.bytes = i % 2 == 0 ? any(300) : m.bytes;
        const char *name = service_in(HD_BUS_LIBDBUS, &m, NULL);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"),
                         strlen(name));
    }
}

/* ---- the others --------------------------------------------------------------------------------------- */

static void reads_a_message_of_systemd(void **state) {
    struct {
        uint32_t references, queued;
        const void *bus;
        uint64_t cookie;
        const char *path, *interface, *member, *destination;
    } m = {1, 0, &memory, 7, "/a/b", "org.example.I", "Slow", "org.example.Files"};
    (void)state;
    assert_string_equal(service_in(HD_BUS_SYSTEMD, &m, NULL), "org.example.Files");
    assert_string_equal(found.interface, "org.example.I");
    m.interface = NULL;
    assert_string_equal(service_in(HD_BUS_SYSTEMD, &m, NULL), "org.example.Files");
    m.path = "a/b";
    assert_string_equal(service_in(HD_BUS_SYSTEMD, &m, NULL), "");
    m.path = "/a/b";
    m.destination = NULL;
    assert_string_equal(service_in(HD_BUS_SYSTEMD, &m, NULL), "");
}

static void reads_a_message_of_glib(void **state) {
    struct variant {
        uint64_t type, size;
        const char *bytes, *data;
    } path = {1, 5, NULL, "/a/b"}, service = {1, 18, NULL, "org.example.Files"};
    uint32_t keys[8] = {9, 1, 6}, hashes[8] = {0, 2, 6};
    const void *values[8] = {NULL, &path, &service};
    struct {
        uint64_t size;
        uint32_t modulus, mask, nodes, occupied, big, unused;
        const void *keys, *hashes, *values;
    } table = {8, 7, 7, 2, 2, 2, 0, keys, hashes, values};
    struct {
        const void *class;
        uint32_t references, unused;
        const void *data;
        uint32_t type, flags, locked, order, version, serial;
        const void *headers;
    } m = {&memory, 1, 0, NULL, 1, 0, 1, 'l', 0, 4, &table};
    (void)state;
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "org.example.Files");
    service.size = 17;
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "");
    service.size = 18;
    hashes[2] = 1; /* the entry was removed */
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "");
    hashes[2] = 6;
    m.type = 2; /* an answer */
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "");
    m.type = 1;
    table.size = UINT64_MAX;
    assert_string_equal(service_in(HD_BUS_GLIB, &m, NULL), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_destination_and_the_interface),
        cmocka_unit_test(refuses_names_that_the_bus_refuses),
        cmocka_unit_test(a_broken_message_does_no_harm),
        cmocka_unit_test(reads_a_message_of_systemd),
        cmocka_unit_test(reads_a_message_of_glib),
    };
    mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
