/* SPDX-License-Identifier: MIT
 *
 * Fills struct hd_app and struct hd_host from files of /proc and /etc. On the worker thread.
 */
#include "worker/host.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "base/script_argument.h"
#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"

static void cut_line(char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\n' || *text == '"') {
            *text = '\0';
            return;
        }
    }
}

/* Finds the line of `text` that starts with `key`, and copies the rest of that line. *out is empty if `text`
 * has no such line. */
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
    hd_text_take_number(text, &v);
    return v;
}

uint64_t hd_host_process_cpu_ns(const struct hd_probe_context *probe) {
    enum {
        TICK_NS = 10 * HD_NS_PER_MS /* USER_HZ is 100 on all CPUs that we support */
    };
    if (probe->pid == hd_os.get_pid()) {
        return hd_os_process_cpu_ns();
    }
    struct hd_proc_stat stat = hd_proc_stat_read(probe->proc_fd, "stat");
    return (stat.ticks_outside + stat.ticks_inside) * TICK_NS;
}

void hd_host_read_process(int proc_fd, struct hd_process *process) {
    char text[4096], value[32];
    hd_proc_read(proc_fd, "status", text, sizeof text);
    find_value(text, "VmRSS:\t", value, sizeof value);
    process->rss_bytes = number(value) * 1024;
    find_value(text, "TracerPid:\t", value, sizeof value);
    process->debugger = number(value) != 0;
}

static void fill_host(struct hd_program_facts *f) {
    char text[2048], value[32];
    hd_proc_read(AT_FDCWD, "/etc/os-release", text, sizeof text);
    find_value(text, "PRETTY_NAME=", f->os_version, sizeof f->os_version);
    hd_proc_read(AT_FDCWD, "/proc/sys/kernel/osrelease", f->kernel, sizeof f->kernel);
    cut_line(f->kernel);
    hd_proc_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
    find_value(text, "MemTotal:", value, sizeof value);
    f->host.memory_bytes = number(value) * 1024;
    hd_proc_read(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof text);
    f->host.cpus = (int)hd_proc_count_listed(text);
    f->host.os_version = f->os_version[0] != '\0' ? f->os_version : NULL;
    f->host.kernel = f->kernel[0] != '\0' ? f->kernel : NULL;
}

/* If the program is an interpreter, returns the name of the script that it runs, which is a part of `text`.
 * NULL: the program is no interpreter. */
static const char *script_of(int proc_fd, char *text, size_t size) {
    char *argv[16] = {NULL};
    long n = hd_proc_read(proc_fd, "cmdline", text, size);
    char *at = text, *end = text + (n > 0 ? n : 0);
    for (unsigned i = 0; i + 1 < sizeof argv / sizeof argv[0] && at < end; i++) {
        argv[i] = at;
        at += strnlen(at, (size_t)(end - at)) + 1;
    }
    return hd_script_argument(argv);
}

/* Names the program by the script that it runs. If it runs no script, names it by its executable. */
static void name_app(const char *executable, int proc_fd, char *name, size_t size) {
    char text[1024];
    const char *script = script_of(proc_fd, text, sizeof text);
    bool has_name = script != NULL && strcmp(script, ".") != 0 && strcmp(script, "..") != 0;
    hd_text_base_name(name, size, has_name ? script : executable);
}

/* Uses the name that the user gave. If the user gave none, makes a name from the script or the executable.
 * Stores the name in the record as well, for the process that settles this process's reports after its
 * death. */
static void fill_name(struct hd_program_facts *f, const struct hd_settings *s, struct hd_record_options *o,
                      int proc_fd) {
    if (s->app_name[0] == '\0') {
        name_app(f->executable, proc_fd, o->app_name, sizeof o->app_name);
        f->app.name = o->app_name;
    } else if (o->app_name[0] == '\0') {
        struct hd_text t;
        hd_text_init(&t, o->app_name, sizeof o->app_name);
        hd_text_str(&t, s->app_name);
    }
}

static void fill_app(struct hd_program_facts *f, const struct hd_settings *s, struct hd_record_options *o) {
    f->app = (struct hd_app){.name = s->app_name,
                             .version = s->app_version[0] != '\0' ? s->app_version : NULL,
                             .environment = s->environment[0] != '\0' ? s->environment : NULL,
                             .executable = f->executable,
                             .pid = hd_os.get_pid(),
                             .started_wall_ns = o->started_wall_ns};
    memcpy(f->app.session, o->session, HD_UUID_BYTES);
}

static void fill_build_id(struct hd_app *app, struct hd_modules *modules) {
    int index = hd_modules_program(modules);
    if (index >= 0) {
        app->build_id_bytes = modules->module[index].build_id_bytes;
        memcpy(app->build_id, modules->module[index].build_id, app->build_id_bytes);
    }
}

void hd_host_fill(struct hd_program_facts *facts, const struct hd_run *run, int proc_fd,
                  struct hd_modules *modules) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(facts->executable, sizeof facts->executable, path);
    hd_host_fill_named(facts, run, proc_fd, modules);
}

void hd_host_fill_named(struct hd_program_facts *facts, const struct hd_run *run, int proc_fd,
                        struct hd_modules *modules) {
    fill_host(facts);
    fill_app(facts, &run->settings, &run->record->options);
    fill_name(facts, &run->settings, &run->record->options, proc_fd);
    fill_build_id(&facts->app, modules);
    facts->host.origin = &run->record->options.origin;
}
