/* SPDX-License-Identifier: MIT */
#include "cli/outside/container_files.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/json_text.h"

#define FILE_MAX (4L << 20) /* podman has one file for all containers */

/* Copies printable ASCII; another byte becomes a question mark. */
static void copy(char to[HD_ORIGIN_NAME], const char *from) {
    size_t n = 0;
    for (; from[n] != '\0' && n < HD_ORIGIN_NAME - 1; n++) {
        to[n] = from[n] > ' ' && from[n] <= '~' ? from[n] : '?';
    }
    to[n] = '\0';
}

static void take(struct hd_origin *out, const char *name, const char *image) {
    copy(out->container_name, name[0] == '/' ? name + 1 : name); /* docker has a slash before it */
    copy(out->image, image);
}

/* NULL: no such file, or no JSON of a permitted size. */
static json_t *load(const char *root, const char *folder, const char *id, const char *file) {
    char path[PATH_MAX];
    struct stat of;
    json_t *json = NULL;
    if (snprintf(path, sizeof path, "%s%s%s%s", root, folder, id, file) >= (int)sizeof path) {
        return NULL;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &of) == 0 && S_ISREG(of.st_mode) && of.st_size > 0 && of.st_size <= FILE_MAX) {
        json = json_loadfd(fd, 0, NULL);
    }
    close(fd);
    return json;
}

static bool read_docker(const char *root, struct hd_origin *out) {
    json_t *of = load(root, "/var/lib/docker/containers/", out->container_id, "/config.v2.json");
    const char *image = json_text(json_object_get(of, "Config"), "Image");
    const bool found = image[0] != '\0';
    if (found) {
        take(out, json_text(of, "Name"), image);
    }
    json_decref(of);
    return found;
}

/* podman and CRI-O: a list of containers. `metadata` is a JSON text of its own. */
static bool read_storage(const char *root, const char *storage, const char *file, struct hd_origin *out) {
    json_t *all = load(root, storage, "", file), *one;
    bool found = false;
    size_t i;
    json_array_foreach(all, i, one) {
        if (!found && strcmp(json_text(one, "id"), out->container_id) == 0) {
            json_t *meta = json_loads(json_text(one, "metadata"), 0, NULL);
            const char *first = json_string_value(json_array_get(json_object_get(one, "names"), 0));
            const char *name = json_text(meta, "name");
            take(out, name[0] != '\0' || first == NULL ? name : first, json_text(meta, "image-name"));
            json_decref(meta);
            found = true;
        }
    }
    json_decref(all);
    return found;
}

static bool read_storages(const char *root, const char *home, struct hd_origin *out) {
    static const char *const files[] = {
        "/overlay-containers/containers.json", "/overlay-containers/volatile-containers.json",
        "/vfs-containers/containers.json", "/vfs-containers/volatile-containers.json"};
    char storage[PATH_MAX];
    bool found = false;
    if (snprintf(storage, sizeof storage, "%s/containers/storage", home) >= (int)sizeof storage) {
        return false;
    }
    for (size_t i = 0; !found && i < sizeof files / sizeof files[0]; i++) {
        found = read_storage(root, storage, files[i], out);
    }
    return found;
}

/* Kubernetes on containerd: the description of the container for runc has them as annotations. */
static bool read_containerd(const char *root, const char *folder, struct hd_origin *out) {
    json_t *of = load(root, folder, out->container_id, "/config.json");
    const json_t *notes = json_object_get(of, "annotations");
    const char *image = json_text(notes, "io.kubernetes.cri.image-name");
    const bool found = image[0] != '\0';
    if (found) {
        take(out, json_text(notes, "io.kubernetes.cri.container-name"), image);
    }
    json_decref(of);
    return found;
}

void container_files_read(const char *root, uid_t owner, struct hd_origin *out) {
    static const char containerd[] = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/",
                      k3s[] = "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/";
    const char *home = getenv("HOME");
    char own[PATH_MAX];
    if (strlen(out->container_id) != 64) { /* no id of theirs: LXC */
        return;
    }
    if (owner == 0) {
        (void)(read_docker(root, out) || read_storages(root, "/var/lib", out) ||
               read_containerd(root, containerd, out) || read_containerd(root, k3s, out));
    } else if (owner == geteuid() && home != NULL) {
        snprintf(own, sizeof own, "%s/.local/share", home);
        read_storages(root, own, out);
    }
}
