/* SPDX-License-Identifier: MIT
 *
 * A loop that the library watches, with one block of 0.7 s of the kind that its second argument names, or
 * with a state or a frame that has a kind of report of its own. docs/kinds.md has a report of each.
 *
 *   kinds SPOOL sleep|lock|network|child|starved|unknown|launch|background|frame
 *   kinds SPOOL disk|page-fault BEHIND MOUNTED      the folders of stallfs
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hangdog/hangdog.h"

#define MS 1000000ULL
#define BLOCK_NS (700 * MS)
#define KEPT __attribute__((noinline))

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns) {
    static volatile uint64_t sum;
    for (uint64_t end = now_ns() + ns; now_ns() < end;) {
        sum = sum + 1;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------ */

KEPT static void retry_later(void) {
    usleep(BLOCK_NS / 1000);
    __asm__ volatile(""); /* no tail call: it stays on the stack */
}

static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_locked;

KEPT static void *compact_log(void *unused) {
    prctl(PR_SET_NAME, "compactor");
    pthread_mutex_lock(&index_lock);
    pthread_barrier_wait(&is_locked);
    usleep(BLOCK_NS / 1000);
    pthread_mutex_unlock(&index_lock);
    return unused;
}

KEPT static void look_up(void) {
    pthread_t thread;
    pthread_barrier_init(&is_locked, NULL, 2);
    if (pthread_create(&thread, NULL, compact_log, NULL) == 0) {
        pthread_barrier_wait(&is_locked);
        pthread_mutex_lock(&index_lock);
        pthread_mutex_unlock(&index_lock);
        pthread_join(thread, NULL);
    }
}

/* Of a disk that does not answer until that file is gone: tests/programs/stallfs. */
static char stall_file[512], disk_folder[512];

static void *end_stall(void *unused) {
    usleep(BLOCK_NS / 1000);
    unlink(stall_file);
    return unused;
}

static int open_file(const char *name, const char *what_stalls, pthread_t *thread) {
    char path[576];
    static char page[4096];
    snprintf(path, sizeof path, "%s/%s", disk_folder, name);
    strncat(stall_file, what_stalls, sizeof stall_file - strlen(stall_file) - 1);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool ready = file >= 0 && write(file, page, sizeof page) > 0 && fsync(file) == 0 &&
                 posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
    int stall = ready ? open(stall_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (stall < 0 || pthread_create(thread, NULL, end_stall, NULL) != 0) {
        perror(path);
        exit(1);
    }
    close(stall);
    return file;
}

KEPT static void save_document(void) {
    pthread_t thread;
    int file = open_file("document.txt", "/stall", &thread);
    fsync(file);
    pthread_join(thread, NULL);
    close(file);
}

static void *answer_later(void *socket) {
    usleep(BLOCK_NS / 1000);
    (void)!write(*(int *)socket, "", 1);
    return NULL;
}

KEPT static void fetch_page(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    char byte;
    pthread_t thread;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        connect(client, (struct sockaddr *)&address, size) != 0) {
        perror("socket");
        exit(1);
    }
    int server = accept(listener, NULL, NULL);
    pthread_create(&thread, NULL, answer_later, &server);
    if (recv(client, &byte, 1, 0) != 1) {
        exit(1);
    }
    pthread_join(thread, NULL);
}

KEPT static void run_converter(void) {
    if (system("sleep 0.7") != 0) { /* NOLINT(cert-env33-c): what is shown */
        exit(1);
    }
}

/* Reads a mapped file by touching it. */
KEPT static void scan_table(void) {
    pthread_t thread;
    static volatile char sum;
    int file = open_file("table.db", "/stall-reads", &thread);
    const char *table = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
    sum = table != MAP_FAILED ? (char)(sum + *table) : 0;
    pthread_join(thread, NULL);
    close(file);
}

/* Beside four that compute, on one CPU, and with less right to it. */
KEPT static void resize_image(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            spin(3 * BLOCK_NS);
            _exit(0);
        }
    }
    setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
    spin(2 * BLOCK_NS);
    while (wait(NULL) > 0 || errno == EINTR) {
    }
}

KEPT static void await_token(void) {
    int ends[2];
    char byte;
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, answer_later, &ends[1]) != 0 ||
        read(ends[0], &byte, 1) != 1) {
        exit(1);
    }
    pthread_join(thread, NULL);
}

/* ---- kinds of report ---------------------------------------------------------------------------- */

KEPT static void load_settings(void) {
    usleep(BLOCK_NS / 1000);
    __asm__ volatile("");
}

/* Frames of 5 ms, and a late one. */
static void play(hangdog_loop *loop) {
    for (int i = 0; i < 40; i++) {
        hangdog_frame(loop);
        if (i == 30) {
            spin(150 * MS);
        }
        usleep(5000);
    }
}

static void block(const char *what, hangdog_loop *loop) {
    if (strcmp(what, "sleep") == 0) {
        retry_later();
    } else if (strcmp(what, "lock") == 0) {
        look_up();
    } else if (strcmp(what, "disk") == 0) {
        save_document();
    } else if (strcmp(what, "network") == 0) {
        fetch_page();
    } else if (strcmp(what, "child") == 0) {
        run_converter();
    } else if (strcmp(what, "page-fault") == 0) {
        scan_table();
    } else if (strcmp(what, "starved") == 0) {
        resize_image();
    } else if (strcmp(what, "unknown") == 0) {
        await_token();
    } else if (strcmp(what, "background") == 0) {
        hangdog_set_state(HANGDOG_STATE_BACKGROUND);
        retry_later();
    } else if (strcmp(what, "frame") == 0) {
        play(loop);
    }
}

/* A slow disk may take longer than the stop waits for it: 10 s at most. */
static void wait_for_report(const char *spool) {
    bool found = false;
    for (int i = 0; i < 200 && !found; i++) {
        const struct dirent *e;
        DIR *folder = opendir(spool);
        while (folder != NULL && (e = readdir(folder)) != NULL) {
            found |= e->d_name[0] != '.' && strstr(e->d_name, ".json") != NULL;
        }
        if (folder != NULL) {
            closedir(folder);
        }
        usleep(50000);
    }
    usleep(300000); /* it is complete */
}

int main(int argc, char **argv) {
    hangdog_options options = {.size = sizeof options,
                               .spool = argc >= 3 ? argv[1] : NULL,
                               .interval_ns = 10 * MS,
                               .frame_drop_ns = 100 * MS};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 300 * MS;
    }
    if (argc < 3 || hangdog_start(&options) != 0) {
        return 1;
    }
    if (argc == 5) {
        snprintf(stall_file, sizeof stall_file, "%s", argv[3]);
        snprintf(disk_folder, sizeof disk_folder, "%s", argv[4]);
    }
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    if (strcmp(argv[2], "launch") == 0) {
        load_settings();
    }
    hangdog_before_wait(loop);
    usleep(400000);
    hangdog_after_wait(loop);
    block(argv[2], loop);
    hangdog_before_wait(loop);
    wait_for_report(argv[1]);
    hangdog_loop_unwatch(loop);
    return hangdog_stop() != 0;
}
