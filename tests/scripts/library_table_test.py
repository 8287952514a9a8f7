import stat
import sys
import unittest

from trees import ROOT, TreeTest

LIBRARY = '''within Lib;
package Examples "with a model in a text: model Hidden extends Lib.Icons.Example; end Hidden;"
  // model Comment extends Lib.Icons.Example; end Comment;
  model First
    extends Lib.Icons.Example;
    replaceable function f = g;
  equation
    x = h(function Lib.f(k = 2));
    if true then
      y = 1;
    end if;
  end First;
  partial model Half
    extends Lib.Icons.Example;
  end Half;
  package Inner
    redeclare model extends Second
      extends Icons.Example(k = 1);
    end Second;
  end Inner;
  operator record C
    encapsulated operator '+'
      function add
      end add;
    end '+';
  end C;
  block Third extends Modelica.Icons.Example; end Third;
end Examples;
'''

# answers like the program: by the name of the model
PROGRAM = '''#!/bin/sh
previous=
for argument; do
  if [ "$previous" = --json ]; then echo '{"statistics": {"method": "dopri5"}}' >"$argument"; fi
  previous=$argument
done
case "$*" in
  compare*) exit 0 ;;
  *First*bdf*) exit 1 ;;
  *First*) exit 0 ;;
  *Second*) echo "a.mo:1:2: error: no such thing" >&2; exit 2 ;;
  *) echo "M: 3 equations for 2 variables" >&2; exit 2 ;;
esac
'''


class LibraryTable(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("Lib/Examples.mo", LIBRARY)
        self.write("program", PROGRAM)
        program = self.tree / "program"
        program.chmod(program.stat().st_mode | stat.S_IEXEC)

    def table(self, action, *more):
        return self.call(sys.executable, ROOT / "scripts/library_table.py", action, "--saltus", self.tree / "program",
                         "--library", self.tree, "--page", self.tree / "page.md", *more)

    def test_examples_are_found_with_their_full_names(self):
        result = self.table("list")
        self.assertEqual(result.stdout.split(), ["Lib.Examples.First", "Lib.Examples.Inner.Second", "Lib.Examples.Third"])

    def test_the_page_says_what_is_read_checked_and_run(self):
        self.assertEqual(self.table("update").returncode, 0)
        page = (self.tree / "page.md").read_text()
        self.assertIn("Of 3 examples **2 are read, 1 pass the check and 1 run**", page)
        self.assertIn("Of those that run,\n1 agree with the second method, 0 at a tight tolerance, 0 do not, and\n"
                      "0 have no second result.", page)
        self.assertRegex(page, r"\| Lib.Examples.First \| yes \| yes \| yes \| 0\.\d \| yes \|  \|")
        self.assertIn("| Lib.Examples.Inner.Second |  |  |  |  |  | no such thing |", page)
        self.assertIn("| Lib.Examples.Third | yes |  |  |  |  |", page)

    def agreement(self, *comparisons):
        """What the page says where the comparisons end so, one after the other."""
        answers = "\n".join(f"  {k}) echo '{text}'; exit {code} ;;" for k, (text, code) in enumerate(comparisons, 1))
        count = 'count=$(($(cat "$0.count" 2>/dev/null || echo 0) + 1)); echo $count >"$0.count"'
        compare = f"case \"$1\" in compare) {count}; case $count in\n{answers}\n  esac ;; esac"
        (self.tree / "program.count").unlink(missing_ok=True)
        self.write("program", PROGRAM.replace("previous=\n", f"{compare}\nprevious=\n", 1))
        self.assertEqual(self.table("update").returncode, 0)
        return (self.tree / "page.md").read_text().split("| Lib.Examples.First |")[1].split("|")[4].strip()

    def test_results_that_differ_are_compared_at_a_tight_tolerance(self):
        apart = ("x  0.5  1  2.0  2.5  <-", 1)
        self.assertEqual(self.agreement(("", 0)), "yes")
        self.assertEqual(self.agreement(("x  0.5  1  1e-12  -3e-7  <-", 1)), "yes")
        self.assertEqual(self.agreement(apart, ("", 0)), "tight")
        self.assertEqual(self.agreement(apart, apart), "no")

    def test_the_numbers_of_the_page_may_only_rise(self):
        self.table("update")
        path = self.tree / "page.md"
        risen = path.read_text().replace("| Lib.Examples.Third | yes |  |  |", "| Lib.Examples.Third | yes | yes | yes |")
        path.write_text(risen)
        result = self.table("update")
        self.assertEqual(result.returncode, 1)
        self.assertIn("fewer examples than on the page are checked and run", result.stdout)
        self.assertIn("Lib.Examples.Third: M: 3 equations", result.stdout)
        self.assertEqual(path.read_text(), risen)
        self.assertEqual(self.table("update", "--lower").returncode, 0)
        self.assertNotEqual(path.read_text(), risen)

    def test_rows_of_other_examples_are_kept(self):
        self.assertEqual(self.table("update").returncode, 0)
        path = self.tree / "page.md"
        before = path.read_text().replace("no such thing", "kept")
        path.write_text(before)
        self.assertEqual(self.table("update", "--only", "Third").returncode, 0)
        self.assertEqual(path.read_text(), before)

    def test_a_folder_without_the_examples_is_refused(self):
        self.table("update")
        page = (self.tree / "page.md").read_text()
        self.write("Lib/Examples.mo", LIBRARY.replace("block Third extends Modelica.Icons.Example;", "block Third"))
        result = self.table("update", "--lower", "--only", "First")
        self.assertEqual(result.returncode, 1)
        self.assertIn("has 2 examples, and lacks 1 of the page (Lib.Examples.Third, …)", result.stdout)
        self.assertEqual(self.table("update", "--lower").returncode, 0)  # all of them: the library has changed
        self.write("page.md", page)
        (self.tree / "Lib/Examples.mo").unlink()
        result = self.table("update", "--lower")
        self.assertEqual(result.returncode, 1)
        self.assertIn("is it the folder of the library?", result.stdout)
        self.assertEqual((self.tree / "page.md").read_text(), page)

    def test_stand_ins_complete_an_archive(self):
        self.write("Modelica/Icons.mo", "within Modelica; package Icons end Icons;")
        found = "test -e $3/Modelica/package.mo -a -e $3/Modelica/Icons.mo -a -e $3/Lib || exit 1"
        self.write("program", f"#!/bin/sh\n{found}\n{PROGRAM}")
        self.assertEqual(self.table("update").returncode, 0)
        self.assertIn("| Lib.Examples.First | yes | yes | yes |", (self.tree / "page.md").read_text())

    def test_what_was_read_must_still_be_read(self):
        self.table("update")
        result = self.table("check")
        self.assertEqual(result.returncode, 0, result.stdout)
        page = self.tree / "page.md"
        page.write_text(page.read_text().replace("| Lib.Examples.Inner.Second |  |", "| Lib.Examples.Inner.Second | yes |"))
        result = self.table("check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("Lib.Examples.Inner.Second: no such thing", result.stdout)


if __name__ == "__main__":
    unittest.main()
