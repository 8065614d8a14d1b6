/* SPDX-License-Identifier: MIT
 *
 * Bugs that wait. Two wait for one mutex in one function: its owner indexes (complete), or flushes a cache
 * (hover).
 */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "editor.h"

static pthread_mutex_t symbols = PTHREAD_MUTEX_INITIALIZER;

#if VERSION >= 2
void forget_symbols(int n) {
    while (n-- > 0) {
        sink ^= (unsigned)n;
    }
}
#endif

static unsigned parse_file(unsigned seed MORE) {
    for (int i = 0; i < 50000; i++) {
        seed = seed * 69069 + 1;
    }
    USE(seed);
    return seed;
}

static void index_files(void) {
    while (!over()) {
        sink += parse_file(sink GIVE);
    }
}

static void *index_worker(void *started) {
    pthread_mutex_lock(&symbols);
    *(volatile bool *)started = true;
    index_files();
    pthread_mutex_unlock(&symbols);
    return NULL;
}

static void flush_cache(int ms MORE) {
    unsigned n = 0;
    USE(n);
    while (!over()) {
        sleep_ms(ms);
    }
    sink += n;
}

static void *flush_worker(void *started) {
    pthread_mutex_lock(&symbols);
    *(volatile bool *)started = true;
    flush_cache(300 GIVE);
    pthread_mutex_unlock(&symbols);
    return NULL;
}

static void lookup_symbol(unsigned hash MORE) {
    USE(hash);
    pthread_mutex_lock(&symbols);
    sink += hash;
    pthread_mutex_unlock(&symbols);
}

static void start_owner(void *(*worker)(void *)) {
    static volatile bool started;
    pthread_t thread;
    pthread_create(&thread, NULL, worker, (void *)&started);
    while (!started) {
        sleep_ms(1);
    }
}

static void on_complete(void) {
    start_owner(index_worker);
    lookup_symbol(7 GIVE);
}

static void on_hover(void) {
    start_owner(flush_worker);
    lookup_symbol(8 GIVE);
}

static void sync_file(int file MORE) {
    unsigned n = 0;
    USE(n);
    if (write(file, "backup\n", 7) > 0) {
        n += (unsigned)fsync(file);
    }
    sink += n;
}

static void save_backup(void) {
    char name[300];
    snprintf(name, sizeof name, "%s/backup-%d", getenv("EDITOR_FOLDER"), (int)getpid());
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (!over()) {
        sync_file(file GIVE);
    }
    close(file);
    unlink(name);
}

static void on_autosave(void) {
    save_backup();
}

static void write_end(void *end) {
    int file = (int)(intptr_t)end;
    if (write(file, "done", 4) > 0) {
        close(file);
    }
}

static void read_all(int file MORE) {
    char bytes[100];
    unsigned n = 0;
    ssize_t got;
    USE(n);
    while ((got = read(file, bytes, sizeof bytes)) > 0) {
        n += (unsigned)got;
    }
    sink += n;
}

static void on_preview(void) {
    int ends[2];
    if (pipe(ends) == 0) {
        later(write_end, (void *)(intptr_t)ends[1]);
        read_all(ends[0] GIVE);
    }
}

static char fifo[300];

static void open_fifo(void *unused) {
    (void)unused;
    close(open(fifo, O_RDONLY));
}

static void export_to(const char *path MORE) {
    unsigned n = 0;
    USE(n);
    int file = open(path, O_WRONLY);
    sink += n;
    close(file);
}

static void on_export(void) {
    snprintf(fifo, sizeof fifo, "%s/fifo-%d", getenv("EDITOR_FOLDER"), (int)getpid());
    if (mkfifo(fifo, 0600) == 0) {
        later(open_fifo, NULL);
        export_to(fifo GIVE);
        unlink(fifo);
    }
}

static void run_command(const char *seconds MORE) {
    unsigned n = 0;
    USE(n);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", seconds, (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    sink += n;
}

static void on_build(void) {
    run_command("0.24" GIVE);
}

static void connect_with_retry(int tries MORE) {
    unsigned n = 0;
    USE(n);
    for (int i = 0; i < tries; i++) {
        usleep(BUG_MS * 1000 / 3);
    }
    sink += n;
}

static void on_retry(void) {
    connect_with_retry(3 GIVE);
}

/* A name server that knows no name, and says so late. */
static void answer(void *server) {
    unsigned char packet[512];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    ssize_t n = recvfrom((int)(intptr_t)server, packet, sizeof packet, 0, (struct sockaddr *)&from, &size);
    if (n > 4) {
        packet[2] |= 0x80;
        packet[3] = 3;
        sendto((int)(intptr_t)server, packet, (size_t)n, 0, (struct sockaddr *)&from, size);
    }
}

static void resolve_host(const char *host MORE) {
    unsigned n = 0;
    struct addrinfo *found = NULL, hints = {.ai_family = AF_INET};
    USE(n);
    if (getaddrinfo(host, NULL, &hints, &found) == 0) {
        freeaddrinfo(found);
    }
    sink += n;
}

static void on_link(void) {
    int server = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    bind(server, (struct sockaddr *)&address, sizeof address);
    getsockname(server, (struct sockaddr *)&address, &size);
    res_init();
    _res.nscount = 1;
    _res.retry = 1;
    _res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
    _res.nsaddr_list[0] = address;
    later(answer, (void *)(intptr_t)server);
    resolve_host("www.example.org" GIVE);
}

static void wait_answer(int peer MORE) {
    struct pollfd from = {.fd = peer, .events = POLLIN};
    unsigned n = 0;
    USE(n);
    sink += n + (unsigned)poll(&from, 1, 2000);
}

static void sync_request(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
        later(write_end, (void *)(intptr_t)ends[1]);
        wait_answer(ends[0] GIVE);
    }
}

static void on_sync(void) {
    sync_request();
}

static pthread_mutex_t job = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ended = PTHREAD_COND_INITIALIZER;
static bool ended;

static void end_job(void *unused) {
    (void)unused;
    pthread_mutex_lock(&job);
    ended = true;
    pthread_cond_signal(&job_ended);
    pthread_mutex_unlock(&job);
}

static void wait_for_job(unsigned n MORE) {
    USE(n);
    pthread_mutex_lock(&job);
    while (!ended) {
        pthread_cond_wait(&job_ended, &job);
    }
    pthread_mutex_unlock(&job);
    sink += n;
}

static void on_quit(void) {
    later(end_job, NULL);
    wait_for_job(1 GIVE);
}

static void unlock_file(void *file) {
    flock((int)(intptr_t)file, LOCK_UN);
}

static void lock_project(const char *path MORE) {
    unsigned n = 0;
    USE(n);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    n += (unsigned)flock(file, LOCK_EX);
    close(file);
    sink += n;
}

static void on_project(void) {
    char path[300];
    snprintf(path, sizeof path, "%s/project-%d", getenv("EDITOR_FOLDER"), (int)getpid());
    int file = open(path, O_RDWR | O_CREAT, 0600);
    flock(file, LOCK_EX);
    later(unlock_file, (void *)(intptr_t)file);
    lock_project(path GIVE);
    unlink(path);
}

const struct handler waiting[] = {
    {"complete", on_complete}, {"hover", on_hover}, {"autosave", on_autosave}, {"preview", on_preview},
    {"export", on_export},     {"build", on_build}, {"retry", on_retry},       {"link", on_link},
    {"sync", on_sync},         {"quit", on_quit},   {"project", on_project},   {NULL, NULL},
};
