/* SPDX-License-Identifier: MIT
 *
 * These functions run before Hangdog starts, so they may call any function of libc.
 */
#include "control/settings.h"

#include <string.h>

#include "base/text.h"
#include "control/instance.h"
#include "os/environment.h"
#include "report/spool.h"

const char *hd_settings_environment(const char *name) {
    size_t n = strlen(name);
    for (char **e = hd_os_environment(); e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1] != '\0') {
            return *e + n + 1;
        }
    }
    return NULL;
}

/* Returns the time limit of systemd's watchdog. The watchdog kills a service that sends no message for so
 * long (sd_watchdog_enabled(3)). So a hang's report has to be on disk before. Returns UINT64_MAX if systemd
 * has no such limit, or has it for another process and `of_any` is false. */
static uint64_t watchdog_ns(bool of_any) {
    const char *limit = hd_settings_environment("WATCHDOG_USEC"),
               *of = hd_settings_environment("WATCHDOG_PID");
    uint64_t us = 0, pid = 0;
    if (limit != NULL) {
        hd_text_take_number(limit, &us);
    }
    if (of != NULL) {
        hd_text_take_number(of, &pid);
    }
    bool meant = of_any || of == NULL || pid == (uint64_t)hd_os.get_pid();
    return us != 0 && us < UINT64_MAX / HD_NS_PER_US && meant ? us * HD_NS_PER_US : UINT64_MAX;
}

void hd_settings_init(struct hd_settings *s) {
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        s->threshold_ns[i] = 3 * HD_NS_PER_S;
    }
    s->threshold_ns[HANGDOG_STATE_LAUNCH] = 10 * HD_NS_PER_S;
    s->threshold_ns[HANGDOG_STATE_FOREGROUND] = 2 * HD_NS_PER_S;
    s->interval_ns = 50 * HD_NS_PER_MS;
    s->ping_period_ns = 500 * HD_NS_PER_MS;
    s->frame_period_ns = HD_NS_PER_S / 60;
    s->threshold_max_ns = (watchdog_ns(false) - 1) / 2;
    s->reports_per_day = 100;
    s->reports_per_fingerprint = 5;
    s->spool_reports = HD_SPOOL_REPORTS;
    s->signal = HD_SIGNAL;
}

void hd_settings_keep_alive(struct hd_settings *s, bool of_runner) {
    const char *address = hd_settings_environment("NOTIFY_SOCKET");
    uint64_t limit_ns = watchdog_ns(of_runner);
    if (address != NULL && strlen(address) < sizeof s->notify_socket && limit_ns != UINT64_MAX) {
        memcpy(s->notify_socket, address, strlen(address) + 1);
        s->keep_alive_ns = limit_ns / 4;
        s->threshold_max_ns = (limit_ns - 1) / 2;
    }
}
