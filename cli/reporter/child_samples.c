/* SPDX-License-Identifier: MIT */
#include "cli/reporter/child_samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reporter/main_thread.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

#define STEP_MIN_NS (50 * HD_NS_PER_MS)
#define STEP_MAX_NS (10 * HD_NS_PER_S)
#define STEPS 8 /* in a part of the run as long as all before it */
#define DEPTH_MAX 5
#define LIVED_NS HD_NS_PER_S /* a child with a shorter life is a helper, and does not count */
#define WORDS_BYTES 1024

static struct child_sample *sample_of(struct child_samples *s, pid_t pid, uint64_t now_ns) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->child[i].pid == pid) {
            return &s->child[i];
        }
    }
    for (uint32_t i = 0; i < s->count; i++) { /* replace a short-lived child */
        struct child_sample *c = &s->child[i];
        if (s->count == CHILD_SAMPLES_MAX && c->last_ns - c->first_ns < LIVED_NS && c->last_ns < now_ns) {
            *c = (struct child_sample){.pid = pid, .first_ns = now_ns};
            return c;
        }
    }
    if (s->count == CHILD_SAMPLES_MAX) {
        return NULL;
    }
    s->child[s->count] = (struct child_sample){.pid = pid, .first_ns = now_ns};
    return &s->child[s->count++];
}

/* The word of the program's that the child's first word is. */
static uint32_t find_word(char *const *words, const char *first) {
    for (uint32_t i = 1; words[0] != NULL && words[i] != NULL; i++) {
        if (strcmp(base_name(words[i]), base_name(first)) == 0) {
            return i;
        }
    }
    return 0;
}

/* "node (server.js)": what an interpreter runs says more than its name. A process may become another program,
 * and a browser's helper another one: it changes its words, and puts spaces between them. */
static void set_name(struct child_sample *c, char *const *words) {
    static const char page[] = "--type=renderer";
    char path[64], name[16 + 1], text[WORDS_BYTES];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)c->pid);
    if (hd_proc_read(AT_FDCWD, path, name, sizeof name) <= 0) {
        return;
    }
    name[strcspn(name, "\n")] = '\0';
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)c->pid);
    long n = hd_proc_read(AT_FDCWD, path, text, sizeof text);
    if (n <= 0) {
        return;
    }
    c->page = memmem(text, (size_t)n, page, sizeof page - 1) != NULL;
    c->word = find_word(words, text);
    const char *second = text + strlen(text) + 1;
    bool file = second < text + n && second[0] != '-' && strchr(second, '.') != NULL;
    snprintf(c->name, sizeof c->name, file ? "%s (%.28s)" : "%s", name, file ? base_name(second) : "");
}

static void take_child(struct child_samples *s, pid_t pid, char *const *words, uint64_t now_ns) {
    struct child_sample *c = sample_of(s, pid, now_ns);
    enum main_thread_state state;
    if (c == NULL) {
        return;
    }
    set_name(c, words);
    c->last_ns = now_ns;
    if (main_thread_read_state(pid, &state)) {
        c->looks++;
        c->waits += state == MAIN_THREAD_LOOP;
    }
}

/* The children of each thread of `pid`, and theirs. */
static void take_children(struct child_samples *s, pid_t pid, char *const *words, uint64_t now_ns,
                          unsigned depth) {
    char path[64], text[WORDS_BYTES], *end;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    const struct dirent *e;
    for (unsigned seen = 0; dir != NULL && seen < 64 && (e = readdir(dir)) != NULL; seen++) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, e->d_name);
        if (e->d_name[0] == '.' || hd_proc_read(AT_FDCWD, path, text, sizeof text) <= 0) {
            continue;
        }
        for (const char *at = text; *at != '\0'; at = end + strspn(end, " ")) {
            pid_t child = (pid_t)strtol(at, &end, 10);
            if (end == at || child <= 0) {
                break;
            }
            take_child(s, child, words, now_ns);
            if (depth + 1 < DEPTH_MAX) {
                take_children(s, child, words, now_ns, depth + 1);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

uint64_t child_samples_take(struct child_samples *s, pid_t pid, char *const *words, uint64_t now_ns) {
    if (s->started_ns == 0) {
        s->started_ns = now_ns;
    }
    if (now_ns >= s->due_ns) {
        uint64_t step_ns = (now_ns - s->started_ns) / STEPS;
        take_children(s, pid, words, now_ns, 0);
        s->due_ns = now_ns + (step_ns < STEP_MIN_NS   ? STEP_MIN_NS
                              : step_ns > STEP_MAX_NS ? STEP_MAX_NS
                                                      : step_ns);
    }
    return s->due_ns;
}

const struct child_sample *child_samples_loop(const struct child_samples *s, uint32_t *count) {
    const struct child_sample *best = NULL;
    *count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct child_sample *c = &s->child[i];
        uint64_t lived_ns = c->last_ns - c->first_ns;
        if (lived_ns < LIVED_NS || c->waits < 2 ||
            c->waits * 4 < c->looks) { /* a starting process runs without waits */
            continue;
        }
        ++*count;
        if (best == NULL || lived_ns > best->last_ns - best->first_ns) {
            best = c;
        }
    }
    return best;
}

const struct child_sample *child_samples_page(const struct child_samples *s) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->child[i].page && s->child[i].last_ns - s->child[i].first_ns >= LIVED_NS) {
            return &s->child[i];
        }
    }
    return NULL;
}
