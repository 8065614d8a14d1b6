/* SPDX-License-Identifier: MIT */
#include "symbolizer/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbolizer/remote_protocol.h"

#define QUERY_MS 10000
#define DEATHS_MAX 3

struct remote {
    struct remote *next;
    uid_t user;
    pid_t pid; /* 0: none runs */
    int fd;
    unsigned deaths;
};

/* ---- which files are read here ---------------------------------------------------------------- */

static bool is_trusted(uid_t user) {
    return user == 0 || user == geteuid();
}

/* Each folder above the file's true place: who may write there may put a debug file next to it, or exchange
 * it. */
static bool is_trusted_place(const char *place) {
    char folder[PATH_MAX];
    struct stat st;
    bool trusted = true;
    snprintf(folder, sizeof folder, "%s", place);
    for (char *slash = folder + 1; trusted && (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        trusted = stat(folder, &st) == 0 && is_trusted(st.st_uid) &&
                  ((st.st_mode & S_IWOTH) == 0 || (st.st_mode & S_ISVTX) != 0);
        *slash = '/';
    }
    return trusted;
}

bool remote_may_read_here(const struct symbolizer *s, struct module *m, const struct stat *st) {
    struct stat there;
    if (s->worker == NULL) {
        return true;
    }
    if (!is_trusted(s->owner) || !is_trusted(st->st_uid) || (st->st_mode & S_IWOTH) != 0) {
        return false;
    }
    free(m->place);
    m->place = realpath(m->file, NULL);
    return m->place != NULL && stat(m->place, &there) == 0 && there.st_dev == st->st_dev &&
           there.st_ino == st->st_ino && is_trusted_place(m->place);
}

struct remote *remote_for(struct symbolizer *s, const struct stat *st) {
    uid_t user = !is_trusted(s->owner) ? s->owner : !is_trusted(st->st_uid) ? st->st_uid : geteuid();
    for (struct remote *r = s->remotes; r != NULL; r = r->next) {
        if (r->user == user) {
            return r;
        }
    }
    struct remote *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    *r = (struct remote){.next = s->remotes, .user = user, .fd = -1};
    s->remotes = r;
    return r;
}

/* ---- the process ------------------------------------------------------------------------------ */

/* Starts the process with an empty environment, since a variable may have a key. Discards what libdw prints.
 */
static int spawn(const struct symbolizer *s, struct remote *r, int socket) {
    char user[16], name[] = "hangdog-name", mode[] = "--look-up", files[] = "given", none[] = "named";
    char *words[] = {name, mode, user, s->open != NULL ? files : none, NULL}, *variables[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    snprintf(user, sizeof user, "%u", (unsigned)r->user);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(&r->pid, s->worker, &actions, &attributes, words, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* 0, or an errno value. */
static int start(const struct symbolizer *s, struct remote *r) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return errno;
    }
    int error = spawn(s, r, ends[1]);
    close(ends[1]);
    if (error != 0) {
        r->pid = 0;
        close(ends[0]);
        return error;
    }
    r->fd = ends[0];
    return 0;
}

static void end(struct remote *r) {
    if (r->pid == 0) {
        return;
    }
    close(r->fd);
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    r->pid = 0;
    r->fd = -1;
}

void remotes_free(struct symbolizer *s) {
    while (s->remotes != NULL) {
        struct remote *r = s->remotes;
        s->remotes = r->next;
        end(r);
        free(r);
    }
}

/* ---- a query ---------------------------------------------------------------------------------- */

static bool send_query(const struct remote *r, const struct module *m, const struct symbol_query *q,
                       uint64_t addr) {
    static struct remote_query query; /* symbolizers are of one thread */
    size_t path = strlen(m->file), id = m->build_id != NULL ? strlen(m->build_id) : 0;
    size_t bytes = offsetof(struct remote_query, text) + path + id;
    query.addr = addr;
    query.start = q->start;
    query.ran_s = q->ran_s;
    query.path_bytes = (uint32_t)path;
    query.build_id_bytes = (uint32_t)id;
    memcpy(query.text, m->file, path);
    if (id != 0) {
        memcpy(query.text + path, m->build_id, id);
    }
    return send(r->fd, &query, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* The file of that number that may be the module's; without one the byte comes without a descriptor. */
static bool send_file(const struct symbolizer *s, const struct remote *r, const struct module *m, int which) {
    char byte = 0;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof which)];
    } control = {.bytes = {0}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    bool may = s->open != NULL && which >= 0 && which < REMOTE_FILES_MAX;
    int fd = may ? s->open(s->open_arg, m->path, (unsigned)which) : -1;
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    bool sent = sendmsg(r->fd, &message, MSG_NOSIGNAL) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return sent;
}

/* The process may send anything. False: no message in time, the process has ended, or the message has a wrong
 * form. */
static bool receive(const struct remote *r, int64_t until_ms, struct remote_answer *answer, bool *late) {
    int64_t left;
    struct pollfd ready = {.fd = r->fd, .events = POLLIN};
    int n = 0;
    while ((left = until_ms - symbolizer_now_ms()) > 0 && (n = poll(&ready, 1, (int)left)) < 0 &&
           errno == EINTR) {
    }
    *late = n == 0;
    ssize_t bytes = n > 0 ? recv(r->fd, answer, sizeof *answer, 0) : -1;
    const size_t head = offsetof(struct remote_answer, text);
    return bytes >= (ssize_t)head && answer->function_bytes <= REMOTE_TEXT_BYTES &&
           answer->file_bytes <= REMOTE_TEXT_BYTES &&
           head + answer->function_bytes + answer->file_bytes == (size_t)bytes &&
           answer->count >= REMOTE_FILE && answer->count <= SYMBOLS_MAX;
}

static const char *keep(struct symbolizer *s, const char *text, size_t bytes) {
    char copy[REMOTE_TEXT_BYTES + 1];
    if (bytes == 0) {
        return NULL;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return strings_keep(&s->strings, copy);
}

/* How many symbols; -1: there was no answer. */
static int read_answer(struct symbolizer *s, const struct module *m, int64_t until_ms,
                       struct symbol out[SYMBOLS_MAX], const char **reason, bool *late) {
    static struct remote_answer answer;
    const struct remote *r = m->remote;
    int files = 0, count = 1;
    for (int i = 0; i < count; i++) {
        bool came;
        while ((came = receive(r, until_ms, &answer, late)) && answer.count == REMOTE_FILE) {
            if (i > 0 || files++ > REMOTE_FILES_MAX || !send_file(s, r, m, answer.line)) {
                return -1;
            }
        }
        if (!came || (i > 0 && answer.count != count)) {
            return -1;
        }
        count = answer.count;
        if (count == 0) {
            *reason = keep(s, answer.text, answer.function_bytes);
            return 0;
        }
        out[i] = (struct symbol){.function = keep(s, answer.text, answer.function_bytes),
                                 .file = keep(s, answer.text + answer.function_bytes, answer.file_bytes),
                                 .line = answer.line,
                                 .inlined = answer.inlined != 0};
    }
    return count;
}

static const char *why_none(struct symbolizer *s, int error) {
    char text[128];
    snprintf(text, sizeof text, "hangdog-name cannot be started: %s", strerror(error));
    const char *kept = strings_keep(&s->strings, text);
    return kept != NULL ? kept : "out of memory";
}

int remote_resolve(struct symbolizer *s, struct module *m, const struct symbol_query *q, uint64_t addr,
                   struct symbol out[SYMBOLS_MAX], const char **reason) {
    struct remote *r = m->remote;
    bool late = false;
    int error;
    *reason = NULL;
    if (r->deaths >= DEATHS_MAX || strlen(m->file) >= PATH_MAX) {
        *reason = m->reason = "other files of its owner ended the look-up";
        return 0;
    }
    if (r->pid == 0 && (error = start(s, r)) != 0) { /* not the file's fault */
        s->is_starved |= error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
        *reason = why_none(s, error);
        return 0;
    }
    int64_t until_ms = symbolizer_now_ms() + QUERY_MS;
    until_ms = s->until_ms != 0 && s->until_ms < until_ms ? s->until_ms : until_ms;
    int n = send_query(r, m, q, addr) ? read_answer(s, m, until_ms, out, reason, &late) : -1;
    if (n < 0) {
        end(r);
        r->deaths++;
        m->reason = late ? "its names take too long to look up" : "it ended the look-up";
        *reason = m->reason;
        return 0;
    }
    return n;
}
