#!/usr/bin/env python3
"""The pages of the tutorial are numbered as docs/README.md lists them, and each one ends with a link to the next."""
import pathlib
import re
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


class Tutorial(unittest.TestCase):
    def pages(self):
        listed = re.search(r"^- Tutorial: (.*?)^- ", (DOCS / "README.md").read_text(encoding="utf-8"), re.S | re.M)
        return [DOCS / page for page in re.findall(r"\]\((tutorial/[\w-]+\.md)\)", listed.group(1))]

    def test_pages_are_numbered_in_their_order(self):
        headings = [page.read_text(encoding="utf-8").splitlines()[0] for page in self.pages()]
        self.assertGreater(len(headings), 5)
        self.assertEqual([int(re.match(r"# (\d+)\. ", heading).group(1)) for heading in headings],
                         list(range(1, len(headings) + 1)))

    def test_each_page_leads_to_the_next(self):
        pages = self.pages()
        for page, following in zip(pages, pages[1:]):
            last = page.read_text(encoding="utf-8").rstrip().rpartition("\n\n")[2]
            self.assertIn(f"]({following.name})", last, page.name)
            self.assertIn("next page", last, page.name)


if __name__ == "__main__":
    unittest.main()
