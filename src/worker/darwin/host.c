/* SPDX-License-Identifier: MIT
 *
 * Fills struct hd_app and struct hd_host by sysctl. On the worker thread.
 */
#include "worker/host.h"

#include <string.h>

#include "base/text.h"
#include "os/darwin/mach.h"
#include "os/darwin/system_state.h"
#include "os/darwin/system_values.h"
#include "os/darwin/thermal_state.h"

static const char *or_null(const char *text) {
    return text[0] != '\0' ? text : NULL;
}

uint64_t hd_host_process_cpu_ns(const struct hd_probe_context *probe) {
    (void)probe; /* Hangdog watches no other process here */
    return hd_os_process_cpu_ns();
}

void hd_host_read_process(int proc_fd, struct hd_process *process) {
    struct hd_mach_task task;
    (void)proc_fd;
    int rc = hd_mach.task(&task);
    process->rss_bytes = rc == 0 ? task.footprint_bytes : 0;
    process->debugger = hd_system_has_debugger();
    process->system = (struct hd_system_state){.role = rc == 0 ? hd_system_role(task.role) : NULL,
                                               .memory_pressure = hd_system_memory_pressure(),
                                               .thermal_state = hd_thermal_state_word()};
}

/* The name of the system, its version and its build: "macOS 14.1 (23B74)". */
static void write_os_version(struct hd_program_facts *f) {
    char version[32], build[32];
    struct hd_text t;
    hd_system_text("kern.osproductversion", version, sizeof version);
    hd_system_text("kern.osversion", build, sizeof build);
    hd_text_init(&t, f->os_version, sizeof f->os_version);
    hd_text_str(&t, hd_system_name());
    if (version[0] != '\0') {
        hd_text_str(&t, " ");
        hd_text_str(&t, version);
    }
    if (build[0] != '\0') {
        hd_text_str(&t, " (");
        hd_text_str(&t, build);
        hd_text_str(&t, ")");
    }
}

static void fill_host(struct hd_program_facts *f) {
    char release[48];
    struct hd_text t;
    write_os_version(f);
    hd_system_text("kern.osrelease", release, sizeof release);
    hd_text_init(&t, f->kernel, sizeof f->kernel);
    hd_text_str(&t, release[0] != '\0' ? "Darwin " : "");
    hd_text_str(&t, release);
    f->host.memory_bytes = hd_system_number("hw.memsize");
    f->host.cpus = (int)hd_system_number("hw.logicalcpu");
    f->host.os_version = or_null(f->os_version);
    hd_system_text(hd_system_model_name(), f->model, sizeof f->model);
    f->host.kernel = or_null(f->kernel);
    f->host.model = or_null(f->model);
    f->host.os = hd_system_word();
}

static void fill_app(struct hd_program_facts *f, const struct hd_settings *s, struct hd_record_options *o) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(f->executable, sizeof f->executable, path);
    f->app = (struct hd_app){.name = s->app_name,
                             .version = or_null(s->app_version),
                             .environment = or_null(s->environment),
                             .executable = f->executable,
                             .pid = hd_os.get_pid(),
                             .started_wall_ns = o->started_wall_ns};
    memcpy(f->app.session, o->session, HD_UUID_BYTES);
    if (s->app_name[0] == '\0') {
        hd_text_base_name(o->app_name, sizeof o->app_name, path);
        f->app.name = o->app_name;
    } else if (o->app_name[0] == '\0') {
        struct hd_text t;
        hd_text_init(&t, o->app_name, sizeof o->app_name);
        hd_text_str(&t, s->app_name);
    }
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
    (void)proc_fd;
    fill_host(facts);
    fill_app(facts, &run->settings, &run->record->options);
    fill_build_id(&facts->app, modules);
}
