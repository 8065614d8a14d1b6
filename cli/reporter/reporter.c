/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: telling hangs as they end, and when they begin to be long.
 */
#include "cli/reporter/reporter.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/shell_quote.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/keep_names.h"
#include "cli/render/render.h"
#include "os/os.h"
#include "record/uuid.h"

#define LONG_NS (5 * HD_NS_PER_S)
#define READ_NS (1 * HD_NS_PER_S) /* between two looks at the folder that tell nothing by themselves */
#define FRAMES_TOLD 24
#define ID_TIME_CHARS 13 /* "01a1fb7d-045d": milliseconds */

void teller_open(struct teller *t, struct hd_record *records, const struct hd_record_options *decided) {
    const char *spool = decided->spool;
    t->decided = decided;
    t->spool = spool;
    t->records = t->shared = records;
    t->seen = NULL;
    t->seen_count = t->seen_room = 0;
    pthread_mutex_init(&t->lock, NULL);
    t->kept = NULL;
    t->kept_bytes = 0;
    t->lost = false;
    t->read_due_ns = 0;
    t->untold = false;
    t->colour = render_wants_colour(stderr);
    t->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (t->notify_fd >= 0 && inotify_add_watch(t->notify_fd, spool_folder(spool), IN_MOVED_TO) < 0) {
        close(t->notify_fd);
        t->notify_fd = -1;
    }
}

/* ---- where it is said ------------------------------------------------------------------------ */

/* Whether somebody draws on the terminal that we write to: editors, pagers and the like take its keys one by
 * one. */
static bool is_drawn_on(void) {
    struct termios mode;
    return tcgetattr(STDERR_FILENO, &mode) == 0 && (mode.c_lflag & ICANON) == 0;
}

void teller_say_kept(struct teller *t) {
    pthread_mutex_lock(&t->lock);
    char *text = t->kept;
    size_t bytes = t->kept_bytes;
    t->kept = NULL;
    t->kept_bytes = 0;
    pthread_mutex_unlock(&t->lock);
    if (text != NULL) {
        say_whole(text, bytes); /* without the lock: nobody may read it */
        free(text);
    }
}

/* False: no memory. */
static bool keep(struct teller *t, const char *text, size_t bytes) {
    pthread_mutex_lock(&t->lock);
    char *more = realloc(t->kept, t->kept_bytes + bytes);
    if (more != NULL) {
        memcpy(more + t->kept_bytes, text, bytes);
        t->kept = more;
        t->kept_bytes += bytes;
    }
    pthread_mutex_unlock(&t->lock);
    return more != NULL;
}

/* What is said at a time. */
static void say(struct teller *t, const char *text, size_t bytes) {
    if (bytes > 0 && !keep(t, text, bytes)) {
        say_whole(text, bytes);
    }
    if (!is_drawn_on()) {
        teller_say_kept(t);
    }
}

void teller_close(struct teller *t) {
    free(t->seen);
    if (t->notify_fd >= 0) {
        close(t->notify_fd);
    }
}

/* ---- one report ----------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void path_of(const struct teller *t, const char *id, char path[4096]) {
    snprintf(path, 4096, "%s/%s.json", spool_folder(t->spool), id);
}

static json_t *load(const struct teller *t, const char *id) {
    char path[4096];
    struct problem why;
    path_of(t, id, path);
    errno = 0;
    return report_load(path, &why); /* gone, or not ours: nothing to tell; ENOMEM: nobody knows */
}

/* The spool may be a folder that many write to. */
static uid_t owner_of(const struct teller *t, const json_t *report) {
    char path[4096];
    path_of(t, text_of(report, "id"), path);
    return report_owner(path);
}

static void keep_report(const struct teller *t, const json_t *report) {
    char path[4096];
    path_of(t, text_of(report, "id"), path);
    keep_names(path, report);
}

/* Of a hang that has lasted for `age_ns` and goes on; 0: it has ended. */
struct question {
    char id[37];
    uint64_t age_ns;
};

static void render_ended(const struct teller *t, FILE *out, const json_t *report, const json_t *notes) {
    if (t->json) {
        render_json(out, report, JSON_COMPACT);
        return;
    }
    struct render_options o = {.colour = t->colour,
                               .not_kept = t->not_kept,
                               .notes = notes,
                               .max_frames = t->not_kept ? 0 : FRAMES_TOLD,
                               .spool_words = t->spool_words};
    render_report(out, report, &o);
    fputc('\n', out);
}

static void render_long(FILE *out, const json_t *report, uint64_t age_ns) {
    const char *function = text_of(report_own_frame(report), "function");
    fprintf(out, "hangdog: ");
    render_text(out, text_of(json_object_get(report, "app"), "name"));
    fprintf(out, " has been hanging for %llu s%s", (age_ns + HD_NS_PER_S / 2) / HD_NS_PER_S,
            function[0] != '\0' ? " in " : "");
    render_text(out, function);
    fputc('\n', out);
}

/* Without a symbolizer, where there is none: then without names, and with the reason. NULL: no memory. Caller
 * frees. */
static char *render(const struct teller *t, json_t *report, const struct question *q, struct symbolizer *s,
                    const char *why_unnamed, size_t *bytes) {
    json_t *notes = NULL;
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (out == NULL) {
        return NULL;
    }
    if (s != NULL) {
        enum report_part part = q->age_ns != 0 ? REPORT_HOT : t->json ? REPORT_ALL : REPORT_TREE;
        report_symbolicate(report, s, owner_of(t, report), part, &notes);
        keep_report(t, report);
    }
    if (q->age_ns != 0) {
        render_long(out, report, q->age_ns);
    } else {
        render_ended(t, out, report, notes);
    }
    bool session = strcmp(text_of(report, "kind"), "session") == 0;
    if (why_unnamed != NULL && q->age_ns == 0 && !session) {
        fprintf(out, "hangdog: the functions of this hang could not be looked up: %s", why_unnamed);
        if (!t->not_kept) {
            fprintf(out, "; see: %s show %s%s", own_command(), q->id,
                    t->spool_words != NULL ? t->spool_words : "");
        }
        fputc('\n', out);
    }
    json_decref(notes);
    bool whole = fflush(out) == 0 && ferror(out) == 0;
    whole &= fclose(out) == 0;
    if (!whole) {
        free(text);
        text = NULL;
    }
    return text;
}

/* In the process that looks up names. It ends where there is no memory. */
static void answer_all(void *teller) {
    struct teller *t = teller;
    struct question q;
    size_t bytes = 0;
    struct symbolizer *s = symbolizer_create(&(struct symbolizer_options){0});
    t->spool = strdup(t->spool);
    if (t->spool != NULL) {
        (void)spool_folder_open(t->spool); /* the runner's descriptor is closed here */
    }
    munmap(t->shared, HD_RECORD_FILE_BYTES); /* who has it is taken for one of the program's */
    while (names_next(&q, sizeof q)) {
        json_t *report = s != NULL && t->spool != NULL ? load(t, q.id) : NULL;
        char *text = report != NULL ? render(t, report, &q, s, NULL, &bytes) : NULL;
        if (text == NULL && (report != NULL || errno == ENOMEM)) {
            _exit(EXIT_FAILURE);
        }
        names_answer(text, text != NULL ? bytes : 0);
        json_decref(report);
        free(text);
    }
    _exit(EXIT_SUCCESS);
}

void teller_start_names(struct teller *t) {
    bool has_news = t->notify_fd < 0 || t->lost || atomic_load(&t->records->hangs) != 0 ||
                    poll(&(struct pollfd){.fd = t->notify_fd, .events = POLLIN}, 1, 0) > 0;
    if (!t->quiet && (has_news || t->names->pid != 0)) {
        names_start(t->names, answer_all, t);
    }
}

static void tell(struct teller *t, json_t *report, uint64_t age_ns) {
    struct question q = {.age_ns = age_ns};
    char why[NAMES_WHY_BYTES];
    size_t bytes = 0;
    snprintf(q.id, sizeof q.id, "%s", text_of(report, "id"));
    char *text = names_ask(t->names, &q, sizeof q, &bytes, why);
    bool asked = text != NULL;
    if (bytes == 0 || !asked) { /* nothing: its file has gone meanwhile */
        free(text);
        text = render(t, report, &q, NULL, asked ? NULL : why, &bytes);
    }
    if (text != NULL) {
        say(t, text, bytes);
    }
    t->untold |= text == NULL && age_ns == 0;
    free(text);
}

static void run_command(const struct teller *t, const struct told_report *r) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", t->spool, r->id); /* the command knows no descriptor of ours */
    on_hang_add(t->commands, path);
}

/* The place of a report that was seen; SIZE_MAX: none. The newest are looked at first: an id comes twice
 * within one hang. */
static size_t place_seen(const struct teller *t, const char *id) {
    for (size_t i = t->seen_count; i > 0; i--) {
        if (strcmp(t->seen[i - 1].id, id) == 0) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

/* The same, or a new one; SIZE_MAX: no memory. */
static size_t place_of(struct teller *t, const char *id) {
    size_t seen = place_seen(t, id);
    if (seen != SIZE_MAX) {
        return seen;
    }
    if (t->seen_count == t->seen_room) {
        size_t room = t->seen_room != 0 ? 2 * t->seen_room : 64;
        struct told_report *more = realloc(t->seen, room * sizeof *more);
        if (more == NULL) {
            return SIZE_MAX;
        }
        t->seen = more;
        t->seen_room = room;
    }
    struct told_report *r = &t->seen[t->seen_count];
    *r = (struct told_report){0};
    snprintf(r->id, sizeof r->id, "%s", id);
    return t->seen_count++;
}

static bool is_of_this_run(const struct teller *t, const char *session) {
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        char text[37];
        if (i == 0 || atomic_load(&t->records[i].owner) != 0) {
            hd_uuid_text(t->records[i].options.session, text);
            if (strcmp(text, session) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* How long a hang has lasted. The process counts it, without the time for which it was stopped; of those that
 * go on at the same time only one, so else it is what the report said and the time since; not where the spool
 * did not take all: it may have ended, and no report says so. */
static uint64_t age_of(const struct teller *t, const struct told_report *r, uint64_t now) {
    bool failed = false;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        struct hd_record *c = &t->records[i];
        failed |= atomic_load(&c->spool_failed) != 0;
        uint32_t open =
            i == 0 || atomic_load(&c->owner) != 0 ? atomic_load(&c->hang_open) : HD_RECORD_NO_HANG;
        char id[37];
        hd_uuid_text(c->open_id, id);
        if ((open == HD_RECORD_HANG_LASTS || open == HD_RECORD_HANG_ENDED) &&
            strcmp(id, r->id) == 0) { /* one that has ended is told as such, soon */
            return open == HD_RECORD_HANG_LASTS ? atomic_load(&c->open_duration_ns) : 0;
        }
    }
    return failed ? 0 : r->lasted_ns + (now - r->seen_ns);
}

/* When that may be LONG_NS. */
static void make_due(struct told_report *r, uint64_t age_ns, uint64_t now) {
    r->begin_due_ns = now + (age_ns < LONG_NS ? LONG_NS - age_ns : 0);
}

static void on_report(struct teller *t, const char *name) {
    size_t n = strlen(name);
    char id[37];
    if (n != 36 + 5 || strcmp(name + 36, ".json") != 0) {
        return;
    }
    snprintf(id, sizeof id, "%.36s", name);
    size_t seen = place_seen(t, id);
    if (seen != SIZE_MAX && t->seen[seen].ended) {
        return; /* all is told of it */
    }
    json_t *report = load(t, id);
    bool session = strcmp(text_of(report, "kind"), "session") == 0;
    t->unread |= report == NULL && errno == ENOMEM;
    if (report == NULL || !is_of_this_run(t, text_of(json_object_get(report, "app"), "session")) ||
        (session && !t->json)) {
        json_decref(report);
        return;
    }
    size_t i = place_of(t, id);
    if (i == SIZE_MAX) {
        t->unread = true;
        json_decref(report);
        return;
    }
    struct told_report *r = &t->seen[i];
    uint64_t now = hd_os_now_ns(),
             lasted_ns = (uint64_t)json_integer_value(json_object_get(report, "duration_ns"));
    if (r->seen_ns == 0 || lasted_ns != r->lasted_ns) {
        r->lasted_ns = lasted_ns;
        r->seen_ns = now;
    }
    bool final = json_is_true(json_object_get(report, "complete")) ||
                 strcmp(text_of(report, "kind"), "fatal-hang") == 0;
    if (final) {
        r->ended = true;
        r->begin_due_ns = 0;
        if (!t->quiet) {
            tell(t, report, 0);
        }
        t->sessions_told |= session && !t->quiet;
        if (!session) {
            run_command(t, r);
        }
    } else if (!r->told) {
        make_due(r, age_of(t, r, now), now);
    }
    json_decref(report);
}

/* ---- all of them ---------------------------------------------------------------------------- */

void teller_handle(struct teller *t) {
    if (!t->quiet && t->names->pid == 0) {
        return; /* it came since: the next time */
    }
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    for (ssize_t n; (n = read(t->notify_fd, buf, sizeof buf)) > 0;) {
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)p;
            if (e->len > 0) {
                on_report(t, e->name);
            }
            t->lost |= (e->mask & IN_IGNORED) != 0;
            p += sizeof *e + e->len;
        }
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names before `from` are left out: ids begin with their time. */
static void read_folder(struct teller *t, const char *from) {
    char **names = NULL;
    size_t count = 0;
    DIR *dir = opendir(spool_folder(t->spool));
    if (dir == NULL) {
        t->unread |= errno == ENOMEM;
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, from) < 0) {
            continue;
        }
        char **more = realloc(names, (count + 1) * sizeof *names);
        if (more == NULL) {
            t->unread = true;
            break;
        }
        names = more;
        names[count] = strdup(e->d_name);
        t->unread |= names[count] == NULL;
        count += names[count] != NULL;
    }
    closedir(dir);
    if (count > 0) {
        qsort(names, count, sizeof *names, by_name);
    }
    for (size_t i = 0; i < count; i++) {
        on_report(t, names[i]);
        free(names[i]);
    }
    free(names);
}

/* What came since this run began: spools keep the reports of many. */
static void read_what_is_new(struct teller *t) {
    char session[37];
    hd_uuid_text(t->decided->session, session);
    session[ID_TIME_CHARS] = '\0';
    read_folder(t, session);
}

/* Since the run began, so that ids may be older than it. */
static bool clock_went_back(const struct teller *t) {
    const struct hd_record_options *o = t->decided;
    return hd_os_wall_ns() + HD_NS_PER_S < o->started_wall_ns + (hd_os_now_ns() - o->started_ns);
}

void teller_finish(struct teller *t) {
    if (t->notify_fd >= 0) {
        teller_handle(t);
    }
    t->unread = false; /* all of it is read once more */
    if (clock_went_back(t)) {
        read_folder(t, "");
    } else {
        read_what_is_new(t);
    }
    t->untold |= t->unread;
    teller_say_kept(t);
}

void teller_run_commands(const struct teller *of) {
    struct teller t = {.spool = of->spool,
                       .records = of->records,
                       .decided = of->decided,
                       .commands = of->commands,
                       .quiet = true,
                       .notify_fd = -1,
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    teller_finish(&t);
    free(t.seen);
}

/* It was stopped meanwhile, or it is long now. */
static void on_due(struct teller *t, struct told_report *r, uint64_t now) {
    uint64_t age_ns = age_of(t, r, now);
    if (age_ns < LONG_NS) {
        make_due(r, age_ns, now);
        return;
    }
    r->begin_due_ns = 0;
    r->told = true;
    json_t *report = load(t, r->id);
    if (report != NULL && !json_is_true(json_object_get(report, "complete"))) {
        if (!t->quiet && !t->json) {
            tell(t, report, age_ns);
        }
        run_command(t, r);
    }
    json_decref(report);
}

uint64_t teller_tick(struct teller *t, uint64_t now) {
    uint64_t next = UINT64_MAX;
    if (t->notify_fd < 0) {
        if (now >= t->read_due_ns) {
            read_what_is_new(t);
            t->read_due_ns = now + READ_NS;
        }
        next = t->read_due_ns;
    } else if (t->lost) {
        t->lost = inotify_add_watch(t->notify_fd, spool_folder(t->spool), IN_MOVED_TO) < 0;
        if (!t->lost) {
            read_what_is_new(t); /* before it was there */
        }
        next = t->lost ? now + READ_NS : next;
    }
    for (size_t i = 0; i < t->seen_count; i++) {
        struct told_report *r = &t->seen[i];
        if (r->begin_due_ns != 0 && r->begin_due_ns <= now) {
            on_due(t, r, now);
        }
        next = r->begin_due_ns != 0 && r->begin_due_ns < next ? r->begin_due_ns : next;
    }
    return next;
}

void teller_last_left(const struct teller *t, char id[37]) {
    id[0] = '\0';
    for (size_t i = 0; i < t->seen_count; i++) {
        char path[4096];
        path_of(t, t->seen[i].id, path);
        if (strcmp(t->seen[i].id, id) > 0 && access(path, F_OK) == 0) {
            snprintf(id, 37, "%s", t->seen[i].id);
        }
    }
}
