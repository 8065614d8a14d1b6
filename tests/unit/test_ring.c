/* SPDX-License-Identifier: MIT
 *
 * The ring between monitor and worker: order, wrap, room that is kept, and one writer beside one reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "watch/ring.h"

static struct hd_ring *ring;

static int begin(void **state) {
    (void)state;
    return posix_memalign((void **)&ring, 64, sizeof *ring) != 0 || memset(ring, 0, sizeof *ring) == NULL;
}

static int end(void **state) {
    (void)state;
    free(ring);
    return 0;
}

static bool put(uint32_t bytes, uint8_t mark, uint32_t keep) {
    uint8_t *room = hd_ring_reserve(ring, bytes, keep);
    if (room != NULL) {
        memset(room, mark, bytes);
        hd_ring_commit(ring, bytes);
    }
    return room != NULL;
}

static void assert_next(uint32_t bytes, uint8_t mark) {
    uint32_t got;
    const uint8_t *record = hd_ring_peek(ring, &got);
    assert_non_null(record);
    assert_int_equal(got, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        assert_int_equal(record[i], mark);
    }
    hd_ring_release(ring);
}

static void assert_empty(void) {
    uint32_t got;
    assert_null(hd_ring_peek(ring, &got));
}

static void what_was_written_is_read_in_its_order(void **state) {
    (void)state;
    assert_empty();
    assert_true(put(1, 1, 0));
    assert_true(put(0, 2, 0));
    assert_true(put(10000, 3, 0));
    assert_next(1, 1);
    assert_next(0, 2);
    assert_next(10000, 3);
    assert_empty();
}

static void what_is_not_committed_is_not_there(void **state) {
    (void)state;
    assert_non_null(hd_ring_reserve(ring, 1000, 0));
    assert_empty();
    assert_true(put(10, 7, 0)); /* the reservation is forgotten */
    assert_next(10, 7);
    assert_empty();
}

static void a_commit_may_be_smaller_than_its_reservation(void **state) {
    (void)state;
    uint8_t *room = hd_ring_reserve(ring, HD_RING_BYTES / 2, 0);
    assert_non_null(room);
    memset(room, 5, 100);
    hd_ring_commit(ring, 100);
    assert_true(put(HD_RING_BYTES / 2, 6, 0)); /* the rest came back */
    assert_next(100, 5);
    assert_next(HD_RING_BYTES / 2, 6);
}

static void a_record_stays_until_it_is_released(void **state) {
    (void)state;
    uint32_t got;
    assert_true(put(10, 1, 0));
    assert_ptr_equal(hd_ring_peek(ring, &got), hd_ring_peek(ring, &got));
    assert_next(10, 1);
    assert_empty();
}

static void records_are_aligned(void **state) {
    (void)state;
    for (uint32_t bytes = 0; bytes < 40; bytes++) {
        uint32_t got;
        assert_true(put(bytes, 1, 0));
        assert_int_equal((uintptr_t)hd_ring_peek(ring, &got) % 16, 0);
        hd_ring_release(ring);
    }
}

static void a_full_ring_refuses_and_counts(void **state) {
    (void)state;
    unsigned written = 0;
    while (put(10000, (uint8_t)written, HD_RING_RESERVE)) {
        written++;
    }
    assert_in_range(written, (HD_RING_BYTES - HD_RING_RESERVE) / 10016 - 1, HD_RING_BYTES / 10000);
    assert_int_equal(ring->dropped, 1);
    assert_false(put(10000, 0, HD_RING_RESERVE));
    assert_int_equal(ring->dropped, 2);
    assert_true(put(100, 99, 0)); /* what must not be lost has the room that was kept */
    for (unsigned i = 0; i < written; i++) {
        assert_next(10000, (uint8_t)i);
    }
    assert_next(100, 99);
    assert_empty();
    assert_true(put(10000, 0, HD_RING_RESERVE));
}

static void more_than_all_never_fits(void **state) {
    (void)state;
    assert_false(put(HD_RING_BYTES, 0, 0));
    assert_false(put(HD_RING_BYTES - 15, 0, 0));
    assert_true(put(HD_RING_BYTES - 16, 0, 0));
    assert_next(HD_RING_BYTES - 16, 0);
}

/* Every place of the wrap, and every kind of padding before it. */
static void records_of_all_sizes_go_round(void **state) {
    (void)state;
    uint32_t sizes[] = {1, 15, 16, 17, 4000, 12345, 30000}, n = sizeof sizes / sizeof sizes[0];
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(put(sizes[i % n], (uint8_t)i, 0));
        assert_true(put(sizes[(i + 3) % n], (uint8_t)(i + 1), 0));
        assert_next(sizes[i % n], (uint8_t)i);
        assert_next(sizes[(i + 3) % n], (uint8_t)(i + 1));
        assert_empty();
    }
    assert_int_equal(ring->dropped, 0);
}

/* ---- two threads ---------------------------------------------------------------------------------- */

#define RECORDS 200000u

/* A record says its number in every word. */
static void *write_all(void *unused) {
    (void)unused;
    uint32_t seed = 1;
    for (uint32_t i = 0; i < RECORDS;) {
        uint32_t words = (seed >> 16) % 300 + 1;
        uint32_t *room = hd_ring_reserve(ring, words * 4, 0);
        if (room == NULL) {
            continue;
        }
        for (uint32_t k = 0; k < words; k++) {
            room[k] = i;
        }
        hd_ring_commit(ring, words * 4);
        seed = seed * 1664525 + 1013904223;
        i++;
    }
    return NULL;
}

static void a_writer_and_a_reader_at_once(void **state) {
    (void)state;
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_all, NULL), 0);
    for (uint32_t i = 0; i < RECORDS;) {
        uint32_t bytes;
        const uint32_t *record = hd_ring_peek(ring, &bytes);
        if (record == NULL) {
            continue;
        }
        for (uint32_t k = 0; k < bytes / 4; k++) {
            if (record[k] != i) {
                fail_msg("record %u has %u", i, record[k]);
            }
        }
        hd_ring_release(ring);
        i++;
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_empty();
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(what_was_written_is_read_in_its_order),
        CASE(what_is_not_committed_is_not_there),
        CASE(a_commit_may_be_smaller_than_its_reservation),
        CASE(a_record_stays_until_it_is_released),
        CASE(records_are_aligned),
        CASE(a_full_ring_refuses_and_counts),
        CASE(more_than_all_never_fits),
        CASE(records_of_all_sizes_go_round),
        CASE(a_writer_and_a_reader_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
