/* SPDX-License-Identifier: MIT */
#include "uploader/network.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

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

static const char *why_wait(sd_bus *bus, bool metered, bool wifi_only) {
    uint32_t state = number_of(bus, "State"), cost = number_of(bus, "Metered");
    if (state >= STATE_ASLEEP && state <= STATE_CONNECTING) {
        return "the machine is offline";
    }
    if (!metered && (cost == METERED_YES || cost == METERED_GUESS_YES)) {
        return "the network is metered";
    }
    return wifi_only && !is_wifi_or_cable(bus) ? "the network is no Wi-Fi" : NULL;
}

const char *network_why_wait(bool metered, bool wifi_only) {
    sd_bus *bus = NULL;
    const char *why = NULL;
    if (sd_bus_open_system(&bus) >= 0) {
        sd_bus_creds *owner = NULL;
        sd_bus_set_method_call_timeout(bus, ANSWER_US);
        /* A question to a service that does not run would start it. */
        if (sd_bus_get_name_creds(bus, NAME, 0, &owner) >= 0) {
            why = why_wait(bus, metered, wifi_only);
        }
        sd_bus_creds_unref(owner);
    }
    sd_bus_flush_close_unref(bus);
    return why;
}
