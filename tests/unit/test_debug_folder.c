/* SPDX-License-Identifier: MIT
 *
 * The folder of debug files: pieces in their order, limits, other files in it, and several senders at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/debug_folder.h"
#include "folder.h"

#define ID "00112233445566778899aabbccddeeff00112233"
#define OTHER "ffeeddccbbaa99887766554433221100ffeeddcc"
#define MIB 1048576

static char place[64], path[96];
static struct debug_folder *f;
static char piece[MIB];

static int set_up(void **state) {
    (void)state;
    snprintf(place, sizeof place, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/symbols", place);
    f = debug_folder_open(path, 2);
    assert_non_null(f);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    debug_folder_close(f);
    return folder_remove(place);
}

static void has(const char *id, int64_t bytes, bool is_whole) {
    struct debug_state state = debug_folder_state(f, id);
    assert_int_equal(state.bytes, bytes);
    assert_int_equal(state.is_whole, is_whole);
}

static const char *inside(const char *name) {
    static char full[256];
    snprintf(full, sizeof full, "%s/%s", path, name);
    return full;
}

static void pieces_make_a_file(void **state) {
    (void)state;
    struct stat st;
    char text[16] = "";
    has(ID, 0, false);
    assert_int_equal(stat(path, &st), -1); /* the first file makes the folder */
    assert_int_equal(debug_folder_add(f, ID, 0, 10, "abcd", 4), DEBUG_ADDED);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    has(ID, 4, false);
    assert_int_equal(access(inside(ID), F_OK), -1);
    assert_int_equal(debug_folder_add(f, ID, 0, 10, "abcd", 4), DEBUG_OTHER_OFFSET);
    assert_int_equal(debug_folder_add(f, ID, 5, 10, "f", 1), DEBUG_OTHER_OFFSET);
    assert_int_equal(debug_folder_add(f, ID, 4, 10, "efghij", 6), DEBUG_ADDED);
    has(ID, 10, true);
    assert_int_equal(debug_folder_add(f, ID, 10, 20, "k", 1), DEBUG_OTHER_OFFSET); /* it is whole */
    assert_int_equal(debug_folder_add(f, ID, 0, 4, "abcd", 4), DEBUG_OTHER_OFFSET);
    FILE *file = fopen(inside(ID), "re");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 10);
    assert_int_equal(fstat(fileno(file), &st), 0);
    fclose(file);
    assert_string_equal(text, "abcdefghij");
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(access(inside(ID ".part"), F_OK), -1);
}

static void a_restart_continues(void **state) {
    (void)state;
    assert_int_equal(debug_folder_add(f, ID, 0, 10, "abcd", 4), DEBUG_ADDED);
    debug_folder_close(f);
    f = debug_folder_open(path, 2);
    has(ID, 4, false);
    assert_int_equal(debug_folder_add(f, ID, 4, 10, "efghij", 6), DEBUG_ADDED);
    has(ID, 10, true);
}

static void sizes_out_of_range(void **state) {
    (void)state;
    static const struct {
        int64_t offset, size;
        size_t bytes;
    } cases[] = {{0, 0, 0},          {0, -1, 1},
                 {-1, 10, 1},        {11, 10, 0},
                 {0, 3, 4},          {9, 10, 2},
                 {0, INT64_MAX, 1},  {INT64_MAX, INT64_MAX, 1},
                 {INT64_MIN, 10, 1}, {0, DEBUG_FILE_MAX + 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(debug_folder_add(f, ID, cases[i].offset, cases[i].size, piece, cases[i].bytes),
                         DEBUG_TOO_LARGE);
    }
    has(ID, 0, false);
}

static void all_files_have_one_limit(void **state) {
    (void)state;
    assert_int_equal(debug_folder_add(f, ID, 0, 2 * MIB + 1, piece, 1), DEBUG_FULL);
    assert_int_equal(debug_folder_add(f, ID, 0, MIB, piece, MIB), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, OTHER, 0, MIB + 1, piece, 1), DEBUG_FULL);
    has(OTHER, 0, false);
    assert_int_equal(debug_folder_add(f, OTHER, 0, MIB, piece, MIB), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, "abcdef01", 0, 1, piece, 1), DEBUG_FULL);
    unlink(inside(OTHER));
    has(OTHER, 0, false);
    assert_int_equal(debug_folder_add(f, "abcdef01", 0, 1, piece, 1), DEBUG_ADDED);
}

/* Two files that are small at their first pieces, and say more later. */
static void each_piece_is_below_the_limit(void **state) {
    (void)state;
    assert_int_equal(debug_folder_add(f, ID, 0, 10, piece, 1), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, OTHER, 0, 10, piece, 1), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, ID, 1, 3 * MIB, piece, MIB), DEBUG_FULL);
    assert_int_equal(debug_folder_add(f, ID, 1, 2 * MIB - 2, piece, MIB), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, OTHER, 1, 2 * MIB - 2, piece, MIB), DEBUG_FULL);
    has(ID, MIB + 1, false);
    has(OTHER, 1, false);
    assert_int_equal(debug_folder_add(f, ID, MIB + 1, 2 * MIB - 2, piece, MIB - 3), DEBUG_ADDED);
    has(ID, 2 * MIB - 2, true);
}

/* A file that is set aside stays, with its reason, until a good one came. */
static void a_bad_file_is_set_aside(void **state) {
    (void)state;
    struct stat st;
    assert_int_equal(debug_folder_add(f, ID, 0, 3, "bad", 3), DEBUG_ADDED);
    assert_false(debug_folder_state(f, ID).is_checked);
    debug_folder_set_aside(f, ID, "it is no ELF file");
    has(ID, 0, false);
    assert_string_equal(debug_folder_state(f, ID).why, "it is no ELF file");
    assert_int_equal(stat(inside(ID ".bad"), &st), 0);
    assert_int_equal(st.st_size, 3);
    char ids[4][DEBUG_ID_BYTES];
    assert_int_equal(debug_folder_list(f, ids, 4), 0);
    assert_int_equal(debug_folder_add(f, ID, 0, 4, "good", 4), DEBUG_ADDED);
    debug_folder_set_checked(f, ID);
    has(ID, 4, true);
    assert_true(debug_folder_state(f, ID).is_checked);
    assert_string_equal(debug_folder_state(f, ID).why, "");
    assert_int_equal(access(inside(ID ".bad"), F_OK), -1);
    debug_folder_set_aside(f, OTHER, "there is none");
    debug_folder_set_checked(f, OTHER);
    has(OTHER, 0, false);
}

/* A write that fails in its middle leaves no half piece: the sender continues where it was. */
static void a_failed_write_leaves_no_half_piece(void **state) {
    (void)state;
    struct rlimit before, less = {.rlim_cur = 5000};
    assert_int_equal(debug_folder_add(f, ID, 0, 10000, piece, 1000), DEBUG_ADDED);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    enum debug_added added = debug_folder_add(f, ID, 1000, 10000, piece, 9000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(added, DEBUG_FAILED);
    has(ID, 1000, false);
    assert_int_equal(debug_folder_add(f, ID, 1000, 10000, piece, 9000), DEBUG_ADDED);
    has(ID, 10000, true);
}

static void a_link_in_the_folder_is_not_followed(void **state) {
    (void)state;
    struct stat st;
    char target[128];
    snprintf(target, sizeof target, "%s/target", place);
    FILE *file = fopen(target, "we");
    fputs("mine", file);
    fclose(file);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(target, inside(ID ".part")), 0);
    assert_int_equal(symlink(target, inside(OTHER)), 0);
    assert_int_equal(debug_folder_add(f, ID, 0, 4, "evil", 4), DEBUG_FAILED);
    has(ID, 0, false);
    has(OTHER, 0, false); /* a link is no debug file */
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 4);
    file = fopen(target, "re");
    assert_int_equal(fgetc(file), 'm');
    fclose(file);
}

static void the_list_has_whole_files_only(void **state) {
    (void)state;
    static const char *const strangers[] = {"README", "AABBCCDD", "abc", "..hidden", "0011223344556677.bak"};
    char ids[4][DEBUG_ID_BYTES];
    assert_int_equal(debug_folder_list(f, ids, 4), 0); /* there is no folder */
    assert_int_equal(debug_folder_add(f, ID, 0, 1, "x", 1), DEBUG_ADDED);
    assert_int_equal(debug_folder_add(f, OTHER, 0, 2, "x", 1), DEBUG_ADDED);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        close(open(inside(strangers[i]), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    assert_int_equal(debug_folder_list(f, ids, 4), 1);
    assert_string_equal(ids[0], ID);
    for (int i = 0; i < 8; i++) {
        char id[DEBUG_ID_BYTES];
        snprintf(id, sizeof id, "abcdef0%d", i);
        assert_int_equal(debug_folder_add(f, id, 0, 1, "x", 1), DEBUG_ADDED);
    }
    assert_int_equal(debug_folder_list(f, ids, 4), 4);
}

#define SENDERS 8
#define PIECES 200

static void *send_pieces(void *added) {
    int *count = added;
    for (int64_t at = 0; at < PIECES; at = debug_folder_state(f, ID).bytes) {
        *count += debug_folder_add(f, ID, at, PIECES, "x", 1) == DEBUG_ADDED;
    }
    return NULL;
}

static void each_piece_is_added_once(void **state) {
    (void)state;
    pthread_t threads[SENDERS];
    int added[SENDERS] = {0}, sum = 0;
    for (int i = 0; i < SENDERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, send_pieces, &added[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
        sum += added[i];
    }
    assert_int_equal(sum, PIECES);
    has(ID, PIECES, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_make_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restart_continues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_out_of_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_files_have_one_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_piece_is_below_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bad_file_is_set_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_no_half_piece, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_in_the_folder_is_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_list_has_whole_files_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_piece_is_added_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
