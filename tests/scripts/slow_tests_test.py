import sys
import unittest

from trees import ROOT, TreeTest

LOG = """Start testing: Nov 18 10:00 UTC
----------------------------------------------------------
1/2 Testing: base.Version
1/2 Test: base.Version
Command: "saltus_tests_base" "--gtest_filter=Version.*"
Output:
----------------------------------------------------------
<end of output>
Test time =   0.02 sec
----------------------------------------------------------
Test Passed.

2/2 Testing: hybrid.Zeno
2/2 Test: hybrid.Zeno
Command: "saltus_tests_hybrid" "--gtest_filter=Zeno.*"
Output:
----------------------------------------------------------
<end of output>
Test time =  31.50 sec
----------------------------------------------------------
Test Passed.
"""


class SlowTests(TreeTest):
    def list(self, *words):
        return self.call(sys.executable, ROOT / "scripts/slow_tests.py", self.tree, *words)

    def test_the_slowest_come_first(self):
        self.write("Testing/Temporary/LastTest.log", LOG)
        result = self.list()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout.splitlines()[0], "2 tests, 32 s")
        self.assertIn("31.50  hybrid.Zeno", result.stdout.splitlines()[1])
        self.assertEqual(len(self.list("--count", "1").stdout.splitlines()), 2)

    def test_a_test_above_the_limit_fails(self):
        self.write("Testing/Temporary/LastTest.log", LOG)
        result = self.list("--most", "20")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("more than 20 s: hybrid.Zeno", result.stdout)
        self.assertEqual(self.list("--most", "60").returncode, 0)

    def test_without_a_record_it_says_what_to_do(self):
        result = self.list()
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("./test first", result.stdout)


if __name__ == "__main__":
    unittest.main()
