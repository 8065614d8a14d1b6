/* SPDX-License-Identifier: MIT
 *
 * A watched program that attacks its runner: it writes the memory that they share, byte by byte at random and
 * by plausible values, 100,000 times, while it hangs and ends: hostile-record FOLDER UUID SEED. FOLDER is
 * where it wants the runner to write, UUID the report there that it wants to be replaced.
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listening.h"
#include "monitor/record.h"

#define ROUNDS 100000

static struct hd_record *find(void) {
    char line[512];
    unsigned long begin = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "/memfd:hangdog") != NULL && sscanf(line, "%lx", &begin) == 1) {
            break;
        }
        begin = 0;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return (struct hd_record *)(uintptr_t)begin;
}

static void parse(const char *text, uint8_t id[HD_UUID_BYTES]) {
    for (unsigned i = 0; i < HD_UUID_BYTES && *text != '\0'; text++) {
        unsigned byte;
        if (*text != '-' && sscanf(text, "%2x", &byte) == 1) {
            id[i++] = (uint8_t)byte;
            text++;
        }
    }
}

static void write_plausible(struct hd_record *r, const char *folder, const uint8_t id[HD_UUID_BYTES]) {
    snprintf(r->options.spool, sizeof r->options.spool, "%s", folder);
    snprintf(r->options.app_name, sizeof r->options.app_name, "../../%s", folder);
    snprintf(r->options.link, sizeof r->options.link, "%s/link", folder);
    memcpy(r->open_id, id, HD_UUID_BYTES);
    memcpy(r->session_id, id, HD_UUID_BYTES);
    atomic_store(&r->owner, (uint32_t)getpid());
    atomic_store(&r->hang_open, HD_RECORD_HANG_LASTS);
    atomic_store(&r->loop_seen, HD_RECORD_LOOP_CERTAIN);
    atomic_store(&r->clean, HD_RECORD_RUNS);
    atomic_store(&r->open_launch, 0);
    atomic_store(&r->open_duration_ns, 5000000000u);
}

int main(int argc, char **argv) {
    uint8_t id[HD_UUID_BYTES] = {0};
    struct hd_record *record = find();
    int server = listening_socket();
    if (argc != 4 || record == NULL || server < 0) {
        return 2;
    }
    parse(argv[2], id);
    unsigned seed = (unsigned)atoi(argv[3]);
    for (int i = 0; i < 3; i++) {
        poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 60);
    }
    for (int i = 0; i < ROUNDS; i++) {
        size_t at = (size_t)rand_r(&seed) % sizeof *record;
        ((volatile uint8_t *)record)[at] = (uint8_t)rand_r(&seed);
        if (i % 1000 == 0) {
            write_plausible(record, argv[1], id);
            usleep(1000);
        }
    }
    for (unsigned i = seed % 2; i < HD_RECORDS; i += 2) { /* and as if of children */
        memcpy(&record[i], record, sizeof *record);
        write_plausible(&record[i], argv[1], id);
        *(volatile uint8_t *)&record[i].options.of_child = i != 0;
    }
    write_plausible(record, argv[1], id);
    raise(SIGKILL);
    return 1;
}
