/* SPDX-License-Identifier: MIT
 *
 * What symbolizer/remote.c and hangdog-name --look-up send each other, by a socket that keeps messages apart
 * (SOCK_SEQPACKET). A query is one message; its answer is one message for each symbol, or one that has none.
 * Before, the process may request the files that may be the module's, one at a time: the answer to that is
 * one byte, with the descriptor where there is one.
 */
#ifndef SYMBOLIZER_REMOTE_PROTOCOL_H
#define SYMBOLIZER_REMOTE_PROTOCOL_H

#include <stdint.h>

#define REMOTE_TEXT_BYTES 16384
#define REMOTE_FILES_MAX 8 /* that may be a module's */
#define REMOTE_FILE (-1)   /* in the place of a count: a request for file number `line` */

struct remote_query {
    uint64_t addr, start; /* in the file's own numbering; `addr` is in the instruction */
    int64_t ran_s;
    uint32_t path_bytes, build_id_bytes;
    char text[REMOTE_TEXT_BYTES]; /* the path, and then the build-id; 0 bytes: there is none */
};

struct remote_answer {
    int32_t count; /* of symbols; 0: the text is the reason; REMOTE_FILE */
    int32_t line;
    uint32_t inlined, function_bytes, file_bytes;
    char text[REMOTE_TEXT_BYTES]; /* the function, and then the file; 0 bytes: it is not known */
};

#endif
