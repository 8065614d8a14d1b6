/* SPDX-License-Identifier: MIT
 *
 * The places of the service that watches a host.
 */
#ifndef CLI_AGENT_PLACES_H
#define CLI_AGENT_PLACES_H

#define AGENT_RULES "/etc/hangdog/agent.conf" /* this file may be missing, no other */
#define AGENT_SOCKET "/run/hangdog-agent/socket"
#define AGENT_SPOOL "/var/lib/hangdog-agent" /* a folder for each user, by number; in it one for each app */

#endif
