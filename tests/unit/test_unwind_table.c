/* SPDX-License-Identifier: MIT
 *
 * The search in a sorted table of many functions, however they are spread over the code, and the lines that
 * its reads go through.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"
#include "unwind/eh_frame.h"
#include "unwind/lines.h"

#define FUNCTIONS 20000u
#define FUNCTION_BYTES 16u
#define RECORD_BYTES 20u
#define HDR UINT64_C(0x4000000) /* the records follow the table */
#define ENTRIES (HDR + 12)
#define CIE (ENTRIES + 8u * FUNCTIONS)
#define FDES (CIE + RECORD_BYTES)
#define IMAGE_BYTES ((size_t)(FDES + RECORD_BYTES * FUNCTIONS - HDR))

static uint8_t *image;
static uint64_t starts[FUNCTIONS];
static unsigned reads;

static int read_image(void *readable, uint64_t addr, void *dst, size_t n) {
    reads++;
    if (addr < HDR || n > *(const size_t *)readable || addr - HDR > *(const size_t *)readable - n) {
        return -EFAULT;
    }
    memcpy(dst, image + (addr - HDR), n);
    return 0;
}

static void put(uint64_t at, uint32_t value) {
    memcpy(image + (at - HDR), &value, sizeof value);
}

/* Ways to spread the functions over 1.5 GiB of code behind the tables. */
static uint64_t spread(unsigned how, uint64_t i) {
    uint64_t code = HDR + IMAGE_BYTES + 0x1000;
    if (how == 1) { /* most of them at the beginning */
        return code + i * 16 + (i * i / FUNCTIONS) * (i / 100) * 256;
    }
    if (how == 2) { /* one of them far behind the others */
        return code + i * 16 + (i == FUNCTIONS - 1 ? UINT64_C(0x50000000) : 0);
    }
    if (how == 3) { /* one of them far before the others */
        return code + i * 16 + (i == 0 ? 0 : UINT64_C(0x50000000));
    }
    return code + i * 1024;
}

static struct hd_eh_table make_table(unsigned how) {
    static const uint8_t cie[RECORD_BYTES] = {16,  0, 0, 0,    0,  0, 0,    0, 1, 'z',
                                              'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0};
    memcpy(image + (CIE - HDR), cie, sizeof cie);
    for (uint64_t i = 0; i < FUNCTIONS; i++) {
        uint64_t fde = FDES + i * RECORD_BYTES, entry = ENTRIES + 8 * i;
        starts[i] = spread(how, i);
        put(entry, (uint32_t)(starts[i] - HDR));
        put(entry + 4, (uint32_t)(fde - HDR));
        put(fde, RECORD_BYTES - 4);
        put(fde + 4, (uint32_t)(fde + 4 - CIE));
        put(fde + 8, (uint32_t)(starts[i] - (fde + 8)));
        put(fde + 12, FUNCTION_BYTES);
        put(fde + 16, 0);
    }
    return (struct hd_eh_table){
        .hdr = HDR, .frames = CIE, .limit = HDR + IMAGE_BYTES, .entries = ENTRIES, .count = FUNCTIONS};
}

static void every_function_is_found_however_they_are_spread(void **state) {
    size_t readable = IMAGE_BYTES;
    struct hd_memory memory = {.read = read_image, .ctx = &readable};
    struct hd_fde fde;
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        struct hd_eh_table table = make_table(how);
        unsigned most = 0;
        for (unsigned i = 0; i < FUNCTIONS; i++) {
            for (unsigned at = 0; at < FUNCTION_BYTES; at += FUNCTION_BYTES - 1) {
                reads = 0;
                assert_int_equal(0, hd_eh_table_find(&memory, &table, starts[i] + at, &fde));
                assert_int_equal(starts[i], fde.start);
                most = reads > most ? reads : most;
            }
        }
        assert_int_equal(-ENOENT, hd_eh_table_find(&memory, &table, starts[0] - 1, &fde));
        assert_int_equal(-ENOENT,
                         hd_eh_table_find(&memory, &table, starts[FUNCTIONS - 1] + FUNCTION_BYTES, &fde));
        /* two ends, two edges a guess, a chunk, the record and its CIE; halving reads two edges a step */
        assert_in_range(most, 1, how == 0 ? 9 : 40);
    }
}

/* A library that was damaged or made to mislead. */
static void a_table_out_of_order_ends_the_search(void **state) {
    size_t readable = IMAGE_BYTES;
    struct hd_memory memory = {.read = read_image, .ctx = &readable};
    struct hd_eh_table table = make_table(0);
    struct hd_fde fde;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 100; i++) {
            put(ENTRIES + 8 * any(FUNCTIONS), (uint32_t)next_random());
        }
        for (unsigned i = 0; i < 100; i++) {
            reads = 0;
            hd_eh_table_find(&memory, &table, starts[any(FUNCTIONS)], &fde);
            assert_in_range(reads, 1, 60);
        }
    }
}

static void lines_give_the_same_bytes_with_fewer_reads(void **state) {
    static struct hd_lines lines;
    size_t readable = IMAGE_BYTES - 7; /* the last line is not whole */
    struct hd_memory memory = {.read = read_image, .ctx = &readable};
    uint8_t got[2 * HD_LINE_BYTES];
    (void)state;
    for (size_t i = 0; i < IMAGE_BYTES; i++) {
        image[i] = (uint8_t)next_random();
    }
    hd_lines_init(&lines, &memory);
    for (unsigned round = 0; round < 100000; round++) {
        size_t n = 1 + any(sizeof got), at = any((uint32_t)readable);
        bool there = at + n <= readable;
        assert_int_equal(there, hd_memory_read(&lines.cached, HDR + at, got, n));
        if (there) {
            assert_memory_equal(image + at, got, n);
        }
    }
    assert_false(hd_memory_read(&lines.cached, HDR - 3, got, 6));
    assert_false(hd_memory_read(&lines.cached, UINT64_MAX - 3, got, 100));

    hd_lines_flush(&lines);
    reads = 0;
    for (unsigned at = 0; at < HD_LINE_BYTES; at += 8) {
        assert_true(hd_memory_read(&lines.cached, HDR + at, got, 8));
    }
    assert_int_equal(1, reads);
    image[0] ^= 1; /* another module came to lie here */
    hd_lines_flush(&lines);
    assert_true(hd_memory_read(&lines.cached, HDR, got, 1));
    assert_int_equal(image[0], got[0]);
}

static int make_image(void **state) {
    (void)state;
    image = calloc(1, IMAGE_BYTES);
    return image == NULL;
}

static int free_image(void **state) {
    (void)state;
    free(image);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_found_however_they_are_spread),
        cmocka_unit_test(a_table_out_of_order_ends_the_search),
        cmocka_unit_test(lines_give_the_same_bytes_with_fewer_reads),
    };
    return cmocka_run_group_tests(tests, make_image, free_image);
}
