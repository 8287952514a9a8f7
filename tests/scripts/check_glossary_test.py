import sys
import unittest

from trees import ROOT, TreeTest


class CheckGlossary(TreeTest):
    def setUp(self):
        super().setUp()
        for file in ("docs/notation.md", "include/saltus/hybrid/trajectory.hpp", "include/saltus/step/stepper.hpp"):
            self.write(file, (ROOT / file).read_text(encoding="utf-8"))
        self.page = (ROOT / "docs/notation.md").read_text(encoding="utf-8")

    def problems(self, page):
        self.write("docs/notation.md", page)
        result = self.call(sys.executable, ROOT / "scripts/check_glossary.py", self.tree)
        self.assertEqual(result.returncode, 1 if result.stdout else 0)
        return result.stdout

    def test_the_page_is_complete(self):
        self.assertEqual(self.problems(self.page), "")

    def test_a_kind_of_event_that_is_missing_is_named(self):
        self.assertIn("the kind of event 'touch'", self.problems(self.page.replace("`touch`", "touch")))

    def test_a_counter_that_is_missing_is_named(self):
        self.assertIn("the counter 'restarts'", self.problems(self.page.replace("`restarts`", "restarts")))

    def test_words_stand_in_the_order_of_the_alphabet(self):
        line = "| surface | where a guard is zero |\n"
        self.assertIn(line, self.page)
        moved = self.page.replace(line, "").replace("| action |", line + "| action |")
        self.assertIn("'action' stands after 'surface'", self.problems(moved))

    def test_long_explanations_are_refused(self):
        long = self.page.replace("where a guard is zero |", "where " + "very " * 25 + "|")
        self.assertIn("'surface' is explained in more than 25 words", self.problems(long))


if __name__ == "__main__":
    unittest.main()
