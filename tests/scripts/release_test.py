import shutil
import sys
import unittest

from trees import ROOT, TreeTest

CHANGELOG = ("# Changelog\n\nWords.\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n"
             "## 0.1.0 – 2026-01-01\n\n- The first.\n")


@unittest.skipUnless(shutil.which("git"), "no git")
class Release(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("CMakeLists.txt", 'project(saltus VERSION 0.1.0 DESCRIPTION "x")\n')
        self.write("CITATION.cff", "title: Saltus\nversion: 0.1.0\nlicense: x\n")
        self.write("packaging/homebrew/saltus.rb", 'class Saltus < Formula\n  version "0.1.0"\nend\n')
        self.write("CHANGELOG.md", CHANGELOG)
        self.write("docs/reference/fmi.md", "Ball: FMI 2.0, made by Saltus 0.1.0\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        result = self.call("git", "-C", self.tree, "-c", "user.name=x", "-c", "user.email=x@example.org", *words)
        self.assertEqual(result.returncode, 0, result.stdout)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def make(self, *words):
        return self.call(sys.executable, ROOT / "scripts/release.py", "--root", self.tree, "--date", "2026-11-18",
                         *words)

    def assert_refused(self, version, text):
        result = self.make(version)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)
        self.assertIn("VERSION 0.1.0", (self.tree / "CMakeLists.txt").read_text())

    def test_numbers_date_and_changelog_are_written(self):
        result = self.make("0.2.0")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("git tag -a v0.2.0", result.stdout)
        self.assertIn("project(saltus VERSION 0.2.0 ", (self.tree / "CMakeLists.txt").read_text())
        self.assertIn("version: 0.2.0\ndate-released: 2026-11-18\n", (self.tree / "CITATION.cff").read_text())
        self.assertIn('version "0.2.0"', (self.tree / "packaging/homebrew/saltus.rb").read_text())
        self.assertIn("made by Saltus 0.2.0", (self.tree / "docs/reference/fmi.md").read_text())
        self.assertIn("## Unreleased\n\n## 0.2.0 – 2026-11-18\n\n### Added\n\n- A thing.\n\n## 0.1.0",
                      (self.tree / "CHANGELOG.md").read_text())

    def test_a_second_release_has_one_date(self):
        self.assertEqual(self.make("0.2.0").returncode, 0)
        text = (self.tree / "CHANGELOG.md").read_text()
        self.write("CHANGELOG.md", text.replace("## Unreleased\n", "## Unreleased\n\n- More.\n"))
        self.commit()
        self.assertEqual(self.make("0.2.1").returncode, 0)
        self.assertEqual((self.tree / "CITATION.cff").read_text().count("date-released"), 1)

    def test_a_version_must_follow_the_last_one(self):
        for version in ("0.1.0", "0.3.0", "1.1.0", "0.0.9", "0.2.1"):
            self.assert_refused(version, "does not follow")
        self.assert_refused("0.2", "is not a version")

    def test_there_must_be_something_to_release(self):
        self.write("CHANGELOG.md", CHANGELOG.replace("- A thing.\n", ""))
        self.commit()
        self.assert_refused("0.2.0", "nothing to release")

    def test_the_tree_must_be_clean_and_the_tag_new(self):
        self.write("new.txt", "x")
        self.assert_refused("0.2.0", "not committed")
        self.commit()
        self.git("tag", "v0.2.0")
        self.assert_refused("0.2.0", "there is a tag")

    def test_check_changes_nothing(self):
        result = self.make("1.0.0", "--check")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("VERSION 0.1.0", (self.tree / "CMakeLists.txt").read_text())


if __name__ == "__main__":
    unittest.main()
