import sys
import unittest

from trees import ROOT, TreeTest

SOURCE = """// 1e-3 in a comment
constexpr int most = 7, two = 2;
constexpr double near = 1e-3, far = 64.0 * eps, list[4] = {1.0, 3e2};
/* 4.0 */ double f(double x) { return x < 4.0 ? "5.0"[0] : 2.0 * x + 4. * most + 1'000.5 + '3'; }
double g(double x) { return 12 + x / 0x1p-40; }
"""
TABLE = """# what each number is for
src/hybrid/f.cpp | most=7 | effort | tries
src/hybrid/f.cpp | near=1e-3 far=64.0 list=1.0 list=3e2 | zero | two distances
src/hybrid/f.cpp | 4.0 4. 1000.5 0x1p-40 | formula | coefficients
"""


class CheckNumbers(TreeTest):
    def setUp(self):
        super().setUp()
        self.source = self.write("src/hybrid/f.cpp", SOURCE)
        self.table = self.write("scripts/numbers.txt", TABLE)

    def check(self, *options):
        return self.call(sys.executable, ROOT / "scripts/check_numbers.py", self.tree, *options)

    def assert_violation(self, *texts):
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        for text in texts:
            self.assertIn(text, result.stdout)
        self.assertIn(f"{len(texts)} violations", result.stdout)

    def test_a_tree_whose_numbers_are_explained_passes(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("0 violations", result.stdout)

    def test_a_number_that_is_not_in_the_table_is_reported_with_its_line(self):
        self.source.write_text(SOURCE + "double h = 1e-9;\n")
        self.assert_violation("src/hybrid/f.cpp:6: the number 1e-9 stands here 1 times, and scripts/numbers.txt "
                              "explains 0")

    def test_each_place_of_a_number_is_counted(self):
        self.source.write_text(SOURCE + "double h = 4.0;\n")
        self.assert_violation("src/hybrid/f.cpp:6: the number 4.0 stands here 2 times, and scripts/numbers.txt "
                              "explains 1")
        self.table.write_text(TABLE.replace("4.0 4.", "4.0*2 4."))
        self.assertEqual(self.check().returncode, 0)
        self.table.write_text(TABLE + "src/hybrid/f.cpp | 4.0 | option | another one\n")
        self.assertEqual(self.check().returncode, 0)

    def test_a_named_constant_with_another_value_is_another_number(self):
        self.source.write_text(SOURCE.replace("near = 1e-3", "near = 1e-4"))
        self.assert_violation("the number near=1e-4 stands here 1 times",
                              "near=1e-3 is explained 1 times and stands there 0 times")

    def test_what_is_explained_must_be_there(self):
        self.source.write_text(SOURCE.replace("4. * most", "most"))
        self.assert_violation("src/hybrid/f.cpp: 4. is explained 1 times and stands there 0 times")
        self.source.unlink()
        self.assert_violation("there is no src/hybrid/f.cpp")

    def test_headers_of_users_and_folders_within_layers_count_and_other_layers_do_not(self):
        self.write("src/dae/f.cpp", SOURCE)
        self.write("include/saltus/event/f.hpp", "double rtol = 1e-6;\n")
        self.write("src/hybrid/instant/f.cpp", "double rtol = 1e-6;\n")
        self.assert_violation("include/saltus/event/f.hpp:1:", "src/hybrid/instant/f.cpp:1:")

    def test_a_star_explains_a_file_of_tables(self):
        self.table.write_text("src/hybrid/f.cpp | * | unit | tables\n")
        self.assertEqual(self.check().returncode, 0)
        self.source.write_text("int f();\n")
        self.assert_violation("src/hybrid/f.cpp has no numbers that need a reason")

    def test_a_line_of_the_table_needs_a_known_kind_and_a_reason(self):
        self.table.write_text(TABLE.replace("| formula |", "| taste |").replace("two distances", ""))
        result = self.check()
        self.assertIn("scripts/numbers.txt:4: 'taste' is neither a kind nor a question", result.stdout)
        self.assertIn("scripts/numbers.txt:3: a line has four fields", result.stdout)

    def test_a_line_of_the_table_may_go_on_in_the_next(self):
        self.table.write_text(TABLE.replace("4. 1000.5", "4.\n  1000.5"))
        self.assertEqual(self.check().returncode, 0)

    def test_missing_lines_can_be_printed(self):
        self.table.write_text("")
        result = self.check("--missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("src/hybrid/f.cpp | most=7 | [2] |", result.stdout)
        self.assertNotIn("violations", result.stdout)


if __name__ == "__main__":
    unittest.main()
