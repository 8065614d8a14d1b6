/* SPDX-License-Identifier: MIT */
#include "cli/reporter/loop_place.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "cli/reader/symbolicate.h"
#include "image/elf/elf_file.h"

#define NOTES_MAX 4096

/* The build-id among notes, as digits; empty: none. */
static void id_of_notes(const char *notes, size_t bytes, char *id, size_t size) {
    ElfW(Nhdr) n;
    id[0] = '\0';
    for (size_t at = 0; at + sizeof n <= bytes;) {
        memcpy(&n, notes + at, sizeof n);
        size_t name = at + sizeof n, content = name + (((size_t)n.n_namesz + 3) & ~(size_t)3);
        size_t end = content + (((size_t)n.n_descsz + 3) & ~(size_t)3);
        if (end > bytes || end <= at) {
            return;
        }
        bool gnu = n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0;
        for (size_t i = 0; gnu && i < n.n_descsz && 2 * i + 3 <= size; i++) {
            snprintf(id + 2 * i, 3, "%02x", (unsigned char)notes[content + i]);
        }
        at = gnu ? bytes : end;
    }
}

/* True: the file is a program of a fixed address, so that its offsets are addresses. */
static bool read_elf(const char *path, char *id, size_t size) {
    struct hd_elf_file f;
    struct stat st;
    ElfW(Phdr) p;
    char notes[NOTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool elf = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && hd_elf_file_read(&f, fd);
    id[0] = '\0';
    for (unsigned i = 0; elf && id[0] == '\0' && hd_elf_file_segment(&f, i, &p); i++) {
        if (p.p_type == PT_NOTE && p.p_filesz <= sizeof notes) {
            ssize_t n = pread(fd, notes, p.p_filesz, (off_t)p.p_offset);
            id_of_notes(notes, n > 0 ? (size_t)n : 0, id, size);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return elf && f.head.e_type == ET_EXEC;
}

/* `bias`: what is to be taken off an address for its offset. */
static json_t *module_at(const char *path, uint64_t base, uint64_t end, uint64_t *bias) {
    char id[2 * HD_BUILD_ID_MAX + 1];
    json_t *module = json_pack("{s:s, s:o, s:I}", "path", path, "base", json_sprintf("0x%" PRIx64, base),
                               "size", (json_int_t)(end - base));
    *bias = read_elf(path, id, sizeof id) ? 0 : base;
    if (id[0] != '\0') {
        json_object_set_new(module, "build_id", json_string(id));
    }
    return module;
}

/* A frame of a report, and its module. False: the address is in no file of the process. */
static bool add_frame(pid_t pid, uint64_t pc, json_t *frames, json_t *modules) {
    char path[64], file[PATH_MAX] = "", *line = NULL;
    size_t capacity = 0;
    uint64_t from = 0, to = 0, base = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && !found && getline(&line, &capacity, maps) > 0) {
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &from, &to, &at) != 2 ||
            line[at] != '/') {
            continue;
        }
        base = strcmp(line + at, file) == 0 ? base : from; /* of the file whose first part this is */
        snprintf(file, sizeof file, "%s", line + at);
        found = pc >= from && pc < to;
        if (found) {
            uint64_t bias;
            json_array_append_new(modules, module_at(line + at, base, to, &bias));
            json_array_append_new(frames,
                                  json_pack("{s:o, s:I, s:o, s:s}", "pc", json_sprintf("0x%" PRIx64, pc),
                                            "module", (json_int_t)json_array_size(modules) - 1, "offset",
                                            json_sprintf("0x%" PRIx64, pc - bias), "trust", "context"));
        }
    }
    free(line);
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* The interposer of epoll_wait is any_epoll_wait. */
static void copy_function(char *to, size_t size, const json_t *frame) {
    static const char own[] = "any_";
    const char *name = json_string_value(json_object_get(frame, "function"));
    name = name != NULL ? name : "";
    snprintf(to, size, "%s", name + (strncmp(name, own, sizeof own - 1) == 0 ? sizeof own - 1 : 0));
}

/* "libuv" of libuv.so.1.0.0, "select" of select.cpython-311-x86_64-linux-gnu.so */
static void set_module(struct loop_place *place, pid_t pid, const json_t *module) {
    const char *path = json_string_value(json_object_get(module, "path")), *name = base_name(path);
    char link[64], exe[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    place->of_program = path != NULL && strcmp(path, exe) == 0;
    snprintf(place->module, sizeof place->module, "%s", name != NULL ? name : "");
    char *end = strstr(place->module, ".cpython-");
    end = end != NULL ? end : strstr(place->module, ".so");
    if (end != NULL && end > place->module) {
        *end = '\0';
    }
}

void loop_place_read(struct loop_place *place, pid_t pid, uint64_t call_pc, uint64_t caller_pc,
                     struct symbolizer *s) {
    json_t *frames = json_array(), *modules = json_array();
    *place = (struct loop_place){.caller_pc = caller_pc};
    if (add_frame(pid, caller_pc, frames, modules)) {
        set_module(place, pid, json_array_get(modules, 0));
        bool call = s != NULL && add_frame(pid, call_pc, frames, modules);
        char now[32];
        time_t seconds = time(NULL);
        struct tm utc;
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc)); /* files are of now */
        json_t *report = json_pack("{s:s, s:{s:O}, s:O}", "started_at", now, "hot_stack", "frames", frames,
                                   "modules", modules);
        if (s != NULL && report != NULL) {
            report_symbolicate(report, s, geteuid(), REPORT_HOT, NULL);
            json_t *named = json_object_get(json_object_get(report, "hot_stack"), "frames");
            size_t at = 0; /* the caller's inlined functions come first: libc's poll, as headers have it */
            while (json_is_true(json_object_get(json_array_get(named, at), "inlined"))) {
                at++;
            }
            copy_function(place->function, sizeof place->function, json_array_get(named, at));
            copy_function(place->call, sizeof place->call,
                          call ? json_array_get(named, json_array_size(named) - 1) : NULL);
        }
        json_decref(report);
    }
    json_decref(frames);
    json_decref(modules);
}
