# SPDX-License-Identifier: MIT
"""The examples of C++, Qt, SDL, asyncio and the linked waits: built as people build them, each reports its slow request."""

from support_examples import ExampleCase
from support_run import main


class Cxx(ExampleCase):
    def test_a_loop_of_ones_own(self):
        hang = self.assert_hang(self.run_it(self.build("loop.cc", "hangdog")), "handle")
        self.assertEqual("slow", hang["label"])


if __name__ == "__main__":
    main()
