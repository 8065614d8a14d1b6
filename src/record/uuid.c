/* SPDX-License-Identifier: MIT */
#include "record/uuid.h"

#include <stdatomic.h>
#include <string.h>

#include "os/os.h"

void hd_uuid_text(const uint8_t id[HD_UUID_BYTES], char text[37]) {
    static const char hex[] = "0123456789abcdef";
    unsigned n = 0;
    for (unsigned i = 0; i < HD_UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[n++] = '-';
        }
        text[n++] = hex[id[i] >> 4];
        text[n++] = hex[id[i] & 15];
    }
    text[n] = 0;
}

/* The function SplitMix64. It makes numbers for ids if the kernel gives no random bytes. Ids still differ by
 * time, process and counter. */
static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

void hd_uuid_make(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns) {
    /* The time stamp of the last id: the wall clock's milliseconds, and below them a 12-bit counter for ids
     * of one millisecond. */
    static _Atomic uint64_t last;
    uint64_t random[2];
    if (hd_os.get_random(random, sizeof random) != (long)sizeof random) {
        random[0] = mixed(hd_os_now_ns() ^ (uint64_t)hd_os.get_pid() << 32);
        random[1] = mixed(random[0] ^ wall_ns ^ atomic_load(&last));
    }
    /* The id's counter has 12 bits, but starts with a random value of only 11 bits. So the counter rarely
     * overflows into the id's milliseconds. */
    uint64_t stamp = (wall_ns / HD_NS_PER_MS) << 12 | (random[0] & 0x7ff);
    uint64_t before = atomic_load(&last), now;
    do {
        now = stamp > before ? stamp : before + 1;
    } while (!atomic_compare_exchange_weak(&last, &before, now));

    for (unsigned i = 0; i < 6; i++) {
        id[i] = (uint8_t)(now >> (12 + 40 - 8 * i));
    }
    id[6] = (uint8_t)(0x70 | ((now >> 8) & 0x0f));
    id[7] = (uint8_t)now;
    memcpy(id + 8, &random[1], 8);
    id[8] = (uint8_t)(0x80 | (id[8] & 0x1f));
}

void hd_uuid_make_at(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns) {
    uint64_t ms = wall_ns / HD_NS_PER_MS, part = wall_ns % HD_NS_PER_MS * 4096 / HD_NS_PER_MS;
    hd_uuid_make(id, wall_ns);
    for (unsigned i = 0; i < 6; i++) {
        id[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    id[6] = (uint8_t)(0x70 | part >> 8);
    id[7] = (uint8_t)part;
}

void hd_uuid_make_session(uint8_t id[HD_UUID_BYTES], uint64_t wall_ns) {
    hd_uuid_make(id, wall_ns);
    id[8] |= 0x20;
}
