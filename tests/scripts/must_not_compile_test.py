"""The harness of the must-not-compile tests must itself be able to fail."""

import os
import unittest

from trees import ROOT, TreeTest

GOOD = "#ifdef MUST_NOT_COMPILE\nint* p = 1;\n#endif\nint main() {}\n"


class MustNotCompile(TreeTest):
    def check(self, source, regex):
        file = self.write("case.cpp", source)
        return self.call(os.environ.get("CMAKE", "cmake"), f"-DCOMPILER={os.environ.get('CXX', 'c++')}",
                         f"-DFILE={file}", f"-DREGEX={regex}", f"-DINCLUDE={ROOT / 'include'}",
                         "-P", ROOT / "tests/must_not_compile/check.cmake")

    def test_a_case_that_is_refused_for_the_expected_reason_passes(self):
        result = self.check(GOOD, "invalid conversion|cannot (convert|initialize)")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_case_that_compiles_fails(self):
        result = self.check("int main() {}\n", "conversion")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("compiles, but must not", result.stdout)

    def test_a_case_that_is_refused_for_another_reason_fails(self):
        result = self.check(GOOD, "relation in an if")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("does not match", result.stdout)

    def test_a_case_that_does_not_compile_without_its_wrong_line_fails(self):
        result = self.check("#include <no/such/header.hpp>\n" + GOOD, "no/such/header")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("does not compile even without", result.stdout)


if __name__ == "__main__":
    unittest.main()
