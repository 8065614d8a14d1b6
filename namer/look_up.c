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

struct work {
    bool given;
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
        bool has_group_right = setgroups(0, NULL) == 0 && setresgid(NO_GROUP, NO_GROUP, NO_GROUP) == 0;
        if (setresuid(user, user, user) != 0 && geteuid() == 0 && has_group_right) {
            (void)(setresuid(NO_GROUP, NO_GROUP, NO_GROUP) == 0); /* a user that this namespace has not */
        }
    }
    return syscall(SYS_capset, &head, none) == 0;
}

/* ---- queries ---------------------------------------------------------------------------------- */

static bool send_answer(const struct remote_answer *a) {
    size_t bytes = offsetof(struct remote_answer, text) + (size_t)a->function_bytes + a->file_bytes;
    return bytes <= sizeof *a && write(STDIN_FILENO, a, bytes) == (ssize_t)bytes;
}

/* Requests the file from the command. -1: there is none. */
static int open_given(void *work, const char *path, unsigned which) {
    struct work *w = work;
    char byte;
    int fd = -1;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    (void)path; /* of the query that is being answered */
    w->answer.count = REMOTE_FILE;
    w->answer.line = (int32_t)which;
    w->answer.function_bytes = w->answer.file_bytes = 0;
    if (!send_answer(&w->answer) || recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC) != 1) {
        return -1;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    }
    return fd;
}

static bool receive(struct work *w, char **path, char **build_id) {
    struct remote_query *q = &w->query;
    const size_t head = offsetof(struct remote_query, text);
    ssize_t n = recv(STDIN_FILENO, q, sizeof *q, 0);
    if (n < (ssize_t)head || (uint64_t)q->path_bytes + q->build_id_bytes != (size_t)n - head) {
        return false;
    }
    *path = strndup(q->text, q->path_bytes);
    *build_id = q->build_id_bytes != 0 ? strndup(q->text + q->path_bytes, q->build_id_bytes) : NULL;
    return *path != NULL && (q->build_id_bytes == 0 || *build_id != NULL);
}

static uint32_t put(char *text, size_t used, const char *what) {
    size_t n = what != NULL ? strlen(what) : 0;
    n = n < REMOTE_TEXT_BYTES - used ? n : REMOTE_TEXT_BYTES - used;
    for (size_t i = 0; i < n; i++) { /* texts stand one behind the other, without an end */
        text[used + i] = what[i];
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
    return send_answer(a);
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
