/* SPDX-License-Identifier: MIT
 *
 * Which unit and container a process's cgroup names, and which name and image the runtimes' files give them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chance.h"
#include "cli/outside/container_files.h"
#include "cli/outside/origin.h"
#include "folder.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ff23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "11111111-2222-3333-4444-555555555555"
#define POD_LOW "11111111_2222_3333_4444_555555555555"

struct want {
    const char *cgroup, *unit, *id, *pod, *folder;
};

static void cgroups_name_units_and_containers(void **state) {
    (void)state;
    static const struct want all[] = {
        {"0::/system.slice/nginx.service\n", "nginx.service", "", "", ""},
        {"0::/system.slice/system-app.slice/app@7.service/worker\n", "app@7.service", "", "", ""},
        {"0::/user.slice/user-0.slice/session-3.scope\n", "", "", "", ""},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x\\x2dy-1.scope\n",
         "app-x\\x2dy-1.scope", "", "", ""},
        {"0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", "user@1000.service", "", "", ""},
        {"0::/system.slice/docker-" ID ".scope\n", "", ID, "", "/system.slice/docker-" ID ".scope"},
        {"0::/system.slice/docker-" ID ".scope/system.slice/web.service\n", "web.service", ID, "",
         "/system.slice/docker-" ID ".scope"},
        {"0::/system.slice/docker-" ID ".scope/docker/" OTHER "\n", "", ID, "",
         "/system.slice/docker-" ID ".scope"},
        {"12:cpu,cpuacct:/docker/" ID "\n1:name=systemd:/docker/" ID "\n0::/system.slice/docker.service\n",
         "docker.service", ID, "", "/cpu,cpuacct/docker/" ID},
        {"1:name=systemd:/system.slice/docker-" ID ".scope\n", "", ID, "",
         "/systemd/system.slice/docker-" ID ".scope"},
        {"0::/machine.slice/libpod-" ID ".scope/container\n", "", ID, "",
         "/machine.slice/libpod-" ID ".scope"},
        {"0::/system.slice/web.service/libpod-payload-" ID "\n", "web.service", ID, "",
         "/system.slice/web.service/libpod-payload-" ID},
        {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_LOW
         ".slice/cri-containerd-" ID ".scope\n",
         "", ID, POD,
         "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_LOW ".slice/cri-containerd-" ID
         ".scope"},
        {"0::/kubepods/besteffort/pod" POD "/" ID "\n", "", ID, POD, "/kubepods/besteffort/pod" POD "/" ID},
        {"0::/system.slice/containerd.service/kubepods-pod" POD_LOW ".slice:cri-containerd:" ID "\n",
         "containerd.service", ID, "",
         "/system.slice/containerd.service/kubepods-pod" POD_LOW ".slice:cri-containerd:" ID},
        {"0::/lxc.payload.web/system.slice/cron.service\n", "cron.service", "web", "", "/lxc.payload.web"},
        {"0::/../../docker-" ID ".scope\n", "", ID, "", ""}, /* of another cgroup namespace: no folder */
        /* no names of a unit, no ids */
        {"0::/system.slice/\033[31mred.service\n", "", "", "", ""},
        {"0::/system.slice/.service/a b.service\n", ".service", "", "", ""},
        {"0::/x" ID "\n0::/docker-" ID "0.slice\n", "", "", "", ""},
        {"", "", "", "", ""},
        {":", "", "", "", ""},
        {"0:\n::\n0::\n/\n", "", "", "", ""},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hd_origin out = {.host = ""};
        struct origin_folder folder;
        print_message("%s", all[i].cgroup);
        origin_of_cgroup(all[i].cgroup, &out, &folder);
        assert_string_equal(out.unit, all[i].unit);
        assert_string_equal(out.container_id, all[i].id);
        assert_string_equal(out.pod, all[i].pod);
        assert_string_equal(folder.path, all[i].folder);
    }
}

static void texts_of_chance_do_no_harm(void **state) {
    (void)state;
    static const char *const words[] = {
        "0::", "/", "\n",    ID,  "docker-",  ".scope", ".service", "pod",   POD,  "lxc/", "libpod",
        "..",  ":", "name=", "_", "kubepods", " ",      "/etc/",    "hosts", "\t", "\xff", "lxc.payload."};
    char text[8192];
    for (int run = 0; run < 20000; run++) {
        size_t used = 0;
        for (uint32_t n = any(60); n > 0; n--) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                     words[any(sizeof words / sizeof words[0])]);
        }
        text[used] = '\0';
        struct hd_origin out = {.host = ""};
        struct origin_folder folder;
        origin_of_cgroup(text, &out, &folder);
        assert_null(strstr(folder.path, ".."));
        assert_true(strlen(out.container_id) < sizeof out.container_id);
        origin_of_mounts(text, &out);
    }
}

static void a_container_finds_itself_by_its_mounts(void **state) {
    (void)state;
    struct hd_origin out = {.host = ""};
    origin_of_mounts("1 2 0:5 / / rw - overlay overlay rw\n"
                     "3 2 8:1 /var/lib/docker/containers/" ID
                     "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
                     "4 2 8:1 /var/lib/docker/containers/" OTHER "/x /data rw - ext4 /dev/sda1 rw\n",
                     &out);
    assert_string_equal(out.container_id, ID);
    out = (struct hd_origin){.host = ""};
    origin_of_mounts("3 2 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" ID
                     "/hostname /etc/hostname rw - ext4 x rw\n"
                     "4 2 8:1 /var/lib/kubelet/pods/" POD "/etc-hosts /etc/hosts rw - ext4 x rw",
                     &out);
    assert_string_equal(out.container_id, "");
    assert_string_equal(out.pod, POD);
}

static void write_file(const char *root, const char *folder, const char *name, const char *text) {
    char path[1024];
    const int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    for (char *end = path + strlen(root) + 1; (end = strchr(end, '/')) != NULL; end++) {
        *end = '\0';
        (void)mkdir(path, 0700);
        *end = '/';
    }
    assert_in_range(length, 1, sizeof path - 1);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void files_name_containers(void **state) {
    (void)state;
    char root[] = "/tmp/hangdog-origin-XXXXXX";
    assert_non_null(mkdtemp(root));
    static const struct {
        const char *folder, *file, *text, *name, *image;
    } all[] = {
        {"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID, "config.json",
         "{\"annotations\": {\"io.kubernetes.cri.container-name\": \"app\", \"io.kubernetes.cri.image-name\":"
         " \"registry/app:3\"}}",
         "app", "registry/app:3"},
        {"/var/lib/containers/storage/overlay-containers", "containers.json",
         "[{\"id\": \"" OTHER "\"}, 3, {\"id\": \"" ID "\", \"names\": [\"shop\"], \"metadata\":"
         " \"{\\\"image-name\\\": \\\"docker.io/library/redis:7\\\"}\"}]",
         "shop", "docker.io/library/redis:7"},
        {"/var/lib/docker/containers/" ID, "config.v2.json",
         "{\"Name\": \"/shop-web-1\", \"Config\": {\"Image\": \"nginx:1.25\"}}", "shop-web-1", "nginx:1.25"},
        {"/var/lib/docker/containers/" ID, "config.v2.json",
         "{\"Name\": \"/a\\u001b[31m b\", \"Config\": {\"Image\": \"x\\ny\"}}", "a?[31m?b", "x?y"},
        {"/var/lib/docker/containers/" ID, "config.v2.json", "{\"Name\": [], \"Config\": {\"Image\": \"x\"}}",
         "", "x"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hd_origin out = {.container_id = ID};
        write_file(root, all[i].folder, all[i].file, all[i].text);
        container_files_read(root, 0, &out);
        assert_string_equal(out.container_name, all[i].name);
        assert_string_equal(out.image, all[i].image);
    }
    /* another user's container: its files are not read */
    struct hd_origin out = {.container_id = ID};
    container_files_read(root, geteuid() + 1, &out);
    assert_string_equal(out.image, "");
    /* a user's own */
    setenv("HOME", "/home/me", 1);
    write_file(root, "/home/me/.local/share/containers/storage/overlay-containers",
               "volatile-containers.json",
               "[{\"id\": \"" ID "\", \"metadata\": \"{\\\"name\\\": \\\"mine\\\"}\"}]");
    if (geteuid() != 0) {
        container_files_read(root, geteuid(), &out);
        assert_string_equal(out.container_name, "mine");
    }
    /* no JSON, no file, a link */
    write_file(root, "/var/lib/docker/containers/" ID, "config.v2.json", "{\"Name\": ");
    out = (struct hd_origin){.container_id = OTHER};
    container_files_read(root, 0, &out);
    assert_string_equal(out.image, "");
    assert_int_equal(folder_remove(root), 0);
}

static void a_process_has_a_place(void **state) {
    (void)state;
    struct hd_origin out;
    char host[256];
    assert_int_equal(gethostname(host, sizeof host), 0);
    outside_origin(getpid(), true, &out);
    assert_string_equal(out.host, host);
    outside_origin(INT32_MAX, false, &out);
    assert_string_equal(out.host, "");
    assert_string_equal(out.unit, "");
    assert_string_equal(out.container_id, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgroups_name_units_and_containers),
        cmocka_unit_test(texts_of_chance_do_no_harm),
        cmocka_unit_test(a_container_finds_itself_by_its_mounts),
        cmocka_unit_test(files_name_containers),
        cmocka_unit_test(a_process_has_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
