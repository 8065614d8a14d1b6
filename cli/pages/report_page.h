/* SPDX-License-Identifier: MIT
 *
 * hangdog-report(5), from the JSON schema of a report.
 */
#ifndef CLI_PAGES_REPORT_PAGE_H
#define CLI_PAGES_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

void report_page_write(FILE *out, const json_t *schema);

#endif
