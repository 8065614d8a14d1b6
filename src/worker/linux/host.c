/* SPDX-License-Identifier: MIT
 *
 * Worker: what reports say of the machine and the program, read at the start. No allocation.
 */
#include "worker/host.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/script_argument.h"
#include "base/text.h"
#include "os/linux/proc_files.h"
#include "worker/worker.h"

static void cut_line(char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\n' || *text == '"') {
            *text = '\0';
            return;
        }
    }
}

/* The value behind `key`, up to the line's end; empty when it is not there. */
static void find_value(const char *text, const char *key, char *out, size_t size) {
    const char *p = hd_proc_find_line(text, key);
    struct hd_text t;
    hd_text_init(&t, out, size);
    for (; p != NULL && (*p == ' ' || *p == '"'); p++) {
    }
    hd_text_str(&t, p != NULL ? p : "");
    cut_line(out);
}

static uint64_t number(const char *text) {
    uint64_t v;
    hd_proc_take_number(text, &v);
    return v;
}

void hd_host_read_process(int proc_fd, struct hd_process *process) {
    char text[4096], value[32];
    hd_proc_read(proc_fd, "status", text, sizeof text);
    find_value(text, "VmRSS:\t", value, sizeof value);
    process->rss_bytes = number(value) * 1024;
    find_value(text, "TracerPid:\t", value, sizeof value);
    process->debugger = number(value) != 0;
}

static void fill_host(struct hd_worker *k) {
    char text[2048], value[32];
    hd_proc_read(AT_FDCWD, "/etc/os-release", text, sizeof text);
    find_value(text, "PRETTY_NAME=", k->os_version, sizeof k->os_version);
    hd_proc_read(AT_FDCWD, "/proc/sys/kernel/osrelease", k->kernel, sizeof k->kernel);
    cut_line(k->kernel);
    hd_proc_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    find_value(text, "MemTotal:", value, sizeof value);
    k->host.memory_bytes = number(value) * 1024;
    hd_proc_read(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof text);
    k->host.cpus = (int)hd_proc_count_listed(text);
    k->host.os_version = k->os_version[0] != '\0' ? k->os_version : NULL;
    k->host.kernel = k->kernel[0] != '\0' ? k->kernel : NULL;
}

/* The script that this process runs, as people call the program; NULL: it is no interpreter. `text` keeps it.
 */
static const char *script_of(struct hd_worker *k, char *text, size_t size) {
    char *argv[16] = {NULL};
    long n = hd_proc_read(k->probe.proc_fd, "cmdline", text, size);
    char *at = text, *end = text + (n > 0 ? n : 0);
    for (unsigned i = 0; i + 1 < sizeof argv / sizeof argv[0] && at < end; i++) {
        argv[i] = at;
        at += strnlen(at, (size_t)(end - at)) + 1;
    }
    return hd_script_argument(argv);
}

/* `name` is the record's: the process that settles a dead one has no other. */
static void name_app(struct hd_worker *k, char *name, size_t size) {
    char text[1024];
    const char *script = script_of(k, text, sizeof text);
    bool has_name = script != NULL && strcmp(script, ".") != 0 && strcmp(script, "..") != 0;
    hd_text_base_name(name, size, has_name ? script : k->executable);
    k->app.name = name;
}

static void fill_app(struct hd_worker *k) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(k->executable, sizeof k->executable, path);
    const struct hd_settings *s = &k->run->settings;
    k->app = (struct hd_app){.name = s->app_name,
                             .version = s->app_version[0] != '\0' ? s->app_version : NULL,
                             .environment = s->environment[0] != '\0' ? s->environment : NULL,
                             .executable = k->executable,
                             .pid = hd_os.get_pid(),
                             .started_wall_ns = k->run->record->options.started_wall_ns};
    memcpy(k->app.session, k->run->record->options.session, HD_UUID_BYTES);
    struct hd_record_options *o = &k->run->record->options;
    if (s->app_name[0] == '\0') {
        name_app(k, o->app_name, sizeof o->app_name);
    } else if (o->app_name[0] == '\0') {
        struct hd_text t;
        hd_text_init(&t, o->app_name, sizeof o->app_name);
        hd_text_str(&t, s->app_name);
    }
    int index = hd_modules_at(&k->modules, getauxval(AT_ENTRY));
    if (index >= 0) {
        k->app.build_id_bytes = k->modules.module[index].build_id_bytes;
        memcpy(k->app.build_id, k->modules.module[index].build_id, k->app.build_id_bytes);
    }
}

void hd_host_fill(struct hd_worker *k) {
    fill_host(k);
    fill_app(k);
}
