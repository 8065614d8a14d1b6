/* SPDX-License-Identifier: MIT
 *
 * The list of threads of Apple's systems, and the ports that it keeps: each right is released once, threads
 * end meanwhile, a list is longer than its space.
 *
 * sources: src/os/darwin/thread_list.c
 * sources: src/os/darwin/thread_ports.c
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "os/darwin/mach.h"
#include "os/darwin/thread_ports.h"
#include "os/thread_list.h"

#define ID(n) (UINT64_C(0x100000000) + (n)) /* ids need 64 bits */
#define PORTS 2048u

static uint32_t threads;  /* of the process */
static uint32_t ended;    /* this one's port is dead; 0: none */
static int rights[PORTS]; /* per port */
static int refused;

static int list_threads(hd_port *list, uint32_t max) {
    if (refused != 0) {
        return refused;
    }
    for (uint32_t i = 0; i < threads && i < max; i++) {
        list[i] = i + 1;
        rights[i + 1]++;
    }
    return (int)threads;
}

static int read_thread(hd_port port, struct hd_mach_thread *out) {
    assert_true(rights[port] > 0);
    memset(out, 0, sizeof *out);
    out->id = ID(port);
    (void)snprintf(out->name, sizeof out->name, "a thread with a long name %u", port);
    return port == ended ? -ESRCH : 0;
}

static void release(hd_port port) {
    rights[port]--;
    assert_true(rights[port] >= 0);
}

struct hd_mach_calls hd_mach = {
    .threads = list_threads, .thread = read_thread, .thread_times = read_thread, .release = release};

static uint32_t walk(void) {
    struct hd_thread_list list;
    uint32_t n = 0;
    uint64_t newer = UINT64_MAX;
    hd_thread_list_start(&list, -1);
    for (hd_thread_id id; !hd_thread_id_is_none(id = hd_thread_list_next(&list)); n++) {
        assert_true(id.number > ID(0) && id.number < newer); /* the newest comes first */
        newer = id.number;
    }
    assert_true(hd_thread_id_is_none(hd_thread_list_next(&list)));
    return n;
}

static int all_rights(void) {
    int n = 0;
    for (uint32_t i = 0; i < PORTS; i++) {
        n += rights[i];
    }
    return n;
}

static int set_up(void **state) {
    (void)state;
    threads = 5;
    ended = 0;
    refused = 0;
    return 0;
}

static void each_thread_is_listed_with_its_port(void **state) {
    char name[16];
    (void)state;
    assert_int_equal(walk(), 5);
    assert_int_equal(hd_thread_port(hd_thread_id_of(ID(3))), 3);
    assert_int_equal(hd_thread_port(hd_thread_id_of(ID(6))), 0);
    assert_int_equal(hd_thread_port(hd_thread_id_of(3)), 0); /* only the low bits are equal */
    assert_int_equal(hd_thread_port(HD_THREAD_ID_NONE), 0);
    hd_thread_name(-1, hd_thread_id_of(ID(3)), name, sizeof name);
    assert_string_equal(name, "a thread with a");
    hd_thread_name(-1, hd_thread_id_of(ID(77)), name, sizeof name);
    assert_string_equal(name, "");
    assert_int_equal(all_rights(), 5);
}

static void lists_leave_no_rights(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        threads = i % 7;
        ended = i % 3;
        uint32_t dead = ended != 0 && ended <= threads;
        assert_int_equal(walk(), threads - dead);
        assert_int_equal(all_rights(), (int)(threads - dead));
    }
    threads = 0;
    assert_int_equal(walk(), 0);
    assert_int_equal(all_rights(), 0);
}

static void a_refusal_gives_an_empty_list(void **state) {
    (void)state;
    refused = -ENOMEM;
    assert_int_equal(walk(), 0);
    assert_int_equal(all_rights(), 0);
}

static void a_list_ends_at_its_space(void **state) {
    (void)state;
    threads = HD_MACH_THREADS_MAX + 100;
    assert_int_equal(walk(), HD_MACH_THREADS_MAX);
    assert_int_equal(all_rights(), HD_MACH_THREADS_MAX);
    assert_int_equal(walk(), HD_MACH_THREADS_MAX);
    threads = 0;
    assert_int_equal(walk(), 0);
    assert_int_equal(all_rights(), 0);
}

/* A watched thread's own right outlives the lists. */
static void a_port_stays_until_its_last_entry_is_dropped(void **state) {
    (void)state;
    rights[2]++;
    assert_true(hd_thread_port_keep(hd_thread_id_of(ID(2)), 2));
    assert_int_equal(walk(), 5);
    threads = 0;
    assert_int_equal(walk(), 0);
    assert_int_equal(hd_thread_port(hd_thread_id_of(ID(2))), 2);
    assert_int_equal(rights[2], 1);
    hd_thread_port_drop(hd_thread_id_of(ID(2)), 2);
    assert_int_equal(hd_thread_port(hd_thread_id_of(ID(2))), 0);
    assert_int_equal(all_rights(), 0);
}

static void a_full_table_refuses_and_the_list_is_shorter(void **state) {
    (void)state;
    for (uint32_t i = 0; i < HD_THREAD_PORTS_MAX - 2; i++) {
        rights[1000 + i]++;
        assert_true(hd_thread_port_keep(hd_thread_id_of(ID(1000 + i)), 1000 + i));
    }
    assert_int_equal(walk(), 2);
    assert_int_equal(all_rights(), (int)HD_THREAD_PORTS_MAX);
    for (uint32_t i = 0; i < HD_THREAD_PORTS_MAX - 2; i++) {
        hd_thread_port_drop(hd_thread_id_of(ID(1000 + i)), 1000 + i);
    }
    threads = 0;
    assert_int_equal(walk(), 0);
    assert_int_equal(all_rights(), 0);
}

/* In a child the parent's names may be those of the child's own rights. */
static void a_child_releases_no_port_of_its_parent(void **state) {
    (void)state;
    assert_int_equal(walk(), 5);
    hd_thread_ports_forget();
    threads = 0;
    assert_int_equal(walk(), 0);
    assert_int_equal(hd_thread_port(hd_thread_id_of(ID(3))), 0);
    assert_int_equal(all_rights(), 5); /* as before */
    memset(rights, 0, sizeof rights);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_thread_is_listed_with_its_port, set_up),
        cmocka_unit_test_setup(lists_leave_no_rights, set_up),
        cmocka_unit_test_setup(a_refusal_gives_an_empty_list, set_up),
        cmocka_unit_test_setup(a_list_ends_at_its_space, set_up),
        cmocka_unit_test_setup(a_port_stays_until_its_last_entry_is_dropped, set_up),
        cmocka_unit_test_setup(a_full_table_refuses_and_the_list_is_shorter, set_up),
        cmocka_unit_test_setup(a_child_releases_no_port_of_its_parent, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
