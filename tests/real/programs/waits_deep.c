/* SPDX-License-Identifier: MIT */
// Three threads' worth of frames that wait: a call through a pointer, one by name, and a callback of the C
// library.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static volatile long sink;

static void wait_here(void) {
    char c;
    sink += read(ends[0], &c, 1);
}

static int compare(const void *a, const void *b) {
    wait_here();
    return *(const int *)a - *(const int *)b;
}

static void wait_in_callback(void) {
    int numbers[4] = {3, 1, 2, 0};
    qsort(numbers, 4, sizeof numbers[0], compare);
    sink += numbers[0];
}

static void wait_below_array(void) {
    volatile int n = 200;
    char text[n];
    memset(text, 0, (size_t)n);
    wait_here();
    sink += text[n / 2];
}

static void (*const ways[])(void) = {wait_here, wait_in_callback, wait_below_array};

__attribute__((noinline)) static long inner(long way, long x) {
    ways[way]();
    return x * 3 + way;
}

__attribute__((noinline)) static long outer(long way, long x) {
    char text[100];
    snprintf(text, sizeof text, "%ld", x);
    return inner(way, x + way) + (long)strlen(text);
}

static void *start(void *way) {
    sink += outer((long)way, 4);
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0) {
        return 1;
    }
    for (long i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, start, (void *)i);
    }
    return (int)outer(0, 1);
}
