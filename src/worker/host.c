/* SPDX-License-Identifier: MIT
 *
 * Ordinary code, run once on the worker thread at start: what the report says of the machine and the
 * program, the kept descriptors, the worker's buffers.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

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

void hd_host_read_process(struct hd_worker *k) {
    char text[4096], value[32];
    hd_proc_read(k->probe.proc_fd, "status", text, sizeof text);
    find_value(text, "VmRSS:\t", value, sizeof value);
    k->rss_bytes = number(value) * 1024;
    find_value(text, "TracerPid:\t", value, sizeof value);
    k->debugger = number(value) != 0;
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

static void fill_app(struct hd_worker *k) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(k->executable, sizeof k->executable, path);
    const struct hd_settings *s = &k->run->settings;
    k->app = (struct hd_app){.name = s->app_name[0] != '\0' ? s->app_name : k->executable,
                             .version = s->app_version[0] != '\0' ? s->app_version : NULL,
                             .environment = s->environment[0] != '\0' ? s->environment : NULL,
                             .executable = k->executable,
                             .pid = hd_os.get_pid(),
                             .started_wall_ns = k->run->record->options.started_wall_ns};
    memcpy(k->app.session, k->run->record->options.session, HD_UUID_BYTES);
    if (k->run->record->options.app_name[0] ==
        '\0') { /* who closes the books of a dead process has only this */
        struct hd_text t;
        hd_text_init(&t, k->run->record->options.app_name, sizeof k->run->record->options.app_name);
        hd_text_str(&t, k->app.name);
    }
    int index = hd_modules_at(&k->modules, getauxval(AT_ENTRY));
    if (index >= 0) {
        k->app.build_id_bytes = k->modules.module[index].build_id_bytes;
        memcpy(k->app.build_id, k->modules.module[index].build_id, k->app.build_id_bytes);
    }
}

static size_t round_up(size_t n) {
    return (n + 63) & ~(size_t)63;
}

size_t hd_worker_bytes(void) {
    return round_up(sizeof(struct hd_worker)) + round_up(hd_report_scratch_bytes()) +
           round_up(hd_unwinder_bytes());
}

void hd_worker_init(struct hd_worker *k) {
    uint8_t *more = (uint8_t *)k + round_up(sizeof *k);
    k->scratch = (struct hd_report_scratch *)(void *)more;
    k->unwinder = (struct hd_unwinder *)(void *)(more + round_up(hd_report_scratch_bytes()));
    hd_probe_context_open(&k->probe);
    if (k->run->settings.kept_file[0] != '\0') {
        int kept = hd_os.open_at(AT_FDCWD, k->run->settings.kept_file, O_RDWR | O_CLOEXEC, 0);
        atomic_store_explicit(&k->run->channel.worker_tid, k->own_tid, memory_order_relaxed);
        atomic_store_explicit(&k->run->channel.kept_fd, kept < 0 ? 0 : kept + 1, memory_order_release);
    }
    hd_modules_init_live(&k->modules, k->probe.mem_fd);
    hd_unwinder_init(k->unwinder, &k->modules);
    hd_scripts_init(&k->scripts, &k->modules);
    hd_tree_pool_init(&k->pool);
    fill_host(k);
    fill_app(k);
    hd_probe_context_init(&k->probe, &k->modules, k->own_tid);
    k->runtime_fd = k->run->settings.runtime[0] != '/' ? -1
                                                       : hd_os.open_at(AT_FDCWD, k->run->settings.runtime,
                                                                       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int rc = hd_spool_open(&k->spool, k->run->settings.spool);
    k->spool.max_reports = k->run->settings.spool_reports == UINT32_MAX ? 0 : k->run->settings.spool_reports;
    if (rc != 0) { /* noted once; the program goes on */
        atomic_store_explicit(&k->run->record->spool_error, -rc, memory_order_relaxed);
    }
}
