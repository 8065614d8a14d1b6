/* SPDX-License-Identifier: MIT */
#include "namer/look_up.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/error.h"
#include "cli/base/memory_limit.h"
#include "namer/jail.h"
#include "symbolizer/remote_protocol.h"
#include "symbolizer/symbolizer.h"

#define NO_GROUP 65534
#define FILES_MAX 512 /* modules that have files */

struct files {
    char *path; /* of the module */
    int fd[REMOTE_FILES_MAX];
    size_t count;
};

struct work {
    bool given;
    struct files files[FILES_MAX];
    size_t count;
    struct symbolizer *symbolizer;
    struct remote_query query;
    struct remote_answer answer;
};

/* ---- rights ----------------------------------------------------------------------------------- */

/* Without the right to change users it stays; it has no capability in each case. */
static bool give_rights_away(uid_t user) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    if (user != geteuid()) {
        bool alone = setgroups(0, NULL) == 0 && setresgid(NO_GROUP, NO_GROUP, NO_GROUP) == 0;
        if (setresuid(user, user, user) != 0 && geteuid() == 0 && alone) {
            (void)(setresuid(NO_GROUP, NO_GROUP, NO_GROUP) == 0); /* a user that this namespace has not */
        }
    }
    return syscall(SYS_capset, &head, none) == 0;
}

/* ---- queries ---------------------------------------------------------------------------------- */

static int open_given(void *work, const char *path, unsigned which) {
    const struct work *w = work;
    for (size_t i = w->count; i-- > 0;) { /* the newest of this path */
        if (strcmp(w->files[i].path, path) == 0) {
            return which < w->files[i].count ? fcntl(w->files[i].fd[which], F_DUPFD_CLOEXEC, 0) : -1;
        }
    }
    return -1;
}

static void take_files(struct work *w, const char *path, const struct cmsghdr *head) {
    struct files *f = &w->files[w->count];
    size_t count =
        head != NULL && head->cmsg_type == SCM_RIGHTS ? (head->cmsg_len - CMSG_LEN(0)) / sizeof f->fd[0] : 0;
    if (count == 0 || count > REMOTE_FILES_MAX || w->count == FILES_MAX || (f->path = strdup(path)) == NULL) {
        return;
    }
    memcpy(f->fd, CMSG_DATA(head), count * sizeof f->fd[0]);
    f->count = count;
    w->count++;
}

static bool receive(struct work *w, char **path, char **build_id) {
    struct remote_query *q = &w->query;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(REMOTE_FILES_MAX * sizeof(int))];
    } control;
    struct iovec part = {q, sizeof *q};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    if (n < (ssize_t)offsetof(struct remote_query, text) ||
        offsetof(struct remote_query, text) + q->path_bytes + q->build_id_bytes != (size_t)n) {
        return false;
    }
    *path = strndup(q->text, q->path_bytes);
    *build_id = q->build_id_bytes != 0 ? strndup(q->text + q->path_bytes, q->build_id_bytes) : NULL;
    if (*path != NULL) {
        take_files(w, *path, CMSG_FIRSTHDR(&message));
    }
    return *path != NULL && (q->build_id_bytes == 0 || *build_id != NULL);
}

static uint32_t put(char *text, size_t used, const char *what) {
    size_t n = what != NULL ? strlen(what) : 0;
    n = n < REMOTE_TEXT_BYTES - used ? n : REMOTE_TEXT_BYTES - used;
    if (n != 0) {
        memcpy(text + used, what, n);
    }
    return (uint32_t)n;
}

static bool send_symbol(struct work *w, int count, const struct symbol *symbol) {
    struct remote_answer *a = &w->answer;
    a->count = count;
    a->line = symbol->line;
    a->inlined = symbol->inlined;
    a->function_bytes = put(a->text, 0, symbol->function);
    a->file_bytes = put(a->text, a->function_bytes, symbol->file);
    size_t bytes = offsetof(struct remote_answer, text) + a->function_bytes + a->file_bytes;
    return write(STDIN_FILENO, a, bytes) == (ssize_t)bytes;
}

static bool answer(struct work *w, const char *path, const char *build_id) {
    struct symbol found[SYMBOLS_MAX];
    const char *reason = NULL;
    const struct symbol_query q = {.path = path,
                                   .build_id = build_id,
                                   .ran_s = w->query.ran_s,
                                   .offset = w->query.addr,
                                   .start = w->query.start,
                                   .exact = true};
    int n = symbolizer_resolve(w->symbolizer, &q, found, &reason);
    if (n == 0) {
        return send_symbol(w, 0, &(struct symbol){.function = reason});
    }
    bool sent = true;
    for (int i = 0; sent && i < n; i++) {
        sent = send_symbol(w, n, &found[i]);
    }
    return sent;
}

static void serve(void *work) {
    struct work *w = work;
    char *path, *build_id;
    w->symbolizer =
        symbolizer_create(&(struct symbolizer_options){.open = w->given ? open_given : NULL, .open_arg = w});
    bool more = w->symbolizer != NULL && jail_enter(JAIL_READS);
    while (more) {
        path = build_id = NULL;
        more = receive(w, &path, &build_id) && answer(w, path, build_id);
        free(path);
        free(build_id);
    }
}

int look_up(uid_t user, bool given) {
    static struct work w;
    w.given = given;
    if (!jail_limit(JAIL_READS) || !give_rights_away(user)) {
        return EXIT_ERROR;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a look-up without end would not see the end of the socket */
    on_a_deep_stack(serve, &w);
    return EXIT_SUCCESS;
}
