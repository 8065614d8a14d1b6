/* SPDX-License-Identifier: MIT
 * The messages between symbolizer/remote.c and hangdog-name --look-up, on a SOCK_SEQPACKET socket. A query is
 * one message. Its answer is one message for each symbol, or one message without a symbol. Before the answer,
 * the process may request candidates for the module's file, one at a time. The reply to a request is one
 * byte, with a descriptor if there is a file.
 */
#ifndef SYMBOLIZER_REMOTE_PROTOCOL_H
#define SYMBOLIZER_REMOTE_PROTOCOL_H

#include <stdint.h>

#define REMOTE_TEXT_BYTES 16384
#define REMOTE_FILES_MAX 8 /* candidates for a module's file */
#define REMOTE_FILE (-1)   /* in the place of a count: a request for file number `line` */

struct remote_query {
    uint64_t addr, start; /* in the file's own numbering; `addr` is in the instruction */
    int64_t ran_s;
    uint32_t path_bytes, build_id_bytes;
    char text[REMOTE_TEXT_BYTES]; /* the path, then the build-id; 0 bytes: none */
};

struct remote_answer {
    int32_t count; /* of symbols; 0: the text is the reason; REMOTE_FILE */
    int32_t line;
    uint32_t inlined, function_bytes, file_bytes;
    char text[REMOTE_TEXT_BYTES]; /* the function, then the file; 0 bytes: not known */
};

#endif
