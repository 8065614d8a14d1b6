/* SPDX-License-Identifier: MIT
 *
 * A report as one HTML file with pictures, which needs no server and loads nothing. Ordinary code.
 */
#ifndef CLI_HTML_PAGE_H
#define CLI_HTML_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The page of this report, into which it writes which frames are the user's own. `text`: as hangdog show
 * prints it. 0, or -1 with errno. */
int html_page_write(FILE *out, json_t *report, const char *text);

/* Written by cmake/ReportPage.cmake: the page without a report; empty: there is none. */
extern const unsigned char html_page_template[];
extern const size_t html_page_template_bytes;

#endif
