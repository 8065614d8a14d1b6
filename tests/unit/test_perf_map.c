/* SPDX-License-Identifier: MIT
 *
 * Maps of code made at run time: the last line counts, torn and hostile maps name nothing, nobody else's is
 * read, and a large one costs no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chance.h"
#include "symbolizer/jit_name.h"
#include "symbolizer/perf_map.h"

static char folder[] = "/tmp/hangdog-test-XXXXXX", path[64];
static const char *why;

static void write_map(const char *text, size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
}

static int open_map(void) {
    return perf_map_open(path, geteuid(), 0, &why);
}

/* The name that the map in the file gives to pc, "" when it gives none. */
static const char *name_at(uint64_t pc) {
    static char name[PERF_MAP_NAME_BYTES];
    struct perf_map_place place = {.pc = pc};
    int fd = open_map();
    assert_true(fd >= 0);
    assert_int_equal(perf_map_find(fd, &place, 1, NULL), 0);
    name[0] = 0;
    if (place.start != 0) {
        assert_int_equal(perf_map_name(fd, &place, name), 0);
    }
    close(fd);
    return name;
}

static const char *name_in(const char *map, uint64_t pc) {
    write_map(map, strlen(map));
    return name_at(pc);
}

static void the_last_piece_with_an_address_names_it(void **state) {
    (void)state;
    const char *map = "1000 100 old\n2000 10 other\n1080 40 moved here\n";
    assert_string_equal(name_in(map, 0x1000), "old");
    assert_string_equal(name_in(map, 0x107f), "old");
    assert_string_equal(name_in(map, 0x1080), "moved here");
    assert_string_equal(name_in(map, 0x10bf), "moved here");
    assert_string_equal(name_in(map, 0x10c0), "old");
    assert_string_equal(name_in(map, 0x1100), "");
    assert_string_equal(name_in(map, 0xfff), "");
    assert_string_equal(name_in("0x7f0000001000 0x20 with 0x\n", 0x7f0000001001), "");
    assert_string_equal(name_in("0x7f0000001000 20 with 0x\n", 0x7f000000101f), "with 0x");
}

static void what_is_no_line_is_none(void **state) {
    (void)state;
    static const char *const torn[] = {
        "1000",
        "1000 ",
        "1000 100",
        "1000 100 ",
        "1000 100 torn",
        " 1000 100 x\n",
        "1000  100 x\n",
        "zz 100 x\n",
        "1000 1x0 x\n",
        "11111111111111111 100 x\n",
        "1000 11111111111111111 x\n",
        "1000 100\n",
        "1000 100 \n",
        "\n\n\n",
        "1000 0 empty\n",
    };
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        assert_string_equal(name_in(torn[i], 0x1000), "");
    }
    assert_string_equal(name_in("torn\n1000 100 whole\n2000 10", 0x1000), "whole");
    /* a piece that is said to be all of memory holds what follows it, and runs over no end */
    assert_string_equal(name_in("1000 ffffffffffffffff all\n", 0xfff), "");
    assert_string_equal(name_in("fffffffffffff000 ffffffffffffffff all\n", UINT64_MAX), "all");
    assert_string_equal(name_in("1000 ffffffffffffffff all\n", 0x7f0000000000), "all");
}

static void bytes_of_any_kind_do_no_harm(void **state) {
    (void)state;
    static char noise[300000];
    struct perf_map_place places[64];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            noise[i] = round % 2 ? (char)any(256) : "0123456789abcdef  \n"[any(19)];
        }
        write_map(noise, sizeof noise);
        for (size_t i = 0; i < 64; i++) {
            places[i] = (struct perf_map_place){.pc = (uint64_t)i << 12};
        }
        int fd = open_map();
        assert_int_equal(perf_map_find(fd, places, 64, NULL), 0);
        for (size_t i = 0; i < 64; i++) {
            assert_true(places[i].start == 0 || places[i].name + (off_t)places[i].name_bytes <= 300000);
        }
        close(fd);
    }
}

static void a_name_without_end_is_cut(void **state) {
    (void)state;
    static char map[200000];
    memset(map, 'n', sizeof map);
    static const char head[] = "1000 100 ", tail[] = "\n2000 10 another\n";
    for (size_t i = 0; i < sizeof head - 1; i++) {
        map[i] = head[i];
    }
    for (size_t i = 0; i < sizeof tail - 1; i++) {
        map[sizeof map - sizeof tail + 1 + i] = tail[i];
    }
    write_map(map, sizeof map);
    assert_int_equal(strlen(name_at(0x1000)), PERF_MAP_NAME_BYTES - 1);
    assert_string_equal(name_at(0x2000), "another");
}

/* Another user's map could have each place in each of its lines. */
static void lines_that_have_all_places_end_the_search(void **state) {
    (void)state;
    enum {
        LINES = 100000,
        PLACES = 10000
    };
    static const char line[] = "1 fffffff x\n";
    char *text = malloc(LINES * (sizeof line - 1));
    struct perf_map_place *places = calloc(PLACES, sizeof *places);
    assert_non_null(text);
    assert_non_null(places);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * (sizeof line - 1), line, sizeof line - 1);
    }
    for (size_t i = 0; i < PLACES; i++) {
        places[i].pc = 16 + i;
    }
    write_map(text, LINES * (sizeof line - 1));
    int fd = open_map();
    assert_true(fd >= 0);
    assert_int_equal(perf_map_find(fd, places, 100, NULL), 0); /* as many lines as ever */
    assert_int_equal(perf_map_find(fd, places, PLACES, NULL), -EFBIG);
    close(fd);
    free(places);
    free(text);
}

static void only_a_file_of_its_own_is_read(void **state) {
    (void)state;
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    write_map("1000 100 x\n", 11);
    assert_int_equal(perf_map_open(path, geteuid(), UINT64_C(2000) * 1000000000, &why) >= 0, 1);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(open_map(), -EPERM);
        assert_string_equal(why, "other owner");
        assert_true(perf_map_open(path, 12345, 0, &why) >= 0);
        assert_int_equal(chown(path, 0, 0), 0);
        assert_true(perf_map_open(path, 12345, 0, &why) >= 0); /* root may name anything */
    } else {
        assert_int_equal(perf_map_open(path, geteuid() + 1, 0, &why), -EPERM);
    }
    chmod(path, 0666);
    assert_int_equal(open_map(), -EPERM);
    assert_string_equal(why, "writable by all");
    chmod(path, 0644);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(perf_map_open(path, geteuid(), UINT64_C(2000) * 1000000000, &why), -EPERM);
    assert_string_equal(why, "older than the process");
    unlink(path);
    assert_int_equal(open_map(), -ENOENT);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(open_map(), -ELOOP);
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0); /* and nobody waits for its writer */
    assert_int_equal(open_map(), -EPERM);
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(open_map(), -EPERM);
    rmdir(path);
}

static long peak_kb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void of_a_gigabyte_the_end_is_read_and_no_memory_taken(void **state) {
    (void)state;
    const char head[] = "1000 100 first\n", tail[] = "\n2000 100 last\n";
    struct perf_map_place places[2] = {{.pc = 0x1000}, {.pc = 0x2000}};
    char name[PERF_MAP_NAME_BYTES];
    int cut = 0;
    write_map(head, sizeof head - 1);
    assert_int_equal(truncate(path, 1 << 30), 0);
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, tail, sizeof tail - 1), sizeof tail - 1);
    close(fd);
    fd = open_map();
    long before = peak_kb();
    assert_int_equal(perf_map_find(fd, places, 2, &cut), 0);
    assert_true(peak_kb() - before < 4096);
    assert_int_equal(cut, 1);
    assert_int_equal(places[0].start, 0);
    assert_int_equal(perf_map_name(fd, &places[1], name), 0);
    assert_string_equal(name, "last");
    /* shorter by the time its name is asked for */
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(perf_map_name(fd, &places[1], name), -EIO);
    close(fd);
    unlink(path);
}

static void check_name(const char *text, const char *function, const char *file, int line,
                       const char *language) {
    char copy[PERF_MAP_NAME_BYTES];
    snprintf(copy, sizeof copy, "%s", text);
    struct jit_name name = jit_name_parse(copy);
    assert_string_equal(name.function, function);
    assert_string_equal(name.file != NULL ? name.file : "", file);
    assert_int_equal(name.line, line);
    assert_string_equal(name.language != NULL ? name.language : "", language);
}

static void names_of_v8_are_taken_apart(void **state) {
    (void)state;
    check_name("JS:*tick /srv/app.js:12:7", "tick", "/srv/app.js", 12, "javascript");
    check_name("LazyCompile:~tick /srv/my app.js:12:7", "tick", "/srv/my app.js", 12, "javascript");
    check_name("LazyCompile:~tick /srv/app.js:12", "tick", "/srv/app.js", 12, "javascript");
    check_name("LazyCompile:*listOnTimeout node:internal/timers:507", "listOnTimeout", "node:internal/timers",
               507, "javascript");
    check_name("JS:^get size file:///srv/app.mjs:3:1", "get size", "/srv/app.mjs", 3, "javascript");
    check_name("JS:~ /srv/app.js:4:30", "(anonymous)", "/srv/app.js", 4, "javascript");
    check_name("JS:+processTimers node:internal/timers:504:25", "processTimers", "node:internal/timers", 504,
               "javascript");
    check_name("Function:tick", "tick", "", 0, "javascript");
    check_name("JS:*tick /srv/app.js:99999999999999999999:7", "tick", "/srv/app.js", INT32_MAX, "javascript");
    check_name("JS:", "(anonymous)", "", 0, "javascript");
    check_name("JS:*x:1:2", "x", "", 0, "javascript");
    check_name("Builtin:ArrayMap", "Builtin:ArrayMap", "", 0, "");
    check_name("Lcom/example/App;::run", "Lcom/example/App;::run", "", 0, "");
}

static void names_of_cpython_have_their_file(void **state) {
    (void)state;
    check_name("py::Server.handle:/srv/app.py", "Server.handle", "/srv/app.py", 0, "python");
    check_name("py::<module>:<frozen runpy>", "<module>", "<frozen runpy>", 0, "python");
    check_name("py::tick:", "tick", "", 0, "python");
    check_name("py::tick", "tick", "", 0, "python");
    check_name("py:tick", "py:tick", "", 0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_piece_with_an_address_names_it),
        cmocka_unit_test(what_is_no_line_is_none),
        cmocka_unit_test(bytes_of_any_kind_do_no_harm),
        cmocka_unit_test(a_name_without_end_is_cut),
        cmocka_unit_test(lines_that_have_all_places_end_the_search),
        cmocka_unit_test(only_a_file_of_its_own_is_read),
        cmocka_unit_test(of_a_gigabyte_the_end_is_read_and_no_memory_taken),
        cmocka_unit_test(names_of_v8_are_taken_apart),
        cmocka_unit_test(names_of_cpython_have_their_file),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/map", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return failed;
}
