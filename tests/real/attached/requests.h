/* SPDX-License-Identifier: MIT
 *
 * What a program that is attached does, in each language of this folder. Its argument is the period of its
 * timer in ms; 0: it has none. Its standard input has one request a line: `cpu MS` computes, `block MS`
 * sleeps, `end` ends. The program prints `ready` first. It prints `stall KIND START END` after each request,
 * by its own monotonic clock in nanoseconds, and how many of its calls a signal interrupted at its end.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STALL_BY_SLEEP block
#define STALL_BY_COMPUTE compute
#include "../stalls.h"

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) {
        exit(1);
    }
}

static int obey(const char *line) {
    char kind[8], text[96];
    long ms;
    if (sscanf(line, "%7s %ld", kind, &ms) != 2) {
        snprintf(text, sizeof text, "interrupted %u\n", interrupted);
        say(text);
        return -1;
    }
    long long start = monotonic_ns();
    (strcmp(kind, "cpu") == 0 ? compute : block)(ms * 1000000);
    snprintf(text, sizeof text, "stall %s %lld %lld\n", kind, start, monotonic_ns());
    say(text);
    return 0;
}

/* Reads one request from standard input and does it. -1: the program ends. */
static int serve(void) {
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    interrupted += n < 0 && errno == EINTR;
    line[n > 0 ? n : 0] = '\0';
    return obey(line);
}

#endif
