/* SPDX-License-Identifier: MIT
 *
 * A watched program that attacks its runner: it writes the memory that they share, byte by byte at random and
 * by plausible values, 100,000 times, while it hangs and ends: hostile-record FOLDER UUID SEED [SPOOL].
 * FOLDER is where it wants the runner to write, UUID the report there that it wants to be replaced. With
 * SPOOL, which is its user's, it drops root first and puts a report of its own there, for the runner to end.
 */
#include <grp.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "listening.h"
#include "record/record.h"

#define ROUNDS 100000
#define OTHER_USER 65534

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

static void write_text(char text[37], const uint8_t id[HD_UUID_BYTES]) {
    for (unsigned i = 0; i < HD_UUID_BYTES; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        text += snprintf(text, 4, "%s%02x", dash ? "-" : "", id[i]);
    }
}

static void write_plausible(struct hd_record *r, const char *folder, const uint8_t id[HD_UUID_BYTES]) {
    snprintf(r->options.spool, sizeof r->options.spool, "%s", folder);
    snprintf(r->options.app_name, sizeof r->options.app_name, "../../%s", folder);
    snprintf(r->options.link, sizeof r->options.link, "%s/link", folder);
    memcpy(r->open.hang_id, id, HD_UUID_BYTES);
    memcpy(r->open.session_id, id, HD_UUID_BYTES);
    atomic_store(&r->owner.pid, (uint32_t)getpid());
    atomic_store(&r->open.state, HD_RECORD_HANG_LASTS);
    atomic_store(&r->loop.certainty, HD_RECORD_LOOP_CERTAIN);
    atomic_store(&r->status.end, HD_RECORD_RUNS);
    atomic_store(&r->open.is_launch, 0);
    atomic_store(&r->open.duration_ns, 5000000000u);
}

static void deliver(struct hd_outbox *o, const char *text, size_t bytes, uint32_t said) {
    memcpy(o->text, text, bytes);
    atomic_store(&o->bytes, said);
    atomic_store(&o->state, HD_OUTBOX_FULL);
    syscall(SYS_futex, &o->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    for (int i = 0; i < 500 && atomic_load(&o->state) == HD_OUTBOX_FULL; i++) {
        usleep(1000);
    }
}

/* Reports that the runner is asked to write: under other names than ids, over another run's, without end. */
static void deliver_all(struct hd_outbox *o, const char *session, const char *folder, const char *uuid) {
    static char text[HD_OUTBOX_TEXT_BYTES];
    const char *const form =
        "{\"format\":\"hangdog-report/1\",\"id\":\"%s%s%s\",\"kind\":\"%s\",\"complete\":true,"
        "\"duration_ns\":1,\"app\":{\"name\":\"x\",\"session\":\"%s\"}}";
    const char *const ids[][3] = {{"..", folder, "/"}, {"../victim/", uuid, ""}, {folder, "/", uuid},
                                  {"", uuid, ""},      {uuid, "/../x", ""},      {"", "", ""}};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        int n = snprintf(text, sizeof text, form, ids[i][0], ids[i][1], ids[i][2], "hang", session);
        deliver(o, text, (size_t)n, (uint32_t)n);
    }
    int n =
        snprintf(text, sizeof text, form, "", "01a20b5e-71af-75c2-97ac-9c09f4c20e30", "", "session", session);
    deliver(o, text, (size_t)n, (uint32_t)n);
    n = snprintf(text, sizeof text, form, "", "01a20b5e-71af-75c2-97ac-9c09f4c20e31", "", "hang", "another");
    deliver(o, text, (size_t)n, (uint32_t)n);
    deliver(o, text, (size_t)n, UINT32_MAX);
    deliver(o, text, (size_t)n, HD_OUTBOX_TEXT_BYTES);
    memset(text, '[', sizeof text);
    deliver(o, text, sizeof text, sizeof text);
    for (int i = 0; i < 150; i++) { /* more than a run has */
        char own[64];
        snprintf(own, sizeof own, "01a20b5e-71af-75c2-97ac-%012x", i);
        n = snprintf(text, sizeof text, form, "", own, "", "hang", session);
        deliver(o, text, (size_t)n, (uint32_t)n);
    }
}

static bool drop_rights(void) {
    return setgroups(0, NULL) == 0 && setgid(OTHER_USER) == 0 && setuid(OTHER_USER) == 0 && setuid(0) != 0;
}

/* Of this run, and not complete: the runner writes it again, through a temporary file whose name is known. */
static void leave_report(const char *spool, const char *uuid, const char *session) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.json", spool, uuid);
    FILE *f = fopen(path, "w");
    if (f != NULL) {
        fprintf(
            f,
            "{\"format\":\"hangdog-report/1\",\"id\":\"%s\",\"kind\":\"hang\",\"complete\":false,\"host\":{},\"process\":{},\"started_at\":\"\","
            "\"duration_ns\":1,\"app\":{\"name\":\"x\",\"session\":\"%s\"}}",
            uuid, session);
        fclose(f);
    }
}

int main(int argc, char **argv) {
    uint8_t id[HD_UUID_BYTES] = {0};
    struct hd_record *record = find();
    int server = listening_socket();
    if (argc < 4 || record == NULL || server < 0) {
        return 2;
    }
    parse(argv[2], id);
    unsigned seed = (unsigned)atoi(argv[3]);
    for (int i = 0; i < 3; i++) {
        poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 60);
    }
    char session[37];
    write_text(session, record->options.session);
    if (argc > 4) {
        if (!drop_rights()) {
            return 3;
        }
        leave_report(argv[4], argv[2], session);
    }
    if (seed == 0) {
        deliver_all(hd_record_outbox(record), session, argv[1], argv[2]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        size_t at = (size_t)rand_r(&seed) % sizeof *record;
        ((volatile uint8_t *)record)[at] = (uint8_t)rand_r(&seed);
        ((volatile uint8_t *)hd_record_outbox(record))[at % 64] = (uint8_t)rand_r(&seed);
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
