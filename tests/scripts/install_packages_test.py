"""Runs scripts/install_packages.sh with a dpkg-query, an apt-get and a sudo of our own: nothing is really installed."""

import os
import shutil
import unittest

from trees import ROOT, TreeTest

LIST = "# Comment\n\n# [run]\nalpha\nbeta\n# why gamma\ngamma\n# [test]\ndelta\n"


class InstallPackages(TreeTest):
    def setUp(self):
        super().setUp()
        self.list = self.write("packages.txt", LIST)
        self.log = self.tree / "log"
        self.tool("dpkg-query", 'shift 3; code=0; for p; do grep -qx "$p" "$TREE/installed" && echo "installed $p" || code=1; done; exit $code')
        self.tool("dpkg", "echo amd64")
        self.tool("apt-get", 'echo "apt-get $* [$DEBIAN_FRONTEND]" >>"$TREE/log"; echo "words of apt"; exit $(cat "$TREE/apt_code")')
        self.write("apt_code", "0")
        self.installed("alpha", "beta", "gamma", "delta")

    def tool(self, name, script):
        self.write(f"bin/{name}", f"#!/bin/bash\n{script}\n").chmod(0o755)

    def installed(self, *packages):
        self.write("installed", "".join(p + "\n" for p in packages))

    def install(self, *sections, root_user=True, debian=True, **environment):
        # The script runs from a copy in which the user's number can be chosen; PATH has our tools and what bash needs.
        script = (ROOT / "scripts/install_packages.sh").read_text(encoding="utf-8")
        self.assertIn("EUID", script)
        copy = self.write("tree/scripts/install_packages.sh", script.replace("EUID", "0" if root_user else "1000"))
        for name in ["bash", "grep", "cat", "dirname", "env", "mktemp", "rm", "cmake"]:
            if shutil.which(name) and not (self.tree / "bin" / name).exists():
                (self.tree / "bin" / name).symlink_to(shutil.which(name))
        if not debian:
            for name in ["dpkg-query", "dpkg", "apt-get"]:
                (self.tree / "bin" / name).unlink()
        return self.call("bash", copy, *sections, stdin=open(os.devnull),
                         env={"PATH": str(self.tree / "bin"), "TREE": str(self.tree),
                              "SALTUS_PACKAGE_LIST": str(self.list), **environment})

    def commands(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def test_nothing_is_said_or_done_when_nothing_is_missing(self):
        result = self.install("run", "test")
        self.assertEqual((result.returncode, result.stdout, self.commands()), (0, "", []))

    def test_only_the_packages_of_the_named_sections_are_wanted(self):
        self.installed("alpha", "beta", "gamma")
        self.assertEqual(self.install("run").returncode, 0)
        self.assertEqual(self.commands(), [])

    def test_root_installs_exactly_what_is_missing_without_questions(self):
        self.installed("beta")
        result = self.install("run", "test")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout, "installing alpha gamma delta …\n")
        update, install = self.commands()
        self.assertIn(" update [noninteractive]", update)
        self.assertTrue(install.endswith("install -y --no-install-recommends alpha gamma delta [noninteractive]"), install)

    def test_a_failed_installation_says_what_to_type(self):
        self.installed("beta", "gamma")
        self.write("apt_code", "100")
        result = self.install("run")
        self.assertEqual(result.returncode, 2)
        self.assertIn("apt-get install -y --no-install-recommends alpha\n", result.stdout)
        self.assertIn("words of apt", result.stdout)

    def test_a_user_without_sudo_gets_the_one_command_to_type(self):
        self.installed("beta", "gamma")
        result = self.install("run", root_user=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("  apt-get update && apt-get install -y --no-install-recommends alpha\n", result.stdout)
        self.assertEqual(self.commands(), [])

    def test_a_user_with_sudo_that_would_ask_and_no_terminal_gets_the_command_too(self):
        self.tool("sudo", "exit 1")
        self.installed("beta", "gamma")
        result = self.install("run", root_user=False)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(self.commands(), [])

    def test_a_user_with_free_sudo_installs_through_it(self):
        self.tool("sudo", '[ "$2" = true ] && exit 0; echo sudo >>"$TREE/log"; shift; exec "$@"')
        self.installed("beta", "gamma")
        result = self.install("run", root_user=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual([c.split()[0] for c in self.commands()], ["sudo", "apt-get", "sudo", "apt-get"])
        self.assertIn("[noninteractive]", self.commands()[-1])

    def test_another_gnuplot_will_do(self):
        self.write("packages.txt", "# [run]\ngnuplot-nox\n")
        self.tool("gnuplot", "exit 0")
        self.assertEqual(self.install("run").returncode, 0)
        self.assertEqual(self.commands(), [])

    def test_the_assembler_library_is_wanted_on_amd64_only(self):
        self.write("packages.txt", "# [run]\nlibxbyak-dev\n")
        self.tool("dpkg", "echo arm64")
        self.assertEqual(self.install("run").returncode, 0)
        self.assertEqual(self.commands(), [])
        self.tool("dpkg", "echo amd64")
        self.assertEqual(self.install("run").returncode, 0)
        self.assertEqual(len(self.commands()), 2)

    def test_a_system_without_dpkg_lists_the_libraries_and_goes_on(self):
        result = self.install("run", debian=False)
        self.assertEqual(result.returncode, 0)
        for name in ["Eigen", "SuiteSparse", "CLI11", "nlohmann-json", "fmt"]:
            self.assertIn(name, result.stdout)

    def test_the_check_can_be_switched_off(self):
        self.installed()
        result = self.install("run", SALTUS_SKIP_PACKAGES="1")
        self.assertEqual((result.returncode, result.stdout, self.commands()), (0, "", []))

    def test_an_unknown_section_is_an_error(self):
        self.assertEqual(self.install("rnu").returncode, 2)

    def test_the_real_list_has_a_section_for_each_script(self):
        self.list = ROOT / "packages.txt"
        self.installed()
        self.install("run")
        self.assertIn(" cmake ", self.commands()[-1])
        self.assertNotIn(" libgtest-dev ", self.commands()[-1])
        self.install("run", "test")
        self.assertIn(" libgtest-dev ", self.commands()[-1])

    def test_a_browser_or_node_from_elsewhere_is_good_enough(self):
        self.write("packages.txt", "# [test]\nchromium\nnodejs\nnpm\n")
        self.tool("node", "true")
        self.tool("google-chrome", "true")
        self.tool("npm", "true")
        result = self.install("test")
        self.assertEqual((result.returncode, result.stdout, self.commands()), (0, "", []))


if __name__ == "__main__":
    unittest.main()
