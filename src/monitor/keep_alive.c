/* SPDX-License-Identifier: MIT
 *
 * Four messages in the manager's time, and a hang's threshold below half of it: at least a quarter of that
 * time lies between the report of a hang and the manager's signal.
 */
#include "monitor/keep_alive.h"

#include "os/linux/notify_socket.h"

#define FOR_EVER UINT64_MAX

void hd_keep_alive_open(struct hd_monitor *m) {
    const struct hd_settings *s = &m->run->settings;
    m->keep_alive.fd = s->keep_alive_ns != 0 ? hd_notify_open(s->notify_socket) : -1;
}

/* A thread whose loop is not certain (preload) may have none: it ends no program. */
static bool hangs(const struct hd_monitor *m) {
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        bool certain = !m->run->settings.deferred || (w->look.launched && w->look.certain_sent);
        if (w->look.turn.state == HD_TURN_HANGING && certain) {
            return true;
        }
    }
    return false;
}

void hd_keep_alive_step(struct hd_monitor *m) {
    const struct hd_settings *s = &m->run->settings;
    struct hd_keep_alive *k = &m->keep_alive;
    if (s->keep_alive_ns == 0 || m->looked_ns < k->next_ns) {
        return;
    }
    k->withheld = hangs(m);
    if (k->withheld) {
        return;
    }
    if (!hd_notify_send(k->fd, "WATCHDOG=1")) {
        hd_os_close(k->fd);
        k->fd = hd_notify_open(s->notify_socket);
        hd_notify_send(k->fd, "WATCHDOG=1");
    }
    k->next_ns = m->looked_ns + s->keep_alive_ns;
}

uint64_t hd_keep_alive_next(const struct hd_monitor *m) {
    return m->run->settings.keep_alive_ns != 0 && !m->keep_alive.withheld ? m->keep_alive.next_ns : FOR_EVER;
}
