/* SPDX-License-Identifier: MIT
 *
 * Writes a line about a failed spool to the socket of the system's journal. The write never blocks: if the
 * socket is full, the line is lost. On the worker thread.
 */
#include "publish/spool_failure.h"

#include "base/text.h"
#include "os/notify_socket.h"
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

void hd_spool_failure_store(const struct hd_run *run, int rc) {
    /* stores only the first failure, because later failures follow from the first and say less */
    int32_t no_error = 0;
    atomic_compare_exchange_strong(&run->record->losses.spool_error, &no_error, -rc);
    /* all processes of a server share the record settings.journal, so that only one process writes a line */
    struct hd_record *journal = run->settings.journal;
    if (journal != NULL && atomic_exchange(&journal->shared.failure_printed, 1) == 0) {
        write_line(&run->settings, -rc);
    }
}
