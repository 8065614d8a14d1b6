/* SPDX-License-Identifier: MIT
 *
 * hangdog-serve: the collector. The command `hangdog serve` starts it.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/listener.h"
#include "cli/base/options.h"
#include "cli/base/shell_quote.h"
#include "cli/commands.h"
#include "cli/fleet/fleet.h"
#include "collector/base/build_date.h"
#include "collector/base/log.h"
#include "collector/base/monotonic.h"
#include "collector/first_keys.h"
#include "collector/http/http.h"
#include "collector/http/tls.h"
#include "collector/upkeep/regroup.h"
#include "collector/upkeep/retention.h"

#define KEPT_BYTES (16 << 20)
#define CONNECTIONS 2000
#define PER_ADDRESS 100
#define PATIENCE_S 30
#define END_SECONDS 10

/* Makes the folders of a path. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static bool default_store(char path[PATH_MAX], struct problem *why) {
    const char *state = getenv("STATE_DIRECTORY"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (state != NULL && state[0] == '/') {
        snprintf(path, PATH_MAX, "%.*s/collector.db", (int)strcspn(state, ":"), state);
    } else if (data != NULL && data[0] == '/') {
        snprintf(path, PATH_MAX, "%s/hangdog/collector.db", data);
    } else if (home != NULL && home[0] == '/') {
        snprintf(path, PATH_MAX, "%s/.local/share/hangdog/collector.db", home);
    } else {
        error_set(why, "cannot choose a store: HOME is unset");
        error_try(why, "hangdog serve --store FILE");
        return false;
    }
    make_folders(path);
    return true;
}

/* Where this collector keeps what it has. */
struct place {
    const char *reports, *state; /* the URLs; the same where both are in one file */
    char file[PATH_MAX]; /* debug files are in a folder next to it; the store itself where that is a file */
    char first_keys[PATH_MAX + 16];
    char options[8 * PATH_MAX]; /* that name it to `hangdog serve`; empty: it is the user's usual one */
};

/* A service has $STATE_DIRECTORY; the user that types a hint of ours has not. */
static void name_place(const struct serve_options *o, struct place *at) {
    const char *state = getenv("STATE_DIRECTORY");
    bool is_service = state != NULL && state[0] == '/';
    size_t n = 0;
    if (o->store != NULL || is_service) {
        n = (size_t)snprintf(at->options, sizeof at->options, " --store ");
        quote_word(at->options + n, sizeof at->options / 2 - n, at->reports);
        n = strlen(at->options);
    }
    if (o->state != NULL) {
        n += (size_t)snprintf(at->options + n, sizeof at->options - n, " --state ");
        quote_word(at->options + n, sizeof at->options - n, o->state);
    }
    if (is_service) {
        snprintf(at->first_keys, sizeof at->first_keys, "%.*s/first-keys", (int)strcspn(state, ":"), state);
    } else {
        snprintf(at->first_keys, sizeof at->first_keys, "%s.first-keys", at->file);
    }
}

static bool choose_place(const struct serve_options *o, struct place *at, struct problem *why) {
    bool in_file = o->store == NULL || store_file_of(o->store) != NULL;
    const char *file = in_file                           ? (o->store != NULL ? store_file_of(o->store) : NULL)
                       : store_state_is_shared(o->state) ? NULL
                                                         : o->state;
    if (in_file && o->state != NULL) { /* collectors that seem to share keys would not */
        error_set(why, "cannot use --state: it is for a store in ClickHouse; this store's file has its keys");
        return false;
    }
    if (file != NULL) {
        snprintf(at->file, sizeof at->file, "%s", file);
    } else if (!default_store(at->file, why)) {
        return false;
    }
    at->reports = o->store != NULL ? o->store : at->file;
    at->state = store_state_is_shared(o->state) ? o->state : at->file;
    name_place(o, at);
    return true;
}

static int print_new_key(struct store *store, const char *word) {
    enum key_use use = KEY_SEND;
    char key[KEY_TEXT_BYTES], app[STORE_APP_BYTES];
    if (!keys_use_read(word, &use, app)) {
        return print_error("--new-key: want send:APP, send, read or admin, not '%.100s'", word);
    }
    if (keys_make(store, use, app, key) < 0) {
        return print_error("cannot make a key: %s", strerror(errno));
    }
    printf("%s\n", key);
    return error_check_stdout("the key");
}

static void print_day(int64_t ms) {
    time_t s = (time_t)(ms / 1000);
    struct tm utc;
    char text[32] = "never";
    if (ms > 0 && gmtime_r(&s, &utc) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
    }
    printf("  %-16s", text);
}

/* Prints numbers and uses of keys. The keys themselves are not known: the store has only hashes. */
static int print_keys(struct store *store) {
    struct store_key *keys = calloc(STORE_KEYS_MAX, sizeof *keys);
    int count = keys != NULL ? store_keys(store, keys, STORE_KEYS_MAX) : -1;
    if (count < 0) {
        free(keys);
        return print_error("cannot read the keys of the store");
    }
    puts("KEY  USE    MADE (UTC)        LAST USED         APP");
    for (int i = 0; i < count; i++) {
        printf("%3lld  %-5s", (long long)keys[i].id, keys_use_word(keys[i].use));
        print_day(keys[i].made_ms);
        print_day(keys[i].last_used_ms);
        printf("  %s\n", keys[i].use != KEY_SEND ? "-" : keys[i].app[0] != '\0' ? keys[i].app : "all");
    }
    free(keys);
    return error_check_stdout("the keys");
}

static int revoke_key(struct store *store, long id, const char *options) {
    enum store_found found = store_remove_key(store, id);
    if (found == STORE_UNREAD) {
        return print_error("cannot revoke key %ld: the store failed", id);
    }
    if (found == STORE_FOUND) {
        return EXIT_SUCCESS;
    }
    struct problem why;
    error_set(&why, "cannot revoke key %ld: there is none", id);
    error_try(&why, "hangdog serve%s --keys", options);
    return error_print(&why);
}

static void print_start(const struct serve_options *o, const char *address, const char *path) {
    printf("collecting at %s into %s\n", address, path);
    fflush(stdout);
    if (build_date_is_to_come()) {
        print_error("cannot take reports yet: the clock is before %s, the day of this build", build_date());
    }
    if (o->tls_cert == NULL && strncmp(o->listen, "127.", 4) != 0 && strncmp(o->listen, "[::1]:", 6) != 0 &&
        strncmp(o->listen, "localhost:", 10) != 0) {
        fputs("hangdog: traffic is not encrypted here; use --tls-cert, or put a proxy with TLS in front\n",
              stderr);
    }
}

/* "https://127.0.0.1:8437"; of all addresses one that is right on this machine. */
static void address_text(const struct serve_options *o, uint16_t port, char *text, size_t size) {
    const char *colon = strrchr(o->listen, ':');
    int host = colon != NULL ? (int)(colon - o->listen) : 0;
    snprintf(text, size, "http%s://%.*s:%u", o->tls_cert != NULL ? "s" : "", host > 0 ? host : 9,
             host > 0 ? o->listen : "localhost", (unsigned)port);
}

/* Until a signal ends it; SIGHUP reads the certificate again. */
static void wait_for_end(const struct serve_options *o, const sigset_t *signals) {
    int signal;
    struct problem why;
    while (sigwait(signals, &signal) == 0 && signal == SIGHUP) {
        if (o->tls_cert != NULL && !tls_load(o->tls_cert, o->tls_key, &why)) {
            error_print(&why); /* the one before stays */
        } else if (o->tls_cert != NULL) {
            log_event("certificate", "read again from %s", o->tls_cert);
        }
    }
}

/* From the start of the server to a signal. It closes the listener. */
static int serve(const struct serve_options *o, int listener, struct store *store, const struct place *at,
                 const sigset_t *signals) {
    struct problem why;
    char address[160], symbols[PATH_MAX + 16];
    int status = EXIT_ERROR;
    const struct http_options options = {.listener = listener,
                                         .symbols = symbols,
                                         .tls = o->tls_cert != NULL,
                                         .connections = o->connections,
                                         .per_address = o->per_address,
                                         .patience_ns = o->patience};
    snprintf(symbols, sizeof symbols, "%s.symbols", at->file);
    address_text(o, listener_port(listener), address, sizeof address);
    const struct first_keys_place first = {address, at->options, at->first_keys};
    if (!first_keys_make(store, &first, &why)) {
        close(listener);
        return error_print(&why);
    }
    struct keys *keys = keys_start(store, o->rate);
    bool is_set = keys != NULL && (o->retention < 0 || retention_set_days(store, o->retention));
    struct writer *writer = is_set ? writer_start(store) : NULL;
    if (writer == NULL) {
        keys_stop(keys);
        close(listener);
        return print_error("cannot start: the store %s cannot be read", at->reports);
    }
    struct http *http = http_start(&options, store, writer, keys, &why);
    if (http == NULL) {
        error_print(&why);
    } else {
        print_start(o, address, at->reports);
        log_event("start", "collecting at %s into %s", address, at->reports);
        wait_for_end(o, signals);
        status = EXIT_SUCCESS;
        log_event("stop", "a signal came");
        http_stop_listening(http, END_SECONDS);
    }
    writer_stop(writer); /* wakes requests that wait for the writer */
    if (http != NULL) {
        http_stop(http);
    }
    writer_free(writer); /* not before: requests used the writer until http_stop */
    keys_stop(keys);
    return status;
}

/* True: the process serves; false: it ends after one command. */
static bool is_server(const struct serve_options *o) {
    return o->new_key == NULL && !o->regroup && !o->keys && o->revoke == 0;
}

/* Does what the options require before the store is opened. */
static bool prepare(const struct serve_options *o, sigset_t *signals, struct problem *why) {
    if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
        error_set(why, "cannot use TLS: --tls-cert and --tls-key go together");
        return false;
    }
    if (o->log != NULL) {
        log_set(strcmp(o->log, "json") == 0 ? LOG_JSON : LOG_TEXT);
    }
    signal(SIGPIPE, SIG_IGN); /* a sender that goes ends its own connection only */
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL); /* for all threads: sigwait takes them */
    return o->tls_cert == NULL || tls_load(o->tls_cert, o->tls_key, why);
}

/* Rows and SQLite's pages are allocated and freed thousands of times a second. To return this memory to the
 * kernel each time would cost a tenth of the collector's CPU time. */
static void keep_freed_memory(void) {
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
}

int main(int argc, char **argv) {
    struct serve_options o = {.listen = FLEET_LISTEN,
                              .retention = -1,
                              .connections = CONNECTIONS,
                              .per_address = PER_ADDRESS,
                              .patience = PATIENCE_S * MONOTONIC_S};
    struct problem why;
    struct place at = {.options = ""};
    int status = 0;
    sigset_t signals;
    keep_freed_memory();
    if (options_parse(&command_serve, &o, argc, argv, &status) < 0) {
        return status;
    }
    if (!choose_place(&o, &at, &why)) {
        return error_print(&why);
    }
    if (!prepare(&o, &signals, &why)) {
        return error_print(&why);
    }
    /* Before the store: a wrong address makes neither a store nor keys. */
    int listener = is_server(&o) ? listener_open(o.listen, &why) : -1;
    if (is_server(&o) && listener < 0) {
        return error_print(&why);
    }
    const struct store_place place = {.url = at.reports, .state = at.state, .limit_mib = o.limit};
    struct store *store = store_open(&place, &why);
    if (store == NULL) {
        return error_print(&why);
    }
    if (o.new_key != NULL) {
        status = print_new_key(store, o.new_key);
    } else if (o.regroup) {
        status = regroup_all(store, &signals);
    } else if (o.keys) {
        status = print_keys(store);
    } else if (o.revoke > 0) {
        status = revoke_key(store, o.revoke, at.options);
    } else {
        status = serve(&o, listener, store, &at, &signals);
    }
    store_close(store);
    tls_unload();
    return status;
}
