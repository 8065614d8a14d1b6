/* SPDX-License-Identifier: MIT */
#include "agent/rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/duration.h"

#define LINES_MAX 1000
#define BLANKS " \t\r\n"

static bool set_text(char **to, const char *value) {
    free(*to);
    *to = strdup(value);
    return *to != NULL;
}

static bool set_user(struct rule *r, const char *name) {
    char *end;
    const struct passwd *user = getpwnam(name);
    unsigned long number = strtoul(name, &end, 10);
    r->has_user = true;
    r->user = user != NULL ? user->pw_uid : (uid_t)number;
    return user != NULL || (*end == '\0' && name[0] >= '0' && name[0] <= '9' && number < UINT32_MAX);
}

static bool set_threshold(struct rule *r, const char *value) {
    int64_t ns = duration_parse(value);
    r->threshold_ns = (uint64_t)ns;
    return ns >= 10 * DURATION_MS && ns <= DURATION_H;
}

/* A program and a unit have names without a slash, so a path matches none. False, and why. */
static bool set_name(const struct rule *r, char **to, const char *value, struct problem *why) {
    bool is_base = (to != &r->app && to != &r->program && to != &r->unit) || strchr(value, '/') == NULL;
    bool is_name = is_base && (to != &r->app || value[0] != '.');
    error_set(why,
              is_name   ? "out of memory"
              : is_base ? "'%.100s' is no name for a folder"
                        : "want a name, not the path '%.100s'",
              value);
    return is_name && set_text(to, value);
}

/* False, and why. */
static bool set_word(struct rule *r, const char *name, const char *value, struct problem *why) {
    const struct {
        const char *name;
        char **to;
    } texts[] = {{"program", &r->program}, {"unit", &r->unit},       {"container", &r->container},
                 {"app", &r->app},         {"version", &r->version}, {"environment", &r->environment},
                 {"loop", &r->loop}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            return set_name(r, texts[i].to, value, why);
        }
    }
    if (strcmp(name, "user") == 0) {
        error_set(why, "there is no user '%.100s'", value);
        return set_user(r, value);
    }
    if (strcmp(name, "threshold") == 0) {
        error_set(why, "threshold '%.100s': want 10ms to 1h, as 2s", value);
        return set_threshold(r, value);
    }
    error_set(why, "unknown word '%.100s'", name);
    return false;
}

static void free_rule(struct rule *r) {
    char *texts[] = {r->program, r->unit, r->container, r->app, r->version, r->environment, r->loop};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(texts[i]);
    }
}

/* The words that say how, not which. */
static bool has_settings(const struct rule *r) {
    return r->threshold_ns != 0 || r->app != NULL || r->version != NULL || r->environment != NULL ||
           r->loop != NULL;
}

static bool is_same(const char *a, const char *b) {
    return a == NULL || (b != NULL && strcmp(a, b) == 0);
}

/* True: `first` matches each process that `later` matches, as far as their texts say. */
static bool covers(const struct rule *first, const struct rule *later) {
    return is_same(first->program, later->program) && is_same(first->unit, later->unit) &&
           is_same(first->container, later->container) &&
           (!first->has_user || (later->has_user && first->user == later->user));
}

const struct rule *rules_covering(const struct rules *r, const struct rule *later) {
    for (const struct rule *first = r->rule; first < later; first++) {
        if (covers(first, later)) {
            return first;
        }
    }
    return NULL;
}

static bool add(struct rules *r, const struct rule *new, struct problem *why) {
    struct rule *more = realloc(r->rule, (r->count + 1) * sizeof *more);
    if (more == NULL) {
        error_set(why, "out of memory");
        return false;
    }
    r->rule = more;
    r->rule[r->count++] = *new;
    return true;
}

bool rules_add_line(struct rules *r, char *text, unsigned line, struct problem *why) {
    char *rest = NULL;
    text[strcspn(text, "#")] = '\0';
    const char *verb = strtok_r(text, BLANKS, &rest);
    if (verb == NULL) {
        return true;
    }
    struct rule new = {.watch = strcmp(verb, "watch") == 0, .line = line};
    if (!new.watch && strcmp(verb, "ignore") != 0) {
        error_set(why, "want 'watch' or 'ignore', not '%.100s'", verb);
        return false;
    }
    bool well = true;
    for (char *word; well && (word = strtok_r(NULL, BLANKS, &rest)) != NULL;) {
        char *equals = strchr(word, '=');
        well = equals != NULL && equals[1] != '\0';
        if (well) {
            *equals = '\0';
            well = set_word(&new, word, equals + 1, why);
        } else {
            error_set(why, "want NAME=VALUE, not '%.100s'", word);
        }
    }
    if (well && !new.watch && has_settings(&new)) {
        error_set(why, "'ignore' takes no threshold, app, version, environment or loop");
        well = false;
    }
    well = well && add(r, &new, why);
    if (!well) {
        free_rule(&new);
    }
    return well;
}

bool rules_read(const char *path, bool optional, struct rules *out, struct problem *why) {
    char *text = NULL;
    size_t size = 0;
    struct problem line_why;
    *out = (struct rules){0};
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        error_set(why, "cannot read %s: %s", path, strerror(errno));
        return optional && errno == ENOENT;
    }
    bool well = true;
    for (unsigned line = 1; well && getline(&text, &size, in) > 0; line++) {
        well = line <= LINES_MAX && rules_add_line(out, text, line, &line_why);
        if (!well) {
            error_set(why, "cannot use %s: line %u: %s", path, line,
                      line > LINES_MAX ? "it has too many lines" : line_why.text);
        }
    }
    if (well && ferror(in) != 0) { /* a folder can be opened, and has no lines */
        error_set(why, "cannot read %s: %s", path, strerror(errno));
        well = false;
    }
    free(text);
    fclose(in);
    if (!well) {
        rules_free(out);
    }
    return well;
}

void rules_free(struct rules *r) {
    for (size_t i = 0; i < r->count; i++) {
        free_rule(&r->rule[i]);
    }
    free(r->rule);
    *r = (struct rules){0};
}

static bool fits(const char *pattern, const char *text) {
    return text[0] != '\0' && fnmatch(pattern, text, 0) == 0;
}

/* "nginx" is also nginx.service. */
static bool fits_unit(const char *pattern, const char *unit) {
    char longer[256];
    snprintf(longer, sizeof longer, "%.200s.service", pattern);
    return fits(pattern, unit) || fits(longer, unit);
}

const struct rule *rules_find(const struct rules *r, const struct rule_facts *f) {
    for (size_t i = 0; i < r->count; i++) {
        const struct rule *rule = &r->rule[i];
        if ((rule->program == NULL || fits(rule->program, f->program)) &&
            (rule->unit == NULL || fits_unit(rule->unit, f->unit)) &&
            (rule->container == NULL || fits(rule->container, f->container_id) ||
             fits(rule->container, f->container_name) || fits(rule->container, f->image)) &&
            (!rule->has_user || rule->user == f->user)) {
            return rule;
        }
    }
    return NULL;
}

bool rules_watch(const struct rule *rule, const char *program) {
    return rule != NULL ? rule->watch : strncmp(program, "hangdog", 7) != 0;
}
