# SPDX-License-Identifier: MIT
"""What a thread waits for, in the loader: the cause of a hang as the report has it. The call is known on both CPUs: by x16 on
arm64, by the name of the stub on x86-64."""

from support_apple import CPUS, AppleTest, main


class Waits(AppleTest):
    def hang(self, cpu, name, *arguments):
        found = self.reports_of(cpu, name, *arguments)
        self.assertEqual(1, len(found))
        return found[0]

    def test_a_lock_has_a_kind_a_call_and_an_owner(self):
        for cpu in CPUS:
            for kind, word, call in (("unfair", "unfair-lock", "ulock_wait"), ("mutex", "mutex", "psynch_mutexwait")):
                with self.subTest(f"{cpu} {kind}"):
                    report = self.hang(cpu, "lock", "owner", kind)
                    cause = report["cause"]
                    self.assertEqual(("lock", word, call), (cause["kind"], cause["lock_kind"], cause["syscall"]))
                    owner = next(t for t in report["threads"] if t["tid"] == cause["lock_owner_tid"])
                    self.assertEqual("lock owner", owner["name"])
                    self.assertEqual("blocked", owner["state"])
                    self.assertIn(f"held by thread {owner['tid']} (lock owner), which was in {owner['syscall']}", cause["detail"])

    def test_each_thread_of_a_ring_is_in_it(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                cause = self.hang(cpu, "lock", "ring", "unfair")["cause"]
                self.assertEqual(2, len(set(cause["deadlock"])))
                self.assertGreater(min(cause["deadlock"]), 1 << 32, "ids of Darwin have more than 32 bits")

    def test_a_join_names_the_thread(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                report = self.hang(cpu, "waits", "join")
                other = next(t for t in report["threads"] if not t.get("watched"))
                self.assertIn(f"waited for thread {other['tid']} to end", report["cause"]["detail"])

    def test_calls_that_wait_for_a_time_and_for_a_descriptor(self):
        for cpu in CPUS:
            with self.subTest(cpu):
                cause = self.hang(cpu, "waits", "sleep")["cause"]
                self.assertEqual("sleep", cause["kind"])
                self.assertEqual("semwait_signal", cause["syscall"])
                cause = self.hang(cpu, "waits", "pipe")["cause"]
                self.assertEqual(("unknown", "read"), (cause["kind"], cause["syscall"]))


if __name__ == "__main__":
    main()
