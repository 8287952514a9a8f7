import shutil
import sys
import unittest

from trees import ROOT, TreeTest


@unittest.skipUnless(shutil.which("git"), "no git")
class CheckCommits(TreeTest):
    def setUp(self):
        super().setUp()
        self.git("init", "--quiet")
        self.commit("whatever it was before")
        self.write("scripts/check_commits.py", "")
        self.commit("the script; and more")

    def git(self, *words):
        result = self.call("git", "-C", self.tree, "-c", "user.name=x", "-c", "user.email=x@example.org", *words)
        self.assertEqual(result.returncode, 0, result.stdout)

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def check(self, *words):
        return self.call(sys.executable, ROOT / "scripts/check_commits.py", *words, self.tree)

    def assert_problem(self, message, text):
        self.commit(message)
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)

    def test_commits_before_the_script_and_the_script_itself_do_not_count(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("0 commits", result.stdout)

    def test_a_good_message_passes(self):
        self.commit("expr: look operators up in one table\n\nBecause of this and that.\n")
        self.commit("src/model: add a thing\n\nBody.\n")
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("2 commits, 0 problems", result.stdout)

    def test_a_message_without_a_layer_is_reported(self):
        self.assert_problem("Fix things\n\nBody.\n", "must read 'layer: imperative summary'")

    def test_a_long_first_line_is_reported(self):
        self.assert_problem("expr: " + "x" * 67 + "\n\nBody.\n", "73 characters")

    def test_two_topics_are_reported(self):
        self.assert_problem("expr: do this; do that\n\nBody.\n", "one topic")

    def test_a_missing_body_is_reported(self):
        self.assert_problem("expr: do this\n", "a body that says why")

    def test_a_range_can_be_given(self):
        self.commit("wrong\n")
        self.commit("expr: right\n\nBody.\n")
        self.assertEqual(self.check("--since", "HEAD~1").returncode, 0)
        self.assertEqual(self.check("--since", "HEAD~2").returncode, 1)


if __name__ == "__main__":
    unittest.main()
