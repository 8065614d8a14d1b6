/* SPDX-License-Identifier: MIT
 *
 * hangdog-upload: sends reports and debug files to a collector. `hangdog upload`, `hangdog upload-symbols`
 * and `hangdog export --send` start it.
 */
#include <curl/curl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "cli/base/deep_stack.h"
#include "cli/base/duration.h"
#include "cli/base/memory_limit.h"
#include "cli/base/options.h"
#include "cli/base/sanitize.h"
#include "cli/commands.h"
#include "uploader/export_send.h"
#include "uploader/given.h"
#include "uploader/symbols.h"
#include "uploader/upload.h"

/* ---- the network, as NetworkManager knows it ------------------------------------------------- */

#define NAME "org.freedesktop.NetworkManager"
#define PATH "/org/freedesktop/NetworkManager"
#define ANSWER_US (2 * 1000000)

/* NetworkManager's numbers. */
enum {
    STATE_ASLEEP = 10,
    STATE_CONNECTING = 40,
    METERED_YES = 1,
    METERED_GUESS_YES = 3
};

static uint32_t number_of(sd_bus *bus, const char *property) {
    uint32_t value = 0;
    return sd_bus_get_property_trivial(bus, NAME, PATH, NAME, property, NULL, 'u', &value) >= 0 ? value : 0;
}

static bool is_wifi_or_cable(sd_bus *bus) {
    char *type = NULL;
    bool is = sd_bus_get_property_string(bus, NAME, PATH, NAME, "PrimaryConnectionType", NULL, &type) < 0 ||
              strcmp(type, "802-11-wireless") == 0 || strcmp(type, "802-3-ethernet") == 0;
    free(type);
    return is;
}

static const char *network_fault(sd_bus *bus, bool metered, bool wifi_only) {
    uint32_t state = number_of(bus, "State"), cost = number_of(bus, "Metered");
    if (state >= STATE_ASLEEP && state <= STATE_CONNECTING) {
        return "the machine is offline";
    }
    if (!metered && (cost == METERED_YES || cost == METERED_GUESS_YES)) {
        return "the network is metered";
    }
    return wifi_only && !is_wifi_or_cable(bus) ? "the network is no Wi-Fi" : NULL;
}

/* Why reports wait, as the end of a sentence; NULL: they may go. Without NetworkManager nothing is known, and
 * they may. `metered`: also where each byte costs. `wifi_only`: by Wi-Fi or a cable, never by a phone's
 * network. */
static const char *network_why_wait(bool metered, bool wifi_only) {
    sd_bus *bus = NULL;
    const char *why = NULL;
    if (sd_bus_open_system(&bus) >= 0) {
        sd_bus_creds *owner = NULL;
        sd_bus_set_method_call_timeout(bus, ANSWER_US);
        /* A question to a service that does not run would start it. */
        if (sd_bus_get_name_creds(bus, NAME, 0, &owner) >= 0) {
            why = network_fault(bus, metered, wifi_only);
        }
        sd_bus_creds_unref(owner);
    }
    sd_bus_flush_close_unref(bus);
    return why;
}

#define EVERY (30 * DURATION_S)
#define RETRIES 5

static volatile sig_atomic_t stop;

static void stop_now(int signal) {
    (void)signal;
    stop = 1;
}

struct call {
    struct upload_options options;
    int status;
};

static void print_sum(const struct upload *u) {
    if (options_quiet()) {
        return;
    }
    fprintf(stderr, "hangdog: %zu report%s sent", u->sent, cli_plural((int64_t)u->sent, "", "s"));
    if (u->known > 0) {
        fprintf(stderr, ", %zu the collector had already", u->known);
    }
    if (u->lasting > 0) {
        fprintf(stderr, "; %zu left until %s ended", u->lasting,
                cli_plural((int64_t)u->lasting, "its hang has", "their hangs have"));
    }
    fputc('\n', stderr);
}

/* Why nothing more goes out now; NULL: it does. */
static const char *why_wait(const struct upload *u) {
    return u->over_budget ? "today's bytes are used up"
                          : network_why_wait(u->options->metered, u->options->wifi_only);
}

/* Says each reason once. */
static void say_wait(const char **said, const char *why) {
    if (why != NULL && (*said == NULL || strcmp(*said, why) != 0) && !options_quiet()) {
        fprintf(stderr, "hangdog: reports wait: %s\n", why);
    }
    *said = why;
}

/* Until a signal comes. Failures are for the next round. */
static void watch(struct upload *u) {
    const struct timespec step = {.tv_nsec = 100 * 1000000};
    const char *said = NULL;
    while (stop == 0) {
        u->sent = u->known = u->lasting = 0;
        u->over_budget = false;
        const char *why = why_wait(u);
        if (why == NULL) {
            upload_spool(u);
            why = u->over_budget ? why_wait(u) : NULL;
        }
        say_wait(&said, why);
        if (u->sent > 0) {
            print_sum(u);
        }
        for (int64_t waited = 0; waited < u->options->every && stop == 0; waited += step.tv_nsec) {
            nanosleep(&step, NULL);
        }
    }
}

static int send_once(struct upload *u) {
    const char *wait = why_wait(u);
    struct problem why;
    bool well = wait == NULL && upload_spool(u);
    if (wait == NULL) {
        print_sum(u);
        wait = u->over_budget ? why_wait(u) : NULL;
    }
    if (wait != NULL) {
        error_set(&why, "cannot send: %s", wait);
        if (strstr(wait, "metered") != NULL) {
            error_try(&why, "hangdog upload --metered");
        }
        error_print(&why);
    }
    return well && u->refused == 0 && u->unread == 0 && u->unnamed == 0 ? EXIT_SUCCESS : EXIT_ERROR;
}

static void upload(void *call) {
    struct call *c = call;
    struct problem why;
    struct upload u = {.options = &c->options, .stop = &stop};
    u.sender = send_open_collector(c->options.to, c->options.key, c->options.ca, &stop, &why);
    if (u.sender == NULL) {
        c->status = error_print(&why);
        return;
    }
    struct budget budget;
    if (c->options.daily_bytes > 0) {
        if (!send_budget_open(&budget, c->options.daily_bytes, &why)) {
            c->status = error_print(&why);
            upload_end(&u);
            return;
        }
        send_set_budget(u.sender, &budget);
    }
    memory_keep_to_room();
    if (c->options.watch) {
        watch(&u);
        c->status = EXIT_SUCCESS;
    } else {
        c->status = send_once(&u);
    }
    upload_end(&u);
}

static int upload_main(int argc, char **argv) {
    struct call call = {.options = {.every = EVERY, .retries = RETRIES}};
    if (options_parse(&command_upload, &call.options, argc, argv, &call.status) < 0) {
        return call.status;
    }
    call.options.to = given(call.options.to, "HANGDOG_COLLECTOR");
    call.options.key = given(call.options.key, "HANGDOG_KEY");
    if (call.options.to == NULL) {
        return options_wrong_use(&command_upload, "which collector? --to URL");
    }
    if (call.options.key == NULL) {
        return options_wrong_use(&command_upload, "which key? --key KEY, or HANGDOG_KEY");
    }
    if (call.options.watch) {
        signal(SIGTERM, stop_now);
        signal(SIGINT, stop_now);
    }
    on_a_deep_stack(upload, &call);
    return call.status;
}

static bool is_called(int argc, char **argv, const struct command *command) {
    return argc > 0 && strcmp(argv[0], command->name) == 0;
}

int main(int argc, char **argv) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    signal(SIGPIPE, SIG_IGN);
    int status = is_called(argc, argv, &command_export)           ? export_send_main(argc, argv, &stop)
                 : is_called(argc, argv, &command_upload_symbols) ? symbols_main(argc, argv, &stop)
                                                                  : upload_main(argc, argv);
    curl_global_cleanup();
    return status;
}
