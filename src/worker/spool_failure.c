/* SPDX-License-Identifier: MIT
 *
 * Worker code. The journal's socket never blocks: a message that finds no room is lost.
 */
#include "worker/spool_failure.h"

#include "base/text.h"
#include "os/linux/notify_socket.h"
#include "os/os.h"

#include <errno.h>

#define JOURNAL "/run/systemd/journal/socket"

static const char *reason(int error) {
    switch (error) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case EROFS:
        return "read-only file system";
    case ENOSPC:
        return "no space left";
    case EDQUOT:
        return "quota exceeded";
    default:
        return NULL;
    }
}

static void write_line(const struct hd_settings *s, int error) {
    char line[sizeof s->spool + sizeof s->app_name + 256];
    struct hd_text t;
    hd_text_init(&t, line, sizeof line);
    hd_text_str(&t, "PRIORITY=4\nSYSLOG_IDENTIFIER=hangdog\nMESSAGE=hangdog: cannot write reports of ");
    hd_text_str(&t, s->app_name);
    hd_text_str(&t, " to '");
    hd_text_str(&t, s->spool);
    hd_text_str(&t, "': ");
    if (reason(error) != NULL) {
        hd_text_str(&t, reason(error));
    } else {
        hd_text_str(&t, "error ");
        hd_text_u64(&t, (uint64_t)error);
    }
    hd_text_str(&t, "; hangs are lost until that is possible\n");
    int fd = hd_notify_open(JOURNAL);
    if (fd >= 0) {
        hd_notify_send(fd, line);
        hd_os_close(fd);
    }
}

void hd_spool_failure_note(struct hd_worker *k, int rc) {
    int32_t none = 0; /* the first failure says more than those that follow from it */
    atomic_compare_exchange_strong(&k->run->record->losses.spool_error, &none, -rc);
    struct hd_record *of_all = k->run->settings.journal; /* a server may have a process for each connection */
    if (of_all != NULL && atomic_exchange(&of_all->shared.failure_printed, 1) == 0) {
        write_line(&k->run->settings, -rc);
    }
}
