import sys
import unittest

from trees import ROOT, TreeTest


class CheckLinks(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("README.md", "# Top\n\nSee [the guide](docs/guide.md#two-words), [here](#top) and ![](docs/a%20b.svg).\n")
        self.write("docs/guide.md", "# Guide\n\n## Two `words`\n\n[back](../README.md) [out](https://example.org/x.md) [ref]\n\n[ref]: ../docs\n")
        self.write("docs/a b.svg", "<svg/>")

    def check(self):
        return self.call(sys.executable, ROOT / "scripts/check_links.py", self.tree)

    def assert_broken(self, text):
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)

    def test_links_to_files_folders_and_headings_pass(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("2 files, 5 links, 0 broken", result.stdout)

    def test_a_link_to_a_missing_file_is_reported_with_its_line(self):
        self.write("docs/x.md", "a\n[gone](gone.md)\n")
        self.assert_broken("docs/x.md:2: 'gone.md' does not exist")

    def test_a_reference_to_a_missing_file_is_reported(self):
        self.write("docs/x.md", "[gone]\n\n[gone]: gone.md\n")
        self.assert_broken("docs/x.md:3: 'gone.md' does not exist")

    def test_a_link_to_a_missing_heading_is_reported(self):
        self.write("docs/x.md", "[gone](guide.md#three-words)\n")
        self.assert_broken("docs/x.md:1: 'guide.md#three-words': no heading of that name")

    def test_a_link_out_of_the_tree_is_reported(self):
        self.write("docs/x.md", "[out](../../secret.md)\n")
        self.assert_broken("leads out of the tree")

    def test_an_absolute_link_is_reported(self):
        self.write("docs/x.md", "[root](/README.md)\n")
        self.assert_broken("is absolute")

    def test_code_is_skipped(self):
        self.write("docs/x.md", "```cpp\n[gone](gone.md)\n```\n`[gone](gone.md)` [](guide.md)\n")
        self.assertEqual(self.check().returncode, 0)

    def test_a_link_after_a_block_of_code_is_checked(self):
        self.write("docs/x.md", "```\ncode\n```\n[gone](gone.md)\n")
        self.assert_broken("docs/x.md:4:")


if __name__ == "__main__":
    unittest.main()
