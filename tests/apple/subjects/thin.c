/* SPDX-License-Identifier: MIT
 *
 * A loop whose turn takes 700 ms in a known function: the thin thread from a dylib to `hangdog show`.
 */
#include "watched.h"

__attribute__((noinline)) static void count_slowly(unsigned ms) {
    spin_ms(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void parse_document(unsigned ms) {
    count_slowly(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void handle_event(unsigned ms) {
    parse_document(ms);
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    (void)argc;
    hangdog_options o = {0};
    watched_start("thin", argv[1], &o);
    for (int i = 0; i < 3; i++) {
        watched_turn(handle_event, 5);
    }
    uint64_t start = now_ns();
    watched_turn(handle_event, 700);
    printf("hung %llu ms\n", (now_ns() - start) / MS);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
