/* SPDX-License-Identifier: MIT
 *
 * The watched thread owns malloc's lock for the whole hang: the report must come before the lock is free.
 */
#include <malloc/malloc.h>
#include <pthread.h>
#include <sys/stat.h>

#include "watched.h"

static malloc_zone_t *zone;
static const char *spool;
static struct stat before; /* the spool, whose time changes with the report */

__attribute__((noinline)) static void hang_with_lock(unsigned ms) {
    CHECK_EQUAL(0, stat(spool, &before));
    zone->introspect->force_lock(zone);
    spin_ms(ms);
    hangdog_totals totals = {.size = sizeof totals};
    hangdog_stats(&totals);
    CHECK(totals.open_hang_ns > 0);
    struct stat now; /* opendir would need malloc */
    CHECK_EQUAL(0, stat(spool, &now));
    CHECK(now.st_mtimespec.tv_sec != before.st_mtimespec.tv_sec ||
          now.st_mtimespec.tv_nsec != before.st_mtimespec.tv_nsec);
    int (*waits)(void) = (int (*)(void))fake("fake_malloc_waits");
    CHECK_EQUAL(0, waits ? waits() : 0);
    zone->introspect->force_unlock(zone);
}

int main(int argc, char **argv) {
    (void)argc;
    zone = malloc_default_zone();
    spool = argv[1];
    hangdog_options o = {0};
    watched_start("malloc_lock", spool, &o);
    watched_turn(hang_with_lock, 800);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
