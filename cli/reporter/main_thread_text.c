/* SPDX-License-Identifier: MIT */
#include "cli/reporter/main_thread_text.h"

#include <stdio.h>

#include "cli/base/sanitize.h"
#include "cli/render/render.h"

#define CALLS "poll, select or epoll_wait"

void main_thread_spent_text(char *to, size_t size, const struct main_thread *t) {
    static const char *const did[] = {[MAIN_THREAD_RAN] = "running on a CPU",
                                      [MAIN_THREAD_CHILD] = "waiting for a child",
                                      [MAIN_THREAD_LOCK] = "waiting for another thread",
                                      [MAIN_THREAD_SLEPT] = "sleeping",
                                      [MAIN_THREAD_LOOP] = ("in " CALLS),
                                      [MAIN_THREAD_INPUT] = "waiting for input",
                                      [MAIN_THREAD_OTHER] = "in other system calls",
                                      [MAIN_THREAD_STARTED] = ""};
    enum main_thread_state most = main_thread_most(t);
    char spent[RENDER_DURATION_BYTES], child[64] = "";
    to[0] = '\0';
    if (t->spent_ns[most] == 0) {
        return;
    }
    if (most == MAIN_THREAD_CHILD && t->child != 0) {
        snprintf(child, sizeof child, " %d (%s)", (int)t->child, t->child_name);
    }
    const char *words = child[0] != '\0' ? "waiting for child" : did[most];
    bool named = t->call[most][0] != '\0' && most != MAIN_THREAD_LOOP;
    snprintf(to, size, "spent %s %s%s%s%s", render_duration(spent, (int64_t)t->spent_ns[most]), words, child,
             named ? " in " : "", named ? t->call[most] : "");
}

/* Where nothing else is known of it. */
static const char *thread_words(const struct main_thread *t, const char *spent) {
    return spent[0] == '\0' && t->last_ns != 0 && !t->has_others ? "the main thread, its only one,"
                                                                 : "the main thread";
}

void main_thread_text(char *to, size_t size, const struct main_thread *t, unsigned long long waits,
                      uint64_t waited_ns) {
    char spent[256], waited[RENDER_DURATION_BYTES];
    main_thread_spent_text(spent, sizeof spent, t);
    if (waits != 0 && main_thread_most(t) == MAIN_THREAD_LOOP) {
        spent[0] = '\0'; /* the waits say it */
    }
    if (waits == 0) {
        snprintf(to, size, "%s %s%snever called " CALLS, thread_words(t, spent), spent,
                 spent[0] != '\0' ? " and " : "");
    } else {
        render_duration(waited, (int64_t)waited_ns);
        snprintf(to, size, "%s %s%swaited in " CALLS " %llu time%s, %s in all", thread_words(t, spent), spent,
                 spent[0] != '\0' ? " and " : "", waits, cli_plural((int64_t)waits, "", "s"), waited);
    }
}
