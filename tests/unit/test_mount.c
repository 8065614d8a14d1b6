/* SPDX-License-Identifier: MIT
 *
 * The mount of a file: lines of mountinfo as kernels wrote them, and calls on paths of this process.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "evidence.h"

#include "cause/linux/file.h"
#include "cause/linux/mount.h"
#include "os/linux/proc_lines.h"

static void mounts_of_servers_are_described(void **state) {
    static const struct {
        const char *line, *shown; /* NULL: a local disk */
    } cases[] = {
        {"99 27 0:52 / /mnt/share rw shared:1 - nfs4 files.example:/export rw,vers=4.2,addr=192.0.2.7",
         "NFS server files.example:/export"},
        {"99 27 0:52 / /mnt/share rw - nfs 192.0.2.7:/export rw", "NFS server 192.0.2.7:/export"},
        {"99 27 0:52 / /mnt/w rw - cifs //files.example/a\\040share rw,user=me",
         "CIFS server //files.example/a share"},
        {"99 27 0:52 / /mnt/w rw - smb3 //files.example/share rw", "CIFS server //files.example/share"},
        {"99 27 0:52 / /home/me/dir rw shared:5 master:1 - fuse.sshfs me@host.example:/srv/@x rw,user_id=0",
         "sshfs server host.example:/srv/@x"},
        {"99 27 0:52 / /home/me/share rw - fuse.slowfs slowfs rw", "FUSE file system slowfs at share"},
        {"99 27 0:52 / /run/user/1000/gvfs rw - fuse.gvfsd-fuse gvfsd-fuse rw",
         "FUSE file system gvfsd-fuse at gvfs"},
        {"99 27 0:52 / /mnt/f rw - fuse curlftpfs#ftp://me:secret@ftp.example/ rw",
         "FUSE server ftp.example/"},
        {"99 27 0:52 / /mnt/f rw - fuse curlftpfs#ftp://me:sec/ret@ftp.example/ rw", "FUSE file system at f"},
        {"99 27 0:52 / /mnt/d rw - fuse https://dav.example/files?token=secret rw",
         "FUSE server dav.example/files"},
        {"99 27 0:52 / /mnt/c rw - 9p C:\\134 rw,aname=drvfs", "9p file system at c"},
        {"99 27 0:52 / /net rw - autofs -hosts rw,fd=7", "autofs file system at net"},
        {"99 27 0:52 / /l rw - lustre 192.0.2.1@tcp:/fs rw", "Lustre server 192.0.2.1@tcp:/fs"},
        {"99 27 0:52 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw", "FUSE file system fuse-overlayfs at /"},
        {"99 27 0:52 / / rw,relatime - ext4 /dev/vda rw", NULL},
        {"99 27 0:52 / /media/usb rw - fuseblk /dev/sdb1 rw", NULL},
        {"99 27 0:52 / /proc/fs/nfsd rw - nfsd nfsd rw", NULL},
        {"99 27 0:52 / /sys/fs/fuse/connections rw - fusectl fusectl rw", NULL},
        {"99 27 0:52 / /mnt/share rw shared:1", NULL},
        {"99 27 0:52 / mnt rw - nfs files.example:/export rw", NULL},
        {"99", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256], shown[64] = "";
        struct hd_mount m;
        snprintf(line, sizeof line, "%s", cases[i].line);
        bool found = hd_mount_parse(line, &m) && hd_mount_describe(&m, shown, sizeof shown);
        assert_string_equal(found ? shown : "", cases[i].shown != NULL ? cases[i].shown : "");
    }
}

static void a_path_lies_below_its_mount_point(void **state) {
    (void)state;
    assert_int_equal(hd_mount_covers("/", "/mnt/share/a"), 1);
    assert_int_equal(hd_mount_covers("/mnt/share", "/mnt/share/a"), 10);
    assert_int_equal(hd_mount_covers("/mnt/share", "/mnt/share"), 10);
    assert_int_equal(hd_mount_covers("/mnt/share", "/mnt/shared/a"), 0);
    assert_int_equal(hd_mount_covers("/mnt/share", "/mnt"), 0);
}

static const char *path_of(int32_t nr, uint64_t first, uint64_t second) {
    static char path[256];
    struct hd_capture c = {.syscall_nr = nr, .syscall_args = {first, second}};
    return hd_file_path(ctx, caller, &c, path, sizeof path) ? path : "";
}

static void paths_become_absolute(void **state) {
    char cwd[PATH_MAX];
    uint64_t at_cwd = (uint64_t)(int64_t)AT_FDCWD;
    int folder = open("/usr/lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)state;
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir("/usr/bin"), 0);
    assert_string_equal(path_of(SYS_openat, at_cwd, address_of("/a//b/./c/../d/")), "/a/b/d");
    assert_string_equal(path_of(SYS_openat, at_cwd, address_of("/../..")), "/");
    assert_string_equal(path_of(SYS_openat, at_cwd, address_of("../x")), "/usr/x");
    assert_string_equal(path_of(SYS_statfs, address_of("x"), 0), "/usr/bin/x");
    assert_string_equal(path_of(SYS_openat, (uint64_t)folder, address_of("x")), "/usr/lib/x");
    assert_string_equal(path_of(SYS_openat, 99, address_of("x")), "");
    assert_string_equal(path_of(SYS_openat, at_cwd, address_of("")), "");
    assert_string_equal(path_of(SYS_openat, at_cwd, 8), "");
    assert_string_equal(path_of(SYS_fsync, (uint64_t)folder, 0), "");
    assert_int_equal(chdir(cwd), 0);
    close(folder);
}

/* ---- the whole table ---------------------------------------------------------------------------- */

static char table[8192];
static size_t table_at;
static int table_fd;

/* Gives a few bytes at a time. */
static long read_table(int fd, void *buf, size_t n) {
    if (fd != table_fd) {
        return real.read(fd, buf, n);
    }
    size_t left = strlen(table) - table_at, given = n < 7 ? n : 7;
    given = given < left ? given : left;
    memcpy(buf, table + table_at, given);
    table_at += given;
    return (long)given;
}

static int open_table(int dir, const char *path, int flags, int mode) {
    int fd = real.open_at(dir, path, flags, mode);
    if (strstr(path, "mountinfo") != NULL) {
        table_fd = fd;
        table_at = 0;
    }
    return fd;
}

static const char *mount_of(const char *path) {
    hd_os.read = read_table;
    hd_os.open_at = open_table;
    assert_string_equal(cause_of(HD_RUN_UNINTERRUPTIBLE, SYS_openat, 0, address_of(path), 0), "disk");
    hd_os = real;
    table_fd = -1;
    return probe.party.role == HD_PARTY_MOUNT ? probe.party.name : "";
}

static void the_innermost_mount_counts(void **state) {
    char *to = table;
    (void)state;
    to += sprintf(
        to, "20 1 8:1 / / rw - ext4 /dev/sda rw\n30 20 0:50 / /mnt rw - nfs files.example:/export rw\n");
    to +=
        sprintf(to, "31 30 8:2 / /mnt/local rw - ext4 /dev/sdb rw\n32 20 0:60 / /over rw - overlay overlay ");
    memset(to, 'x', 3000); /* a line that is longer than the buffer */
    to += 3000;
    to += sprintf(
        to,
        "\n33 20 0:51 / /twice rw - nfs old.example:/ rw\n34 33 0:52 / /twice rw - nfs new.example:/ rw\n");
    sprintf(to,
            "35 20 0:53 / /bad rw - nfs a\\033[1m\\012b:/ rw\n36 20 0:54 / /last rw - nfs unended.example:/");
    assert_string_equal(mount_of("/mnt/doc.txt"), "NFS server files.example:/export");
    assert_string_equal(mount_of("/mnt/local/doc.txt"), "");
    assert_string_equal(mount_of("/twice/doc.txt"), "NFS server new.example:/");
    assert_string_equal(mount_of("/bad/doc.txt"), "NFS server a?[1m?b:/");
    assert_string_equal(mount_of("/over/doc.txt"), "");
    assert_string_equal(mount_of("/last/doc.txt"), "");
    assert_string_equal(mount_of("/doc.txt"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_of_servers_are_described),
        cmocka_unit_test(a_path_lies_below_its_mount_point),
        cmocka_unit_test_setup_teardown(paths_become_absolute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_innermost_mount_counts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
