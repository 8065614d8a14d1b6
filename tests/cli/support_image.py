# SPDX-License-Identifier: MIT
#
# The root folder of a container's image, without a registry and without docker: the files of Debian's essential packages and of
# those that a RUN line installs, as they are installed on this machine, and Hangdog below /usr/local.

import functools
import os
import pathlib
import re
import subprocess
import unittest

from support_run import BUILD, cached

LEFT_OUT = ("/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/info", "/usr/share/icons", "/usr/include", "/boot")
BASE = "base-files base-passwd ca-certificates"  # beside the essential ones
# Hangdog sees a process of its own there, and a /proc of it.
ENTER = """
mount -t proc proc "$0/proc"
mount --bind /dev "$0/dev"
root=$0
exec chroot "$root" "$@"
"""


def dpkg(*words):
    return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, timeout=60, check=False).stdout


@functools.lru_cache
def installed():
    """Each installed package: whether it is essential, and what it depends on (the first of alternatives that is there)."""
    found = {}
    for line in dpkg("-W", "-f", "${Package}\t${db:Status-Abbrev}\t${Essential}\t${Pre-Depends}, ${Depends}\n").splitlines():
        name, status, essential, depends = line.split("\t")
        if status.startswith("ii"):
            found[name] = essential == "yes", [[word.split()[0].split(":")[0] for word in one.split("|")]
                                               for one in depends.split(",") if one.strip()]
    return found


def closure(packages):
    """These packages, the essential ones, and all that they depend on."""
    todo, done = [*packages, *BASE.split(), *(name for name, (essential, _) in installed().items() if essential)], set()
    while todo:
        name = todo.pop()
        if name in done or name not in installed():
            continue
        done.add(name)
        for one in installed()[name][1]:
            todo += [name for name in one if name in installed()][:1]
    return done


def named_packages(run):
    """Those that an `apt-get install` of a RUN line names."""
    words = re.search(r"apt-get install -y ([^&\n]*)", run).group(1).split()
    packages = [word for word in words if not word.startswith("-")]
    missing = [name for name in packages if name not in installed()]
    if missing:
        raise unittest.SkipTest("not installed here: " + " ".join(missing))
    return packages


def make_image(folder, packages):
    root = pathlib.Path(folder)
    for name in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "dev", "tmp", "var/lib", "etc", "run"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to("usr/" + name)
    files = set(dpkg("-L", *closure(packages)).splitlines())
    chosen = [path.lstrip("/") for path in sorted(files) if path.startswith("/") and not path.startswith(LEFT_OUT)
              and (os.path.islink(path) or os.path.isfile(path)) and path not in ("/bin", "/sbin", "/lib", "/lib64")]
    pack = subprocess.Popen(["tar", "-C", "/", "-cf", "-", "--no-recursion", "-T", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-C", root, "-xf", "-", "--keep-directory-symlink"], stdin=pack.stdout)
    pack.stdin.write("\n".join(chosen).encode())
    pack.stdin.close()
    if unpack.wait(60) != 0 or pack.wait(60) != 0:
        raise AssertionError("the packages' files cannot be copied")
    subprocess.run(["ldconfig", "-r", root], check=True, timeout=60)
    subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", "/usr/local"], check=True, timeout=60,
                   env={**os.environ, "DESTDIR": str(root)}, stdout=subprocess.DEVNULL)
    return root


def in_image(root, words, env=None, **options):
    """Starts the words as process 1 of a container with this root; the network is this machine's."""
    return subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, root, *words],
                            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **(env or {})}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)
