/* SPDX-License-Identifier: MIT
 *
 * Real ELF files for tests: a program that the compiler made, with a build-id that the test knows, its debug
 * file, and the stripped program. Included after cmocka.h.
 */
#ifndef TEST_DEBUG_FILES_H
#define TEST_DEBUG_FILES_H

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

#define DEBUG_BUILD_ID "00112233445566778899aabbccddeeff00112233"
#define DEBUG_SOURCE                                                                \
    "volatile int x;\n__attribute__((noinline)) void resize_image(void) { x++; }\n" \
    "int main(void) { resize_image(); return x - 1; }\n"

/* Runs a command of words by spaces; its exit status. */
static inline int debug_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int debug_run(const char *format, ...) {
    char text[2048], *words[32] = {NULL}, *rest = text;
    size_t count = 0;
    va_list values;
    int status = -1;
    pid_t pid;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    while (count < 31 && (words[count] = strtok_r(rest, " ", &rest)) != NULL) {
        count++;
    }
    /* the compiler finds its parts by this variable */
    char path[] = "PATH=/usr/bin:/bin", *variables[] = {path, NULL};
    if (posix_spawn(&pid, words[0], NULL, NULL, words, variables) == 0) {
        waitpid(pid, &status, 0);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void debug_write(const char *folder, const char *name, const void *data, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* The whole file; the caller frees it. */
static inline unsigned char *debug_read(const char *folder, const char *name, size_t *bytes) {
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    unsigned char *data = malloc((size_t)st.st_size + 1);
    assert_non_null(data);
    *bytes = fread(data, 1, (size_t)st.st_size, file);
    assert_int_equal(*bytes, st.st_size);
    fclose(file);
    return data;
}

/* FOLDER/shop, shop.debug and shop.stripped. False: there is no compiler here. */
static inline bool debug_make(const char *folder) {
    if (access("/usr/bin/gcc", X_OK) != 0 || access("/usr/bin/objcopy", X_OK) != 0) {
        return false;
    }
    debug_write(folder, "shop.c", DEBUG_SOURCE, strlen(DEBUG_SOURCE));
    assert_int_equal(debug_run("/usr/bin/gcc -g -O1 -Wl,--build-id=0x" DEBUG_BUILD_ID " -o %s/shop %s/shop.c",
                               folder, folder),
                     0);
    assert_int_equal(debug_run("/usr/bin/objcopy --only-keep-debug %s/shop %s/shop.debug", folder, folder),
                     0);
    assert_int_equal(debug_run("/usr/bin/strip -o %s/shop.stripped %s/shop", folder, folder), 0);
    return true;
}

#endif
