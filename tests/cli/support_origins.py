# SPDX-License-Identifier: MIT
"""Reports of a small fleet, and what a collector says about its hosts, units, containers and images."""

import time
import uuid

from support_fleet import small_report

EVIL = "<b>\x1b[31mweb"


def place(host, unit=None, **container):
    one = {"os": "linux", "arch": "x86_64", "name": host}
    if unit:
        one["unit"] = unit
    if container:
        one["container"] = container
    return one


def fleet(app):
    """Two hosts with one unit, one of containers, one that says nothing."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))

    def report(function, host, ms=1000, **more):
        return small_report(function, started_at=now, duration_ns=ms * 10 ** 6, host=host,
                            app={"name": app, "version": "1", "pid": 7, "session": str(uuid.uuid4())}, **more)
    web = {"id": "a" * 64, "name": "shop-web-1", "image": "nginx:1.25"}
    return [report("resize", place("web-1", "nginx.service")), report("resize", place("web-1", "nginx.service"), 500),
            report("resize", place("web-2", "nginx.service")), report("blur", place("web-2", "nginx.service"), 200),
            report("resize", place("k8s-1", **web)), report("blur", place("k8s-1", id="b" * 64, pod="c" * 36)),
            report("resize", {"os": "linux", "arch": "x86_64"}), report("evil", place(EVIL, "x\u202e.service")),
            report("burner", place("web-2"), kind="cpu"),
            report("none", place("web-1", "nginx.service"), 3600 * 1000, kind="session", session={"used_ns": 3600 * 10 ** 9, "hangs": 2})]


def check(test, get, app):
    """All that pages say about them."""
    def named(path, *members):
        return [tuple(row[m] for m in ("name", *members)) for row in get(path)["rows"]]

    page = get("overview?days=30&app=" + app)
    test.assertEqual((4, 2), (page["hosts"], page["units"]))
    groups = {group["function"]: group for group in page["groups"]}
    test.assertEqual((3, 2, 1), (groups["resize"]["hosts"], groups["blur"]["hosts"], groups["burner"]["hosts"]))
    test.assertEqual(3, {g["function"]: g["hosts"] for g in get("groups?days=30&app=" + app)["groups"]}["resize"])

    group = get("groups/" + groups["resize"]["fingerprint"])
    test.assertEqual([("web-1", 2, 1500), ("k8s-1", 1, 1000), ("web-2", 1, 1000)], [(r["name"], r["count"], r["total_ms"]) for r in group["hosts"]])
    test.assertEqual((3, ["nginx.service"]), (group["host_count"], [r["name"] for r in group["units"]]))
    test.assertEqual((["shop-web-1"], ["nginx:1.25"]), tuple([r["name"] for r in group[m]] for m in ("containers", "images")))
    test.assertEqual({"web-1", "web-2", "k8s-1", ""}, {r["host"] for r in group["reports"]})

    hosts = named("origins?part=host&app=" + app, "apps", "count", "total_ms", "runs", "used_ms")
    test.assertEqual([("k8s-1", 1, 2, 2000, 0, 0), ("web-1", 1, 2, 1500, 1, 3600000), ("web-2", 1, 2, 1200, 0, 0), (EVIL, 1, 1, 1000, 0, 0)],
                     sorted(hosts, key=lambda row: (-row[3], row[0])))
    test.assertEqual([("nginx.service", 4), ("x\u202e.service", 1)], named("origins?part=unit&app=" + app, "count"))
    test.assertEqual({("shop-web-1", 1), ("b" * 12, 1)}, set(named("origins?part=container&app=" + app, "count")))
    test.assertEqual([("nginx:1.25", 1)], named("origins?part=image&app=" + app, "count"))
    page = get("origins?app=" + app)
    test.assertEqual((4, 4), (page["total"], {row["app"]: row["names"] for row in page["by_app"]}[app]))

    def filtered(name, value):
        return sorted((g["function"], g["count"], g["total_ms"]) for g in get("groups?days=30&app=%s&%s=%s" % (app, name, value))["groups"])
    test.assertEqual([("blur", 1, 200), ("burner", 1, 1000), ("resize", 1, 1000)], filtered("host", "web-2"))
    test.assertEqual([("blur", 1, 200), ("resize", 3, 2500)], filtered("unit", "nginx.service"))
    test.assertEqual([("resize", 1, 1000)], filtered("container", "shop-web-1"))
    test.assertEqual([("resize", 1, 1000)], filtered("image", "nginx:1.25"))
    test.assertEqual([], filtered("host", "nowhere"))
    totals = get("overview?days=30&kind=hang&host=web-2&app=" + app)["totals"]
    test.assertEqual({"groups": 2, "count": 2, "total_ms": 1200}, totals)

    def reports(query):
        return sorted(r["host"] for r in get("groups/%s/reports?%s" % (groups["resize"]["fingerprint"], query))["reports"])
    test.assertEqual(["web-1", "web-1"], reports("host=web-1"))
    test.assertEqual(["web-2"], reports("host=web-2&unit=nginx.service&version=1"))
    test.assertEqual(["k8s-1"], reports("container=shop-web-1"))
    test.assertEqual(["k8s-1"], reports("image=nginx:1.25"))
    test.assertEqual([], reports("host=web-1&unit=other.service"))
