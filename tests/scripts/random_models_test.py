import json
import re
import sys
import unittest

from trees import ROOT, TreeTest

# Answers like a program of tests: two families, and something happens at some of the seeds.
PROGRAM = f'''#!{sys.executable}
import json, os, sys, time
if "--gtest_list_tests" in sys.argv:
    print("Family.\\n  One\\n  Two  # GetParam() = 2")
    sys.exit()
options = dict(a[2:].split("=", 1) for a in sys.argv[1:])
first, count = int(os.environ["SALTUS_RANDOM_SEED"]), int(os.environ["SALTUS_RANDOM_CASES"])
what = json.load(open(__file__ + ".json")).get(options["gtest_filter"], {{}})
models, failures = 0, []
for seed in range(first, first + count):
    models += 1
    kind = what.get(str(seed))
    if kind == "report":
        print("x.cpp:1:2: runtime error: signed integer overflow", file=sys.stderr)
        sys.exit(1)
    if kind == "crash":
        os.abort()
    if kind == "hang":
        time.sleep(60)
    if kind == "leak":
        print("==1==ERROR: LeakSanitizer: detected memory leaks", file=sys.stderr)
        code = 23
    if kind == "wrong":
        failures.append({{"failure": "wrong value\\nseed " + str(seed) + "\\nmodel M"}})
        break
case = {{"name": "x", "models": str(models)}} | ({{"failures": failures}} if failures else {{}})
json.dump({{"testsuites": [{{"testsuite": [case]}}]}}, open(options["gtest_output"].removeprefix("json:"), "w"))
sys.exit(1 if failures else 0)
'''


class RandomModels(TreeTest):
    def run_models(self, what, *options):
        program = self.write("program", PROGRAM)
        program.chmod(0o755)
        self.write("program.json", json.dumps(what))
        return self.call(sys.executable, ROOT / "scripts/random_models.py", program, "--first", 0, *options)

    def test_runs_until_enough_models_were_simulated(self):
        done = self.run_models({}, "--models", 100, "--batch", 20, "--jobs", 1)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("100 random models of 2 families", done.stdout)
        self.assertIn("0 reports of a sanitizer, 0 crashes, 0 without end, 0 wrong answers", done.stdout)

    def test_stops_after_the_given_minutes(self):
        done = self.run_models({}, "--models", 10**9, "--minutes", 0.01, "--jobs", 1)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_goes_on_after_a_wrong_answer(self):
        done = self.run_models({"Family.One": {"3": "wrong", "7": "wrong"}}, "--models", 20, "--batch", 10, "--jobs", 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("20 random models", done.stdout)
        self.assertIn("2 wrong answers", done.stdout)
        for seed in (3, 7):
            self.assertRegex(done.stdout, rf"SALTUS_RANDOM_SEED={seed} SALTUS_RANDOM_CASES=1 .*=Family.One\n")

    def test_finds_the_seed_of_a_report_and_of_a_crash(self):
        done = self.run_models({"Family.One": {"5": "report"}, "Family.Two": {"2": "crash"}},
                               "--models", 18, "--batch", 10, "--jobs", 2)
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 reports of a sanitizer, 1 crashes, 0 without end, 0 wrong answers", done.stdout)
        self.assertRegex(done.stdout, r"sanitizer: SALTUS_RANDOM_SEED=5 SALTUS_RANDOM_CASES=1 .*Family.One\n.*signed")
        self.assertRegex(done.stdout, r"crash: SALTUS_RANDOM_SEED=2 SALTUS_RANDOM_CASES=1 .*Family.Two\nexit status -6")

    def test_models_of_a_batch_with_a_report_are_counted_once(self):
        done = self.run_models({"Family.One": {"3": "leak"}}, "--models", 16, "--batch", 8, "--jobs", 1)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(re.search(r"^16 random models .* 1 reports", done.stdout, re.M), done.stdout)

    def test_says_which_batch_does_not_end(self):
        done = self.run_models({"Family.One": {"0": "hang"}}, "--models", 1, "--batch", 2, "--jobs", 1,
                               "--batch-seconds", 1)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"no end: SALTUS_RANDOM_SEED=0 SALTUS_RANDOM_CASES=1 .*\ndid not end within 1 s")

    def test_refuses_a_program_that_is_not_there(self):
        done = self.call(sys.executable, ROOT / "scripts/random_models.py", self.tree / "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("build saltus_tests_random first", done.stdout)


if __name__ == "__main__":
    unittest.main()
