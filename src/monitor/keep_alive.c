/* SPDX-License-Identifier: MIT
 *
 * The monitor sends the service manager four messages in the time limit of that manager's watchdog. A hang's
 * threshold is below half of this limit. So at least a quarter of the limit lies between the report of a hang
 * and the watchdog's signal.
 */
#include "monitor/keep_alive.h"

#include "os/notify_socket.h"

void hd_keep_alive_open(struct hd_monitor *m) {
    const struct hd_settings *s = &m->run->settings;
    m->keep_alive.fd = s->keep_alive_ns != 0 ? hd_notify_open(s->notify_socket) : -1;
}

/* Returns whether a loop hangs. In the preload, a thread whose loop is not certain may have no loop, so
 * its hangs do not count. */
static bool hangs(struct hd_monitor *m) {
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        const struct hd_look_state *s = hd_monitor_look_state(m, w);
        bool certain = !m->run->settings.deferred || (s->launched && s->certain_sent);
        if (s->turn.phase == HD_TURN_HANGING && certain) {
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
    return m->run->settings.keep_alive_ns != 0 && !m->keep_alive.withheld ? m->keep_alive.next_ns : HD_NEVER;
}
