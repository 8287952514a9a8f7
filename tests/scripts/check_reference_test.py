"""check_reference.py reads headers well enough to miss nothing that is public."""

import sys
import unittest

from trees import ROOT, TreeTest

SCRIPT = ROOT / "scripts/check_reference.py"
HEADER = """// A comment with names(): not_public().
#include <vector>
namespace saltus {
/// A doc.
enum class Kind { a, b };
template <class T>
class Box final : public Base {
 public:
  explicit Box(int n);
  ~Box() override;
  int size() const { return n_; }
  void draw() override;
  bool operator==(const Box&) const = default;
  static Box make(std::vector<int> sizes = {1, 2});

 private:
  int secret();
  int n_ = 0;
};
struct Options {
  std::function<bool(int)> progress = {};
  double limit = 1.0;
};
template <class Names>
int nearest(const Names& names);
}  // namespace saltus
"""


class CheckReference(TreeTest):
    def problems(self, page):
        self.write("include/saltus/box.hpp", HEADER)
        self.write("docs/reference/cpp/box.md", page)
        result = self.call(sys.executable, SCRIPT, self.tree)
        return result.returncode, result.stdout

    def test_all_public_names_are_wanted_and_no_others(self):
        code, text = self.problems("`Kind`\n")
        self.assertEqual(code, 1)
        for name in ("Box is", "Box::size", "Box::make", "Options is", "nearest"):
            self.assertIn(name, text)
        for name in ("secret", "draw", "~Box", "progress", "bool", "not_public"):
            self.assertNotIn(name, text)

    def test_a_page_with_all_names_is_right_and_one_with_a_wrong_name_is_not(self):
        page = "`Kind`, `Box<T>`, `Box::size()`, `Box::make(sizes)`, `Options{.limit}`, `nearest(names)`\n"
        self.assertEqual(self.problems(page), (0, "1 headers with 6 names, 1 pages, 0 problems\n"))
        code, text = self.problems(page + "`Box::vanished()`\n")
        self.assertEqual(code, 1)
        self.assertIn("`vanished` is in no header", text)


if __name__ == "__main__":
    unittest.main()
