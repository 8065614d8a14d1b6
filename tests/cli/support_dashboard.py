# SPDX-License-Identifier: MIT
"""The reports that the dashboard's tests and pictures show: two apps, four versions, 30 days, each cause, each kind."""

import time
import uuid

DAY = 86400
NOW = time.time()
MODULES = [{"path": "/opt/shop/bin/shop", "base": "0x1000", "size": 1 << 20}, {"path": "/usr/lib/x86_64-linux-gnu/libc.so.6", "base": "0x7f0000000000",
                                                                              "size": 1 << 21},
           {"path": "/usr/lib/x86_64-linux-gnu/libuv.so.1", "base": "0x7f0000400000", "size": 1 << 18}]
# The app's functions, outermost first, and below them what the C library did.
BELOW = [("main", "shop.c", 210, 0), ("uv_run", "", 0, 2), ("uv__io_poll", "", 0, 2), ("on_request", "server.c", 88, 0)]
HANGS = {
    "resize_image": ("cpu", [("handle_upload", "upload.c", 51), ("make_thumbnails", "image.c", 140), ("resize_image", "image.c", 77)],
                     [("scale_row", "image.c", 31, 0, 0.55), ("memmove", "", 0, 1, 0.25)], "running", ""),
    "lookup": ("lock", [("handle_search", "search.c", 40), ("lookup", "index.c", 113)], [("pthread_mutex_lock", "", 0, 1, 0.96)], "blocked", "futex"),
    "load_prices": ("disk", [("handle_cart", "cart.c", 64), ("load_prices", "prices.c", 29)], [("fread", "", 0, 1, 0.9), ("parse_price", "prices.c", 12, 0, 0.1)],
                    "uninterruptible", "read"),
    "ask_stock": ("network", [("handle_cart", "cart.c", 66), ("ask_stock", "stock.c", 18)], [("recv", "", 0, 1, 0.98)], "blocked", "recvfrom"),
    "render_page": ("cpu", [("handle_page", "page.c", 22), ("render_page", "page.c", 91)], [("escape_html", "page.c", 13, 0, 0.7), ("malloc", "", 0, 1, 0.2)],
                    "running", ""),
    "wait_for_retry": ("sleep", [("handle_pay", "pay.c", 31), ("wait_for_retry", "pay.c", 55)], [("usleep", "", 0, 1, 1.0)], "blocked", "clock_nanosleep"),
    "run_export": ("child", [("handle_admin", "admin.c", 12), ("run_export", "admin.c", 47)], [("waitpid", "", 0, 1, 1.0)], "blocked", "wait4"),
}


def at(days, seconds=0):
    """The time so long ago, as reports have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(NOW - days * DAY - seconds - 60))


def frame(name, file="", line=0, module=0):
    made = {"pc": "0x%x" % (0x1000 + abs(hash(name)) % 0x8000), "module": module, "function": name}
    return {**made, "file": "/src/shop/" + file, "line": line} if file else made


def tree_of(path, leaves, ns):
    """The call tree of a report: one path, then what the innermost function called."""
    frames = [frame(*part) for part in [*path, *((name, file, line, module) for name, file, line, module, _ in leaves)]]
    last = len(path) - 1
    nodes = [{"frame": i, "parent": i - 1, "time_ns": ns, "samples": 100} for i in range(len(path))]
    nodes += [{"frame": len(path) + i, "parent": last, "time_ns": int(ns * leaf[4]), "samples": int(100 * leaf[4])} for i, leaf in enumerate(leaves)]
    return {"frames": frames, "nodes": nodes}


def timeline(ns, state, call, stacks):
    """Samples of 50 ms: the hang's state for most of the time, some computing between."""
    count = min(200, max(2, ns // 50_000_000))
    step = ns // count
    return [{"at_ns": i * step, "for_ns": step, "stack": i % stacks, **({"state": state, "syscall": call} if call and i % 7 else {"state": "running"})}
            for i in range(count)]


def place(install):
    """Two hosts with a unit, one with a container, one that says nothing."""
    return [{"name": "web-1", "unit": "shop.service"}, {"name": "web-2", "unit": "shop.service"}, {},
            {"name": "k8s-1", "container": {"id": "3f9a" * 16, "name": "shop_web_1", "image": "registry.example/shop:2.0"}}][install % 4]


def base(kind, app, version, days, ns, install):
    return {"format": "hangdog-report/1", "id": str(uuid.uuid4()), "kind": kind, "complete": True, "started_at": at(days), "duration_ns": ns,
            "threshold_ns": 500_000_000, "app": {"name": app, "version": version, "executable": "/opt/shop/bin/shop", "pid": 71,
                                                 "session": str(uuid.uuid4()), "install": "install-%d" % install},
            "host": {"os": "linux", "os_version": ("Debian 12", "Ubuntu 24.04")[install % 2], "kernel": "6.1.0", "arch": ("x86_64", "aarch64")[install % 5 == 4],
                     "cpus": 8, "memory_bytes": 16 << 30, **place(install)},
            "process": {"cpu_percent": 41, "rss_bytes": 310 << 20, "thread_count": 4}, "modules": MODULES}


def hang(function, version, days, ns, install=0, app="shop"):
    cause, own, leaves, state, call = HANGS[function]
    path = BELOW + [(*part, 0) for part in own]
    innermost = [frame(*leaves[0][:4]), *(frame(*part) for part in reversed(path))]
    report = base("hang", app, version, days, ns, install)
    report.update({
        "loop": {"name": "main", "tid": 71, "state": "foreground"}, "cause": {"kind": cause, "share": 0.94, "detail": "most of the time " + (call or "on a CPU")},
        "hot_stack": {"frames": innermost, "samples": 30, "share": 0.94},
        "samples": {"interval_ns": 50_000_000, "taken": 30, "stacks": [{"frames": innermost}, {"frames": innermost[1:]}],
                    "timeline": timeline(ns, state, call, 2), "tree": tree_of(path, leaves, ns)},
        "threads": [{"tid": 71, "name": "shop", "watched": True, "state": "S", "stack": {"frames": innermost}},
                    {"tid": 74, "name": "writer", "state": "S", "syscall": "epoll_wait", "stack": {"frames": [frame("epoll_wait", module=1)]}}]})
    if cause == "lock":
        report["cause"].update(lock_owner_tid=73, lock_kind="mutex", detail="waited for a mutex")
        report["threads"].append({"tid": 73, "name": "compactor", "state": "D", "syscall": "fdatasync", "stack": {
            "frames": [frame("fdatasync", module=1), frame("compact_log", "log.c", 61), frame("compactor", "log.c", 90)]}})
    return report


def version_of(days):
    """The shop's newest version, so long ago."""
    return "1.2" if days > 20 else "1.3" if days > 8 else "2.0"


def other(kind, days, ns, install):
    report = base(kind, "shop", version_of(days), days, ns, install)
    frames = [frame("paint_list", "list.c", 40), *(frame(*part) for part in reversed(BELOW))]
    report.update(cause={"kind": "cpu"}, hot_stack={"frames": frames})
    if kind == "cpu":
        report["cpu"] = {"tid": 71, "percent": 97, "period_ns": 3_000_000_000}
    if kind == "crash":
        report["crash"] = {"signal": "SIGSEGV", "tid": 71, "address": "0x0"}
    return report


def session(app, version, days, hours, hangs):
    report = base("session", app, version, days, int(hours * 3600e9), 0)
    report["session"] = {"used_ns": int(hours * 3600e9), "hangs": hangs, "hang_ns": hangs * 1_000_000_000}
    return report


def reports():
    """All of them; the same figures each time."""
    made = []
    for days in range(29, -1, -1):
        version = version_of(days)
        for run in range(4):
            hangs = (days + run) % 3
            made.append(session("shop", version, days, 1.5 + run * 0.5, hangs))
        made.append(hang("resize_image", version, days, (700 + days * 7919 % 13 * 350) * 1_000_000, days))
        if days % 2 == 0 and version != "2.0":
            made.append(hang("load_prices", version, days, 1_700_000_000 + days * 20_000_000, days + 1))
        if days % 3 == 0:
            made.append(hang("lookup", version, days, 1_500_000_000, days + 2))
            made.append(hang("ask_stock", version, days, 900_000_000 + days * 30_000_000, days))
        if version == "2.0" and days < 6:
            made += [hang("render_page", version, days, 4_300_000_000, days + i) for i in range(2)]
        if days % 9 == 0:
            made += [hang("wait_for_retry", version, days, 640_000_000, days), hang("run_export", version, days, 5_200_000_000, days)]
        if days % 5 == 0:
            made.append(other("cpu", days, 6_000_000_000, days))
        made += [other("frame-drop", days, (40 + 3 * days) * 1_000_000, days + i) for i in range(8)]
        if days % 10 == 3:
            made.append(other("crash", days, 0, days))
        if days % 4 == 0:
            made += [hang("resize_image", "3.0", days, 720_000_000, days, "viewer"), session("viewer", "3.0", days, 2, 1)]
    return made
