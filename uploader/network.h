/* SPDX-License-Identifier: MIT
 *
 * Whether reports may go out by the machine's present network, as NetworkManager says it on the system's bus.
 */
#ifndef UPLOADER_NETWORK_H
#define UPLOADER_NETWORK_H

#include <stdbool.h>

/* Why reports wait, as the end of a sentence; NULL: they may go. Without NetworkManager nothing is known, and
 * they may. `metered`: also where each byte costs. `wifi_only`: by Wi-Fi or a cable, never by a phone's
 * network. */
const char *network_why_wait(bool metered, bool wifi_only);

#endif
