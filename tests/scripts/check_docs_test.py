"""check_docs.py finds what a page shows wrongly, and writes what is right."""

import sys
import unittest

from trees import ROOT, TreeTest

SCRIPT = ROOT / "scripts/check_docs.py"


class CheckDocs(TreeTest):
    def setUp(self):
        super().setUp()
        self.program = self.write("program", '#!/bin/sh\necho "$1 says 0.927295218002"\necho "3 steps, 20 evaluations, 0.5 s"\n')
        self.program.chmod(0o755)

    def check(self, text, action="check"):
        self.page = self.write("page.md", text)
        return self.call(sys.executable, SCRIPT, action, "--saltus", self.program, self.page)

    def test_what_is_shown_may_differ_in_the_last_digits_and_in_time(self):
        page = "```console\n$ saltus it\nit says 0.9272952180\n3 steps, 21 evaluations, 0.1 s\n```\nIt is 0.927295.\n"
        self.assertEqual(self.check(page).returncode, 0)

    def test_other_numbers_words_and_lines_are_differences(self):
        for shown in ("it says 0.9273", "he says 0.927295218002", "it says 0.927295218002\nmore"):
            self.assertEqual(self.check(f"```console\n$ saltus it\n{shown}\n…\n```\n").returncode, 1)
        self.assertEqual(self.check("```console\n$ saltus it\n…\n3 steps, 20 evaluations, 0.5 s\n```\n").returncode, 0)

    def test_numbers_and_counts_in_the_prose_must_be_printed(self):
        block = "```console\n$ saltus it\n…\n```\n"
        self.assertEqual(self.check(block + "0.92729522 and 3 steps\n").returncode, 0)
        self.assertEqual(self.check(block + "0.92739522\n").returncode, 1)
        self.assertEqual(self.check(block + "7 steps\n").returncode, 1)

    def test_models_are_written_and_incomplete_ones_refused(self):
        self.assertEqual(self.check("```modelica\nmodel A\nend A;\n```\n```console\n$ cat A.mo\nmodel A\nend A;\n```\n").returncode, 0)
        self.assertEqual(self.check("```modelica\nReal x;\n```\n").returncode, 1)

    def test_shell_blocks_and_crashes_are_refused(self):
        self.assertEqual(self.check("```sh\nls\n```\n").returncode, 1)
        self.assertEqual(self.check("```console\n$ kill -SEGV $$\n```\n").returncode, 1)

    def test_update_writes_what_is_printed_and_keeps_the_rest(self):
        self.assertEqual(self.check("a\n```console\n$ echo 1\n2\n$ echo \\\n    3\n```\nb\n", "update").returncode, 0)
        self.assertEqual(self.page.read_text(), "a\n```console\n$ echo 1\n1\n$ echo \\\n    3\n3\n```\nb\n")

    def test_a_picture_of_gnuplot_must_be_drawn_by_the_page(self):
        self.write("a.svg", "<svg>Produced by GNUPLOT</svg>")
        self.assertEqual(self.check("![a](a.svg)\n").returncode, 1)
        self.assertEqual(self.check("```console\n$ touch a.svg\n```\n![a](a.svg)\n").returncode, 0)
        self.write("b.svg", "<svg>by hand</svg>")
        self.assertEqual(self.check("![b](b.svg)\n").returncode, 0)

    def test_a_report_must_be_written_by_the_page_that_links_to_it(self):
        self.write("a.html", "old")
        self.assertEqual(self.check("[a](a.html)\n").returncode, 1)
        page = "```console\n$ echo new >a.html\n```\n[a](a.html)\n"
        self.assertEqual(self.check(page).returncode, 0)
        self.assertEqual(self.check(page, "update").returncode, 0)
        self.assertEqual((self.page.parent / "a.html").read_text(), "new\n")
        self.assertEqual(self.check("[elsewhere](../b/a.html)\n").returncode, 0)


if __name__ == "__main__":
    unittest.main()
