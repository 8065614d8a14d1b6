/* SPDX-License-Identifier: MIT */
#include "cli/outside/origin.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/outside/container_files.h"

#define ID_DIGITS 64
#define POD_MIN 32
#define POD_MAX 36
#define FILE_BYTES 65536

struct part {
    const char *at;
    size_t n;
};

static bool starts(struct part p, const char *with) {
    return p.n >= strlen(with) && strncmp(p.at, with, strlen(with)) == 0;
}

static bool ends(struct part p, const char *with) {
    const size_t n = strlen(with);
    return p.n >= n && strncmp(p.at + p.n - n, with, n) == 0;
}

static bool are_hex(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f')) {
            return false;
        }
    }
    return true;
}

/* Copies a text of the characters that systemd and the runtimes permit in names. Else *to is empty. */
static bool copy(char *to, size_t size, const char *from, size_t n) {
    bool fits = n > 0 && n < size;
    for (size_t i = 0; fits && i < n; i++) {
        fits = isalnum((unsigned char)from[i]) || strchr(":-_.\\@", from[i]) != NULL;
    }
    if (fits) {
        memcpy(to, from, n);
    }
    to[fits ? n : 0] = '\0';
    return fits;
}

/* The id in docker-ID.scope, libpod-ID, cri-containerd-ID.scope, crio-ID, kubepods...:cri-containerd:ID and
 * ID. */
static bool take_id(struct part p, struct hd_origin *out) {
    p.n -= ends(p, ".scope") ? strlen(".scope") : 0;
    if (p.n < ID_DIGITS || !are_hex(p.at + p.n - ID_DIGITS, ID_DIGITS) ||
        (p.n > ID_DIGITS && strchr("-:_", p.at[p.n - ID_DIGITS - 1]) == NULL)) {
        return false;
    }
    return copy(out->container_id, sizeof out->container_id, p.at + p.n - ID_DIGITS, ID_DIGITS);
}

/* kubepods-burstable-podUID.slice has `_` in place of `-`; podUID has the uid as it is. */
static void take_pod(struct part p, struct hd_origin *out) {
    p.n -= ends(p, ".slice") ? strlen(".slice") : 0;
    for (size_t i = 0; i + 3 + POD_MIN <= p.n; i++) {
        const size_t n = p.n - i - 3;
        if (strncmp(p.at + i, "pod", 3) != 0 || n > POD_MAX || (i > 0 && !starts(p, "kubepods"))) {
            continue;
        }
        char uid[POD_MAX + 1];
        for (size_t k = 0; k < n; k++) {
            uid[k] = p.at[i + 3 + k] == '_' ? '-' : p.at[i + 3 + k];
        }
        uid[n] = '\0';
        if (strspn(uid, "0123456789abcdef-") == n) {
            memcpy(out->pod, uid, n + 1);
        }
    }
}

/* A login's scope and systemd's own one say nothing about a program. */
static void take_unit(struct part p, struct hd_origin *out) {
    const bool is_scope = ends(p, ".scope") && !starts(p, "session-") && !starts(p, "init.");
    char name[HD_ORIGIN_NAME];
    if ((is_scope || ends(p, ".service")) && copy(name, sizeof name, p.at, p.n)) {
        memcpy(out->unit, name, sizeof name);
    }
}

/* LXC: lxc.payload.NAME, and lxc/NAME. */
static bool take_lxc(struct part p, struct part parent, struct hd_origin *out) {
    const size_t skip = starts(p, "lxc.payload.") ? strlen("lxc.payload.") : 0;
    return (skip > 0 || (parent.n == 3 && starts(parent, "lxc"))) &&
           copy(out->container_id, sizeof out->container_id, p.at + skip, p.n - skip) &&
           copy(out->container_name, sizeof out->container_name, p.at + skip, p.n - skip);
}

/* The unit is the innermost one. The container is the outermost one: this host's runtime made it. */
static void read_path(struct part controller, struct part path, struct hd_origin *out,
                      struct origin_folder *folder) {
    struct part parent = {path.at, 0};
    const char *end = path.at + path.n;
    for (const char *at = path.at; at < end;) {
        at += *at == '/';
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const struct part p = {at, (size_t)((slash != NULL ? slash : end) - at)};
        at = p.at + p.n;
        take_pod(p, out);
        if (out->container_id[0] == '\0' && (take_id(p, out) || take_lxc(p, parent, out))) {
            const int n = snprintf(folder->path, sizeof folder->path, "%.*s%.*s", (int)controller.n,
                                   controller.at, (int)(at - path.at), path.at);
            folder->path[n < (int)sizeof folder->path && strstr(folder->path, "..") == NULL ? n : 0] = '\0';
        } else {
            take_unit(p, out);
        }
        parent = p;
    }
}

/* A line is NUMBER:CONTROLLERS:PATH. The folder of cgroup v2 has no name, that of "name=systemd" is
 * systemd. */
void origin_of_cgroup(const char *text, struct hd_origin *out, struct origin_folder *folder) {
    folder->path[0] = '\0';
    while (*text != '\0' && (out->container_id[0] == '\0' || out->unit[0] == '\0')) {
        const size_t n = strcspn(text, "\n");
        const char *name = memchr(text, ':', n), *end = text + n;
        const char *path = name != NULL ? memchr(name + 1, ':', (size_t)(end - name - 1)) : NULL;
        char controller[128] = "";
        if (path != NULL && path > name + 1) {
            const size_t skip = strncmp(name + 1, "name=", 5) == 0 ? 6 : 1;
            snprintf(controller, sizeof controller, "/%.*s", (int)(path - name - (long)skip), name + skip);
        }
        if (path != NULL) {
            read_path((struct part){controller, strlen(controller)},
                      (struct part){path + 1, (size_t)(end - path - 1)}, out, folder);
        }
        text = *end != '\0' ? end + 1 : end;
    }
}

/* Docker and podman mount these files from the container's folder. Kubernetes mounts its hosts file from the
 * pod's; a pod's other id names the sandbox. */
void origin_of_mounts(const char *text, struct hd_origin *out) {
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text != '\0') {
        char root[512], at[64];
        if (sscanf(text, "%*d %*d %*s %511s %63s", root, at) != 2 ||
            (strcmp(at, "/etc/hostname") != 0 && strcmp(at, "/etc/hosts") != 0)) {
            continue;
        }
        char *name = strrchr(root, '/');
        if (name != NULL && strcmp(name, "/etc-hosts") == 0) {
            *name = '\0';
            char *uid = strrchr(root, '/');
            if (uid != NULL && strlen(uid + 1) <= POD_MAX &&
                strspn(uid + 1, "0123456789abcdef-") >= POD_MIN) {
                copy(out->pod, sizeof out->pod, uid + 1, strlen(uid + 1));
            }
            continue;
        }
        for (char *rest, *part = strtok_r(root, "/", &rest); part != NULL;
             part = strtok_r(NULL, "/", &rest)) {
            take_id((struct part){part, strlen(part)}, out);
        }
    }
    if (out->pod[0] != '\0') {
        out->container_id[0] = '\0';
    }
}

static void read_text(pid_t pid, const char *file, char *text) {
    char path[64];
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0 && used<FILE_BYTES - 1; used += n> 0 ? (size_t)n : 0) {
        n = read(fd, text + used, FILE_BYTES - 1 - used);
    }
    text[used] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* The user who made the container's cgroup. A user can give a cgroup the name of another user's container;
 * its folder's owner is then that user. */
static bool read_owner(const struct origin_folder *folder, uid_t *owner) {
    char path[sizeof folder->path + sizeof "/sys/fs/cgroup"];
    struct stat of;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s", folder->path);
    if (folder->path[0] == '\0' || lstat(path, &of) != 0) {
        return false;
    }
    *owner = of.st_uid;
    return true;
}

void outside_origin(pid_t pid, bool with_host, struct hd_origin *out) {
    char *text = malloc(FILE_BYTES); /* the stack may be small */
    struct origin_folder folder;
    struct utsname system;
    uid_t owner;
    *out = (struct hd_origin){.host = ""};
    if (with_host && uname(&system) == 0) {
        copy(out->host, sizeof out->host, system.nodename, strlen(system.nodename));
    }
    if (text == NULL) {
        return;
    }
    read_text(pid, "cgroup", text);
    origin_of_cgroup(text, out, &folder);
    if (out->unit[0] == '\0' && out->container_id[0] == '\0' && out->pod[0] == '\0') {
        read_text(pid, "mountinfo", text);
        origin_of_mounts(text, out);
    } else if (read_owner(&folder, &owner)) {
        container_files_read("", owner, out);
    }
    free(text);
}
