#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs programs without an event loop under `hangdog run --follow`, one after the other, and counts the reports.

  tests/recognition/without_loop.py [--hangdog build/bin/hangdog] [--minutes 60] [--sources FOLDER] [--keep FOLDER]

Builds, shells, git, package tools, test suites, clients of databases and servers: there must be no report. --sources names a folder
where the source packages of SUITES lie or are put by apt-get; without it their test suites are left out. Each report is printed when
its program has ended, and kept in the folder of --keep. Exit status 1 when there was one.
"""
import argparse
import contextlib
import glob
import json
import os
import pathlib
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
# In a folder of its own each; $TREE is this tree, $PORT a server that answers after 0.2 s, $REDIS the port of a redis-server.
LINES = {
    "compile": "for f in $TREE/src/*/*.c; do gcc -O2 -I$TREE/src -I$TREE/include -c $f -o o.o || true; done",
    "make": "printf 'all: 1 2 3 4 5 6 7 8\\n%%:\\n\\tsleep 0.$@; sort /usr/share/dict/words /etc/services | md5sum\\n' >m; make -k -j2 -f m",
    "cmake": "cmake -S $TREE -B b -G Ninja -DHANGDOG_BUILD_TESTS=OFF && nice ninja -C b -j1 hangdog-static",
    "tidy": "clang-format $TREE/src/*/*.c | wc; cd $TREE && clang-tidy --quiet src/loop/*.c -- -Isrc -Iinclude | tail -1",
    "git": "git clone -q --no-hardlinks $TREE c && cd c && git log --stat -n 200 | wc && git gc -q --prune=now && git blame README.md | wc"
           " && git checkout -q HEAD~20 && git grep -c loop | sort -t: -k2n | tail -3",
    "shells": "for i in $(seq 300); do echo $i | sed s/1/2/ | cat; done | sort -n | uniq -c | tail -2; find /usr/share -name '*.p*' | wc;"
              " bash -c 'for i in 1 2 3; do read -t 0.3 < <(sleep 1); x=$(sleep 0.6; echo $i); done'",
    "archives": "tar cf - /usr/share/perl* | gzip | tee a.gz | sha256sum; tar xzf a.gz; tar cf - usr | xz -T1 -2 | wc -c; bzip2 -k a.gz;"
                " find usr -type f | xargs -P 2 -n 50 md5sum | sort | tail -1; rsync -a --bwlimit=8000 usr/ copy",
    "packages": "apt-cache search editor | wc; apt-cache dumpavail | grep -c ^Package; apt-get -s install emacs | tail -1; dpkg -l | wc; "
                "dpkg -L perl-base | xargs ls -d | wc; for i in 1 2 3; do apt-cache rdepends libc6 | wc; done; dpkg --verify coreutils;"
                " mkdir -p p/DEBIAN && printf 'Package: p\\nVersion: 1\\nArchitecture: all\\nMaintainer: m\\nDescription: d\\n' >p/DEBIAN/control"
                " && dpkg-deb -b p && dpkg-deb -x p.deb q",
    "sqlite": "for i in 1 2 3; do sqlite3 d \"CREATE TABLE t$i AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE"
              " i < 1500000) SELECT i, hex(randomblob(8)) h FROM n; CREATE INDEX x$i ON t$i(h); SELECT count(DISTINCT h) FROM t$i;\"; done;"
              " sqlite3 d .dump | wc",
    "redis": "redis-cli -p $REDIS -r 10 -i 0.7 PING; seq 20000 | sed 's/.*/SET k& &/' | redis-cli -p $REDIS --pipe;"
             " redis-cli -p $REDIS EVAL 'local s = 0 for i = 1, 2e7 do s = s + i end return s' 0; redis-cli -p $REDIS --scan | wc;"
             " redis-cli -p $REDIS --bigkeys | tail -2",
    "postgres": "for i in 1 2; do psql \"host=127.0.0.1 port=$PORT connect_timeout=2 sslmode=disable\" -c 'select 1'; sleep 0.7; done",
    "network": "curl -s http://127.0.0.1:$PORT/[1-8] -o /dev/null --rate 80/m; curl -sZ http://127.0.0.1:$PORT/[1-20] -o /dev/null;"
               " wget -qO /dev/null --wait=0.7 http://127.0.0.1:$PORT/1 http://127.0.0.1:$PORT/2; ping -qc 5 -i 0.6 127.0.0.1;"
               " ssh -o ConnectTimeout=2 -p $PORT 127.0.0.1 true; git ls-remote http://127.0.0.1:$PORT/r",
    "python": "/usr/bin/python3 -m compileall -qf -d x /usr/lib/python3.11/json /usr/lib/python3.11/asyncio; for i in 1 2 3; do"
              " /usr/bin/python3 -c 'import subprocess, time\nfor _ in range(3): subprocess.run([\"sleep\", \"0.3\"], capture_output=True,"
              " timeout=9); time.sleep(0.7)'; done; /usr/bin/python3 -m timeit -n 30 'sorted(range(10**5), key=str)'",
    "perl": "perl -e 'for (1..3) { select undef, undef, undef, 0.3; my %h; $h{$_ % 999}++ for 1..5e6 }'; perldoc -T perl 2>&1 | wc;"
            " perl -MIO::Select -e 'open my $c, \"-|\", \"for i in 1 2 3; do sleep 1; echo $i; done\"; my $s = IO::Select->new($c);"
            " while ($s->can_read(5)) { sysread($c, my $l, 9) or last; select undef, undef, undef, 0.7 }'",
    "ruby": "ruby -rnet/http -e '6.times { Net::HTTP.get(URI(\"http://127.0.0.1:#{ENV[%q(PORT)]}/\")); t = Time.now;"
            " nil while Time.now - t < 0.7 }'; ruby -e '5.times { sleep 0.2; t = Time.now; nil while Time.now - t < 0.7 }'",
    "text": "seq 2000000 | awk '{ s += $1 % 7; h[$1 % 1000] += s } END { print s }'; man -P cat bash 2>/dev/null | wc; grep -rc loop $TREE/src"
            " | sort | tail -1; diff -r $TREE/src $TREE/preload | wc; timeout 4 tail -f /etc/services | wc; seq 300000 | shuf | sort -n | wc",
    "tools": "gdb -batch -ex run -ex bt /bin/true; strace -fc sh -c 'ls -R /usr/share/doc | wc'; valgrind -q /bin/true; openssl speed -seconds 1"
             " sha256; gpg --version | wc; vim -es -c 'norm ihello' -c 'wq! f' </dev/null; java -version; readelf -Wa /bin/bash | wc",
}
SUITES = ["hello", "sed", "grep", "diffutils", "findutils", "m4", "patch", "zlib", "bzip2", "make-dfsg", "bc", "jq"]
SUITE = "cp -a %s s && cd s && { test ! -x configure || ./configure -q; } && make -s -j2 && make -k check"


class Answers(socketserver.StreamRequestHandler):
    """Each page, or line, after 0.2 s."""

    def handle(self):
        with contextlib.suppress(ConnectionError):
            for line in self.rfile:
                while line.startswith(b"GET") and self.rfile.readline().strip():
                    pass
                time.sleep(0.2)
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage" if line.startswith(b"GET") else b"PONG\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


def fetch_sources(folder):
    """The unpacked sources of SUITES that are there, or that apt-get gets without a change of the system's own lists."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("lists/partial", "parts", "unpacked"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in glob.glob("/etc/apt/sources.list.d/debian.sources"):
        text = pathlib.Path(path).read_text(encoding="ascii").replace("Types: deb\n", "Types: deb-src\n")
        (folder / "parts/debian.sources").write_text(text, encoding="ascii")
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={folder}/parts", "-o",
           f"Dir::State::Lists={folder}/lists"]
    if not all(glob.glob(f"{folder}/{name}_*.dsc") for name in SUITES):
        subprocess.run([*apt, "update"], check=False)
        for name in SUITES:
            subprocess.run([*apt, "source", "--download-only", name], cwd=folder, check=False, stderr=subprocess.DEVNULL)
    found = {}
    for name in SUITES:
        for archive in glob.glob(f"{folder}/{name}_*.orig.tar.*[!c]"):
            target = folder / "unpacked" / name
            if not target.exists():
                target.mkdir()
                subprocess.run(["tar", "xf", archive, "-C", target, "--strip-components=1"], check=False)
            found[name] = target
    return found


@contextlib.contextmanager
def servers():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(("127.0.0.1", 0), Answers))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Server(("127.0.0.1", 0), Answers) as other:
            port = other.server_address[1]
        if shutil.which("redis-server"):
            redis = stack.enter_context(subprocess.Popen(["redis-server", "--port", str(port), "--save", ""],
                                                         stdout=subprocess.DEVNULL))
            stack.callback(redis.terminate)
        stack.callback(server.shutdown)
        yield {"PORT": str(server.server_address[1]), "REDIS": str(port), "TREE": str(TREE)}


def run(hangdog, name, line, env, keep):
    """One line; how long it took, and its reports of hangs."""
    with tempfile.TemporaryDirectory(prefix="hangdog-hour-", ignore_cleanup_errors=True) as folder:
        spool, begin = os.path.join(folder, "spool"), time.monotonic()
        with open(os.path.join(folder, "output"), "wb") as output:
            process = subprocess.run([hangdog, "run", "--follow", "--quiet", "--spool", spool, "--", "/bin/sh", "-c", line],
                                     cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, check=False)
        seconds, reports, sessions = time.monotonic() - begin, [], 0
        for path in pathlib.Path(spool).rglob("*.json"):
            report = json.loads(path.read_text(encoding="utf-8"))
            if report["kind"] == "session":
                sessions += 1
                continue
            reports.append(report)
            print("  %s: %s of %.1f s, %s: %s" % (report["app"]["name"], report["kind"], report["duration_ns"] / 1e9,
                                                  report["cause"]["kind"], report["cause"]["detail"]), flush=True)
            if keep:
                os.makedirs(keep, exist_ok=True)
                shutil.copy(path, keep)
        print("%-10s %6.1f s, status %d, %d with a loop, %d reports" % (name, seconds, process.returncode, sessions, len(reports)),
              flush=True)
    return seconds, reports


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hangdog", default=str(TREE / "build/bin/hangdog"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--keep")
    parser.add_argument("--only", help="the names of some lines, with commas")
    options = parser.parse_args()
    lines = dict(LINES)
    if options.sources:
        found = fetch_sources(options.sources.resolve())
        lines.update({"test-" + name: SUITE % folder for name, folder in found.items()})
    if options.only:
        lines = {name: lines[name] for name in options.only.split(",")}
    total, runs, reports = 0.0, 0, []
    with servers() as env:
        while total < options.minutes * 60:
            for name, line in lines.items():
                seconds, found = run(os.path.abspath(options.hangdog), name, line, env, options.keep)
                total, runs = total + seconds, runs + 1
                reports += found
                if total >= options.minutes * 60:
                    break
    causes = sorted({report["cause"]["kind"] for report in reports})
    print("%.2f hours, %d runs, %d reports%s" % (total / 3600, runs, len(reports), ": " + ", ".join(causes) if causes else ""))
    sys.exit(1 if reports else 0)


if __name__ == "__main__":
    main()
