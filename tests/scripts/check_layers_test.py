import sys
import unittest

from trees import ROOT, TreeTest

HEADER = "// What it is.\n#pragma once\n"


class CheckLayers(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("include/saltus/base/error.hpp", HEADER + "#include <string>\n")
        self.write("include/saltus/expr/expr.hpp", HEADER + "#include <saltus/base/error.hpp>\n")
        self.write("include/saltus/model/model.hpp", HEADER + "#include <saltus/expr/expr.hpp>\n")
        self.write("include/saltus/saltus.hpp", HEADER + "#include <saltus/model/model.hpp>\n")
        self.write("src/expr/expr.cpp", '#include <saltus/expr/expr.hpp>\n#include <Eigen/Dense>\n#include "expr/pool.hpp"\n')
        self.write("src/expr/pool.hpp", HEADER)
        self.write("src/expr/CMakeLists.txt", "saltus_layer(expr SOURCES expr.cpp USES base PRIVATE Eigen3::Eigen)\n")

    def check(self):
        return self.call(sys.executable, ROOT / "scripts/check_layers.py", self.tree)

    def assert_violation(self, text):
        result = self.check()
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(text, result.stdout)
        self.assertIn("1 violations", result.stdout)

    def test_a_tree_that_keeps_the_ladder_passes(self):
        result = self.check()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("7 files, 0 violations", result.stdout)

    def test_a_public_header_that_climbs_the_ladder_is_reported_with_its_line(self):
        self.write("include/saltus/expr/expr.hpp", HEADER + "\n#include <saltus/model/model.hpp>\n")
        self.assert_violation("include/saltus/expr/expr.hpp:4: layer 'expr' must not include layer 'model' (saltus/model/model.hpp)")

    def test_a_source_that_climbs_the_ladder_is_reported(self):
        self.write("src/base/error.cpp", "#include <saltus/base/error.hpp>\n#include <saltus/expr/expr.hpp>\n")
        self.assert_violation("src/base/error.cpp:2: layer 'base' must not include layer 'expr'")

    def test_a_private_header_of_a_higher_layer_is_reported(self):
        self.write("src/linalg/lu.cpp", '#include "expr/pool.hpp"\n')
        self.assert_violation("src/linalg/lu.cpp:1: layer 'linalg' must not include layer 'expr' (expr/pool.hpp)")

    def test_a_way_round_with_dots_is_reported(self):
        self.write("src/linalg/lu.cpp", '#include "../expr/pool.hpp"\n')
        self.assert_violation("src/linalg/lu.cpp:1:")

    def test_a_layer_must_not_include_the_umbrella_header(self):
        self.write("src/model/model.cpp", "#include <saltus/saltus.hpp>\n")
        self.assert_violation("src/model/model.cpp:1: <saltus/saltus.hpp> is for users")

    def test_only_the_front_door_of_hybrid_sees_the_model(self):
        self.write("src/hybrid/simulate.cpp", "#include <saltus/model/model.hpp>\n")
        self.assertEqual(self.check().returncode, 0)
        self.write("src/hybrid/sliding.cpp", "#include <saltus/model/model.hpp>\n")
        self.assert_violation("src/hybrid/sliding.cpp:1: layer 'hybrid' must not include layer 'model'")

    def test_names_hidden_twice_in_a_layer_are_reported(self):
        hidden = "namespace {\n\n{}\n\n}  // namespace\n"
        for first, second in [("int size_of(int v) {", "double size_of(double v) {"), ("constexpr int most = 3;",) * 2,
                              ("class Reader {", "struct Reader {")]:
            self.write("src/linalg/a.cpp", hidden.replace("{}", first))
            self.write("src/dae/b.cpp", hidden.replace("{}", second))
            self.assertEqual(self.check().returncode, 0, "layers are compiled apart")
            self.write("src/linalg/b.cpp", hidden.replace("{}", second))
            self.assert_violation("is also in an unnamed namespace of src/linalg/a.cpp")
            self.write("src/linalg/b.cpp", second)
            self.assertEqual(self.check().returncode, 0)

    def test_a_third_party_header_in_a_public_header_is_reported(self):
        for name in ["Eigen/Dense", "klu.h", "fmt/format.h", "nlohmann/json.hpp"]:
            with self.subTest(name):
                self.write("include/saltus/base/matrix.hpp", HEADER + f"#include <{name}>\n")
                self.assert_violation(f"include/saltus/base/matrix.hpp:3: a public header must not include third-party headers (<{name}>)")

    def test_a_public_header_with_a_quoted_include_is_reported(self):
        self.write("include/saltus/base/matrix.hpp", HEADER + '#include "error.hpp"\n')
        self.assert_violation('not "error.hpp"')

    def test_a_header_without_pragma_once_is_reported(self):
        self.write("include/saltus/base/matrix.hpp", "// A matrix.\n")
        self.assert_violation("include/saltus/base/matrix.hpp:1: a header needs #pragma once")

    def test_a_macro_in_a_public_header_is_reported(self):
        self.write("include/saltus/base/matrix.hpp", HEADER + "#define MATRIX 1\n")
        self.assert_violation("include/saltus/base/matrix.hpp:3: a public header must not define macros (MATRIX)")

    def test_a_folder_that_is_not_a_layer_is_reported(self):
        self.write("src/misc/things.cpp", "int thing();\n")
        self.assert_violation("src/misc/things.cpp:1: 'misc' is not a layer")

    def test_a_layer_that_links_beyond_the_ladder_is_reported(self):
        self.write("src/expr/CMakeLists.txt", "saltus_layer(expr SOURCES expr.cpp USES base model PRIVATE fmt::fmt)\n")
        self.assert_violation("src/expr/CMakeLists.txt:1: layer 'expr' must not use layer 'model'")

    def test_a_front_end_must_not_include_private_headers(self):
        self.write("cli/run.cpp", '#include "cli/app.hpp"\n#include "expr/pool.hpp"\n')
        self.assert_violation('cli/run.cpp:2: front ends include public headers only, not "expr/pool.hpp"')

    def test_headers_of_the_operating_system_stay_in_one_folder(self):
        self.write("src/base/system/clock.cpp", "#include <unistd.h>\n#include <sys/stat.h>\n")
        self.assertEqual(self.check().returncode, 0)
        self.write("src/expr/pool.cpp", '#include <cstdio>\n#include <sys/mman.h>\n')
        self.assert_violation("src/expr/pool.cpp:2: <sys/mman.h> belongs to the operating system: only src/base/system")

    def test_a_folder_of_somebodys_machine_is_reported_in_any_text(self):
        folder = "/".join(["", "home", "jo", "models"])  # in pieces: this file must pass the check itself
        self.write("docs/notes.md", f"Start in {folder}.\n")
        self.assert_violation("docs/notes.md:1: names a folder of one machine")

    def test_paths_that_only_look_like_a_machine_folder_pass(self):
        self.write("docs/notes.md", "See docs/home/index.md, https://example.org/home/x and frame/work/it.\n")
        self.assertEqual(self.check().returncode, 0)

    def test_a_checkout_is_checked_without_git_as_well(self):
        self.write(".git/config", "")
        self.write("src/misc/things.cpp", "int thing();\n")
        result = self.call(sys.executable, ROOT / "scripts/check_layers.py", self.tree, env={"PATH": str(self.tree)})
        self.assertEqual(result.returncode, 1)
        self.assertIn("8 files, 1 violations", result.stdout)

    def test_an_empty_tree_does_not_pass_for_a_clean_one(self):
        result = self.call(sys.executable, ROOT / "scripts/check_layers.py", self.tree / "nowhere")
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
