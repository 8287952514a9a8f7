import shutil
import sys
import unittest

from trees import ROOT, TreeTest

LIST = "scripts/style_exceptions.txt"


@unittest.skipUnless(shutil.which("git"), "no git")
class CheckStyle(TreeTest):
    def setUp(self):
        super().setUp()
        self.git("init", "--quiet")
        self.write("short.cpp", "int short_lines;\n")

    def git(self, *words):
        result = self.call("git", "-C", self.tree, "-c", "user.name=x", "-c", "user.email=x@example.org", *words)
        self.assertEqual(result.returncode, 0, result.stdout)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def check(self, *words):
        return self.call(sys.executable, ROOT / "scripts/check_style.py", *words, self.tree)

    def assert_problem(self, what, text):
        result = self.check(what)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)

    def assert_passes(self, what):
        result = self.check(what)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("0 problems", result.stdout)

    def test_lines_of_120_characters_pass_and_longer_ones_do_not(self):
        self.write("a.md", "x" * 120 + "\n")
        self.assert_passes("lines")
        self.write("docs/b.md", "fine\n" + "x" * 121 + "\n")
        self.assert_problem("lines", "docs/b.md:2: 121 characters")

    def test_letters_are_counted_not_bytes(self):
        self.write("a.md", "ä" * 120 + "\n")
        self.assert_passes("lines")

    def test_drawings_data_and_ignored_files_do_not_count(self):
        self.write("a.svg", "x" * 500)
        self.write(".gitignore", "build/\n")
        self.write("build/a.cpp", "x" * 500)
        self.assert_passes("lines")

    def test_a_file_on_the_list_is_exempt_until_it_complies(self):
        self.write("a.md", "x" * 130 + "\n")
        self.write(LIST, "lines a.md\n")
        self.assert_passes("lines")
        self.write("a.md", "short\n")
        self.assert_problem("lines", "a.md complies now")

    def test_no_file_joins_the_list(self):
        self.write("a.md", "x" * 130 + "\n")
        self.write(LIST, "lines a.md\n")
        self.commit()
        self.assert_passes("lines")
        self.write("b.md", "x" * 130 + "\n")
        self.write(LIST, "lines a.md\nlines b.md\n")
        self.assert_problem("lines", "b.md must not join the list")
        self.commit()
        self.assert_problem("lines", "b.md must not join the list (it is not in that of HEAD~1)")

    def test_the_list_can_be_written_for_a_merge(self):
        self.write("a.md", "x" * 130 + "\n")
        self.write(LIST, "format other.cpp\nlines gone.md\n")
        self.assertEqual(self.check("lines", "--write").returncode, 0)
        self.assertEqual((self.tree / LIST).read_text(), "format other.cpp\nlines a.md\n")

    @unittest.skipUnless(shutil.which("clang-format"), "no clang-format")
    def test_files_that_clang_format_would_change_are_named(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.assert_passes("format")
        self.write("bad.cpp", "int  main( ){}\n")
        self.assert_problem("format", "bad.cpp:1: not formatted")
        self.write(LIST, "format bad.cpp\n")
        self.assert_passes("format")

    def test_a_wrong_call_explains_itself(self):
        result = self.call(sys.executable, ROOT / "scripts/check_style.py", "shape")
        self.assertEqual(result.returncode, 1)
        self.assertIn("lines|format", result.stdout)


if __name__ == "__main__":
    unittest.main()
