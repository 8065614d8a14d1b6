/* SPDX-License-Identifier: MIT
 *
 * At the process's end: no hang is on, and ordinary code. No allocation all the same.
 */
#include "trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "image/modules.h"
#include "os/os.h"
#include "os/ticks.h"
#include "report/json.h"

#define LIMIT_NS (1 * HD_NS_PER_MS)
#define PATH_BYTES 4096

struct file {
    const struct hd_trace *trace;
    struct hd_json json;
    int fd;
    uint64_t limit_ns;
    uint64_t below_rows, below_calls, below_self_ns;
    struct hd_modules modules;
};

static struct file file; /* large */

static int put(void *ctx, const char *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        long wrote = hd_os.write(((struct file *)ctx)->fd, bytes + done, n - done);
        if (wrote == 0 || (wrote < 0 && wrote != -EINTR)) {
            return wrote == 0 ? -EIO : (int)wrote;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static uint64_t ns_of(uint64_t ticks) {
    return hd_ticks_to_ns(ticks, file.trace->ns_per_tick_32);
}

extern char **environ;

/* getenv() is for programs of one thread. NULL: it is not set, or empty. */
static const char *environment(const char *name) {
    size_t n = strlen(name);
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1] != '\0') {
            return *e + n + 1;
        }
    }
    return NULL;
}

/* HANGDOG_TRACE, in which %p is the process's number. */
static void make_path(struct hd_text *path) {
    const char *name = environment("HANGDOG_TRACE"), *number;
    name = name != NULL ? name : "hangdog-trace.%p.json";
    number = strstr(name, "%p");
    if (number == NULL) {
        hd_text_str(path, name);
        return;
    }
    hd_text_mem(path, name, (size_t)(number - name));
    hd_text_u64(path, (uint64_t)hd_os.get_pid());
    hd_text_str(path, number + 2);
}

/* HANGDOG_TRACE_LIMIT_US: rows whose longest call took less are summed up. */
static uint64_t limit_ns(void) {
    const char *text = environment("HANGDOG_TRACE_LIMIT_US");
    char *end;
    uint64_t us = text != NULL ? strtoull(text, &end, 10) : 0;
    return text != NULL && *end == '\0' && end != text && us < UINT64_MAX / 1000 ? us * 1000 : LIMIT_NS;
}

static void write_place(uint64_t function) {
    int module = hd_modules_at(&file.modules, function);
    if (module >= 0) {
        hd_json_u64(&file.json, "module", (uint64_t)module);
        hd_json_hex(&file.json, "offset", function - file.modules.module[module].bias);
    } else {
        hd_json_hex(&file.json, "pc", function);
    }
}

static void write_row(const struct hd_trace_row *row) {
    uint64_t key = hd_trace_get(&row->key), longest = ns_of(hd_trace_get(&row->longest));
    struct hd_json *j = &file.json;
    if (longest < file.limit_ns) {
        file.below_rows++;
        file.below_calls += hd_trace_get(&row->count);
        file.below_self_ns += ns_of(hd_trace_get(&row->self));
        return;
    }
    hd_json_object(j, NULL);
    write_place(key >> HD_TRACE_DEPTH_BITS);
    hd_json_str(j, "trust", "context"); /* a function's beginning, and no return address */
    hd_json_u64(j, "depth", key % HD_TRACE_DEPTHS);
    hd_json_u64(j, "count", hd_trace_get(&row->count));
    hd_json_u64(j, "total_ns", ns_of(hd_trace_get(&row->total)));
    hd_json_u64(j, "self_ns", ns_of(hd_trace_get(&row->self)));
    hd_json_u64(j, "max_ns", longest);
    if (file.trace->launch_ns != 0 && hd_trace_get(&row->launch_count) != 0) {
        hd_json_u64(j, "launch_count", hd_trace_get(&row->launch_count));
        hd_json_u64(j, "launch_total_ns", ns_of(hd_trace_get(&row->launch_total)));
        hd_json_u64(j, "launch_self_ns", ns_of(hd_trace_get(&row->launch_self)));
    }
    hd_json_end_object(j);
}

static void write_head(void) {
    struct hd_json *j = &file.json;
    char path[PATH_BYTES], name[256];
    hd_image_program_path(path, sizeof path);
    hd_text_base_name(name, sizeof name, path);
    hd_json_str(j, "format", "hangdog-trace/1");
    hd_json_str(j, "app", name);
    hd_json_u64(j, "pid", (uint64_t)hd_os.get_pid());
    hd_json_time(j, "started_at", file.trace->started_wall_ns);
    hd_json_u64(j, "duration_ns", file.trace->duration_ns);
    if (file.trace->launch_ns != 0) {
        hd_json_u64(j, "launch_ns", file.trace->launch_ns);
    }
    hd_json_u64(j, "limit_ns", file.limit_ns);
    hd_json_u64(j, "threads", file.trace->threads);
    hd_json_u64(j, "lost", hd_trace_get(&file.trace->calls->lost));
}

static void write_modules(void) {
    struct hd_json *j = &file.json;
    hd_json_array(j, "modules");
    for (uint32_t i = 0; i < file.modules.count; i++) {
        const struct hd_module *m = &file.modules.module[i];
        hd_json_object(j, NULL);
        hd_json_str(j, "path", hd_module_path(&file.modules, i));
        if (m->build_id_bytes != 0) {
            hd_json_hex_bytes(j, "build_id", m->build_id, m->build_id_bytes);
        }
        hd_json_end_object(j);
    }
    hd_json_end_array(j);
}

static int write_document(void) {
    static char buffer[1 << 16];
    struct hd_json *j = &file.json;
    hd_json_init(j, buffer, sizeof buffer, (struct hd_sink){.put = put, .ctx = &file});
    hd_json_object(j, NULL);
    write_head();
    hd_json_array(j, "calls");
    for (uint32_t i = 0; i < HD_TRACE_ROWS; i++) {
        if (hd_trace_get(&file.trace->calls->row[i].key) != 0) {
            write_row(&file.trace->calls->row[i]);
        }
    }
    hd_json_end_array(j);
    hd_json_object(j, "below");
    hd_json_u64(j, "functions", file.below_rows);
    hd_json_u64(j, "calls", file.below_calls);
    hd_json_u64(j, "self_ns", file.below_self_ns);
    hd_json_end_object(j);
    write_modules();
    hd_json_end_object(j);
    return hd_json_finish(j);
}

static void print_failure(const char *path) {
    char line[PATH_BYTES + 64];
    struct hd_text t;
    hd_text_init(&t, line, sizeof line);
    hd_text_str(&t, "hangdog-trace: cannot write ");
    hd_text_str(&t, path);
    hd_text_str(&t, "\n");
    (void)hd_os.write(2, line, t.used);
}

void hd_trace_write(const struct hd_trace *t) {
    char name[PATH_BYTES];
    struct hd_text path;
    if (hd_os_has_more_rights()) { /* the user who set the environment has fewer rights */
        return;
    }
    hd_text_init(&path, name, sizeof name);
    make_path(&path);
    file.trace = t;
    file.limit_ns = limit_ns();
    file.fd = hd_os.open_at(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    int memory = hd_os_open_memory();
    hd_modules_init_live(&file.modules, memory);
    if (file.fd < 0 || write_document() != 0) {
        print_failure(name);
    }
    hd_os_close(file.fd);
    hd_os_close(memory);
}
