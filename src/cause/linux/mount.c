/* SPDX-License-Identifier: MIT */
#include "cause/linux/mount.h"

#include <string.h>

#include "base/text.h"
#include "cause/linux/file.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_lines.h"
#include "os/os.h"
#include "os/syscall_table.h"

#define PATH_BYTES 1024 /* of longer paths the mount stays unknown; the worker's stack is small */

/* ---- one line: "36 27 0:52 / /mnt/share rw master:1 - nfs4 files.example:/export rw,..." ----------- */

/* Ends the field at *p, moves *p behind it, and returns it. Decodes "\040" and the like. */
static const char *take_field(char **p) {
    char *from = *p, *to = from;
    for (char *at = from;; at++) {
        if (*at == ' ' || *at == '\0') {
            *p = *at == ' ' ? at + 1 : at;
            *to = '\0';
            return from;
        }
        bool octal = at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
                     at[3] >= '0' && at[3] <= '7';
        *to++ = (char)(octal ? (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0') : *at);
        at += octal ? 3 : 0;
    }
}

bool hd_mount_parse(char *line, struct hd_mount *out) {
    hd_text_take_number(line, &out->id);
    for (int i = 0; i < 4; i++) {
        take_field(&line);
    }
    out->point = take_field(&line);
    take_field(&line);
    while (*line != '\0' && strcmp(take_field(&line), "-") != 0) {
    }
    out->type = take_field(&line);
    out->source = take_field(&line);
    return out->id != 0 && out->point[0] == '/' && out->source[0] != '\0';
}

size_t hd_mount_covers(const char *point, const char *path) {
    size_t n = strlen(point);
    bool below = strncmp(path, point, n) == 0 && (n == 1 || path[n] == '/' || path[n] == '\0');
    return below ? n : 0;
}

/* ---- the kinds ------------------------------------------------------------------------------------ */

/* Types of file systems that a server or another process answers for: how a type starts, and the name for the
 * user. Other types are those of local disks and of the kernel. */
static const struct {
    char type[8], shown[8];
} kinds[] = {{"nfs", "NFS"},       {"cifs", "CIFS"},     {"smb", "CIFS"},      {"fuse.", "FUSE"},
             {"fuse", "FUSE"},     {"ceph", "Ceph"},     {"afs", "AFS"},       {"9p", "9p"},
             {"autofs", "autofs"}, {"lustre", "Lustre"}, {"virtio", "virtio"}, {"vboxsf", "vboxsf"}};

/* Returns the user's name of a type; NULL: the type is that of a local disk or of the kernel. */
static const char *shown_kind(const char *type) {
    static const char local[][9] = {"nfsd", "fusectl", "fuseblk"};
    const char *shown = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        shown = hd_proc_starts_with(type, kinds[i].type) ? kinds[i].shown : shown;
    }
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        shown = strcmp(type, local[i]) == 0 ? NULL : shown;
    }
    return shown;
}

/* Returns the part of a source that names a server, behind a scheme, a user and a password. NULL: the source
 * names no server, or may contain a password anywhere. */
static const char *server_of(const char *source, bool lustre) {
    const char *server = source + hd_text_until(source, ":");
    bool scheme = hd_proc_starts_with(server, "://");
    if (lustre || hd_proc_starts_with(source, "//")) {
        return source;
    }
    server = scheme ? server + 3 : source;
    size_t user = hd_text_until(server, scheme ? "/" : ":/");
    bool later = server[user + hd_text_until(server + user, "@")] == '@';
    if (scheme ? later : server[user] != ':' || server[user + 1] == '\\') {
        return NULL;
    }
    for (; user > 0; user--) {
        if (server[user - 1] == '@') {
            return server + user;
        }
    }
    return server;
}

bool hd_mount_describe(const struct hd_mount *m, char *out, size_t size) {
    const char *shown = shown_kind(m->type);
    bool fuse = shown != NULL && strcmp(shown, "FUSE") == 0, sub = hd_proc_starts_with(m->type, "fuse.");
    struct hd_text t;
    char at[32];
    if (shown == NULL) {
        return false;
    }
    const char *server = server_of(m->source, strcmp(shown, "Lustre") == 0);
    hd_text_init(&t, out, size);
    hd_text_str(&t, server != NULL && sub ? m->type + 5 : shown);
    if (server != NULL) {
        hd_text_str(&t, " server ");
        hd_text_mem(&t, server, hd_text_until(server, "?"));
        return true;
    }
    hd_text_str(&t, " file system ");
    hd_text_str(&t, fuse && sub ? m->type + 5 : "");
    hd_text_base_name(at, sizeof at, m->point);
    hd_text_str(&t, sub ? " at " : "at ");
    hd_text_str(&t, at[0] != '\0' ? at : "/");
    return true;
}

/* ---- the mount of a file ---------------------------------------------------------------------------- */

/* Returns the id of the mount that descriptor `fd` is on; 0: unknown. */
static uint64_t mount_of_descriptor(const struct hd_probe_context *ctx, int tid, int fd) {
    char path[48], text[256];
    uint64_t id = 0;
    hd_proc_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    hd_proc_read(ctx->proc_fd, path, text, sizeof text);
    const char *said = hd_proc_find_line(text, "mnt_id:");
    if (said != NULL) {
        hd_text_take_number(*said == '\t' ? said + 1 : said, &id);
    }
    return id;
}

/* Finds the mount with id `id`, or the mount that `path` lies on if `id` is 0. Of mounts with one mount point
 * the last one counts, because it hides the others. */
static void search(int fd, uint64_t id, const char *path, struct hd_probe *out) {
    struct hd_proc_lines lines;
    struct hd_mount m;
    char name[sizeof out->party.name];
    size_t longest = 1;
    hd_proc_lines_init(&lines, fd);
    for (char *line; (line = hd_proc_lines_next(&lines)) != NULL;) {
        if (!hd_mount_parse(line, &m)) {
            continue;
        }
        size_t covers = id != 0 ? (m.id == id ? longest : 0) : hd_mount_covers(m.point, path);
        if (covers >= longest) {
            longest = covers;
            out->party = (struct hd_party_seen){0};
            if (hd_mount_describe(&m, name, sizeof name)) {
                hd_evidence_set_party(out, HD_PARTY_MOUNT, 0, name);
            }
        }
    }
}

void hd_mount_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   struct hd_probe *out) {
    char path[PATH_BYTES] = "", table[32];
    uint64_t id = 0;
    if (hd_evidence_fd_kind(out) != HD_FD_FILE || hd_syscall_object(c->syscall_nr) == HD_OBJECT_NONE) {
        return;
    }
    if (!hd_file_path(ctx, tid, c, path, sizeof path)) {
        id = mount_of_descriptor(ctx, tid, out->evidence.descriptor.number);
    }
    hd_proc_task_path(table, sizeof table, tid, "mountinfo");
    int fd = path[0] == '/' || id != 0 ? hd_os_open(ctx->proc_fd, table) : -1;
    if (fd >= 0) {
        search(fd, id, path, out);
        hd_os_close(fd);
    }
}
