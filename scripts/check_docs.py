#!/usr/bin/env python3
"""Runs what the pages show, and compares.

  check_docs.py check    --saltus PROGRAM [--programs PROGRAM] PAGE.md ...   exits 1 if a page shows something else
  check_docs.py update   --saltus PROGRAM [--programs PROGRAM] PAGE.md ...   writes the real output and pictures into the pages
  check_docs.py programs --out FILE.cpp PAGE.md ...                          collects the C++ programs of the pages in one file

A page is read from top to bottom in a folder of its own, in which `./run` and `saltus` are the program and `examples` the examples:

- a `modelica` block is a complete model and is written to the file NAME.mo;
- in a `console` block the lines after "$ " are commands, "> " continues them; what follows is their output, errors included. A line "…" stands for any lines;
- a `cpp` block is a complete program. A `text` block right after it is its output. `--programs` is what FILE.cpp was compiled to;
- other blocks are not touched; `sh` and `bash` are refused, because nobody would notice when they become wrong.

Numbers may differ in the last digits (mathematical libraries do), counts of steps by a tenth, times needed not be equal at all. Numbers with
five or more decimals in the prose, and counts like "12 steps", must be among those printed on the page. A picture that gnuplot drew and a report in the
folder of the page must be written by a command of the page that shows it.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"-?\b[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?\b")
DIGITS = re.compile(r"(?<![\w.])[-−]?[0-9]+\.[0-9]{5,}(?!\w)")
COUNT = re.compile(r"\b([0-9]+) (step|evaluation|event)s?\b")
MODEL = re.compile(r"\s*(?:model|package|block|class)\s+(\w+).*\bend \1;\s*\Z", re.S)
MAIN = re.compile(r"\bint main\(\)")


class Block:
    """A fenced block: its language, its text, and the lines of the page between its fences."""

    def __init__(self, language, first, last, text):
        self.language, self.first, self.last, self.text = language, first, last, text


def split(page):
    """The lines of a page, its blocks, and its prose."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks, prose, begin = [], [], None
    for k, line in enumerate(lines):
        if line.startswith("```"):
            if begin is None:
                begin = k
            else:
                blocks.append(Block(lines[begin][3:].strip(), begin + 1, k, "\n".join(lines[begin + 1:k])))
                begin = None
        elif begin is None:
            prose.append(line)
    return lines, blocks, prose


def close(a, b, share=1e-6):
    return abs(a - b) <= share * max(1.0, abs(a), abs(b))


def same_line(shown, printed):
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    x, y = (list(map(float, NUMBER.findall(line))) for line in (shown, printed))
    if " evaluations, " in shown:
        return all(abs(a - b) <= 3 or close(a, b, 0.1) for a, b in zip(x[:-1], y[:-1]))
    return all(close(a, b) for a, b in zip(x, y))


def same(shown, printed):
    """Whether two lists of lines agree; "…" stands for any number of lines."""
    if not shown:
        return not printed
    if shown[0].strip() == "…":
        return any(same(shown[1:], printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0]) and same(shown[1:], printed[1:])


def trimmed(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


class Page:
    def __init__(self, path, arguments, folder):
        self.path, self.arguments, self.folder = path.resolve(), arguments, pathlib.Path(folder)
        self.name = str(self.path.relative_to(ROOT)) if self.path.is_relative_to(ROOT) else path.name
        self.problems, self.printed, self.replace = [], "", {}
        os.symlink(ROOT / "examples", self.folder / "examples")
        for name, words in (("saltus", '"$@"'), ("run", 'run --draw "$@"')):
            script = self.folder / name
            script.write_text(f'#!/bin/sh\nexec "{pathlib.Path(arguments.saltus).resolve()}" {words}\n')
            script.chmod(0o755)

    def problem(self, line, text):
        self.problems.append(f"{self.name}:{line}: {text}")

    def execute(self, command, line):
        path = f"{self.folder}:{os.environ['PATH']}"
        result = subprocess.run(command, cwd=self.folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        if result.returncode not in (0, 1, 2):
            self.problem(line, f"the command ended with {result.returncode}")
        self.printed += result.stdout + "\n"
        return trimmed(result.stdout)

    def compare(self, line, shown, printed):
        if not same(shown, printed):
            self.problem(line, "shown:\n" + "\n".join(shown) + "\nprinted:\n" + "\n".join(printed))

    def console(self, block):
        rows, result = block.text.splitlines(), []
        while rows:
            typed = [rows.pop(0)]
            while rows and (typed[-1].endswith("\\") or rows[0].startswith("> ")):
                typed.append(rows.pop(0))
            if not typed[0].startswith("$ "):
                return self.problem(block.first + 1, "a console block begins with '$ '")
            command = "\n".join(row[2:] if row.startswith(("$ ", "> ")) else row for row in typed)
            shown = []
            while rows and not rows[0].startswith("$ "):
                shown.append(rows.pop(0).rstrip())
            gap = [""] if shown and not shown[-1] else []
            shown = trimmed("\n".join(shown))
            printed = self.execute(["bash", "-c", command], block.first + 1)
            self.compare(block.first + 1, shown, printed)
            result += typed + (shown if same(shown, printed) else printed) + gap
        self.replace[block.first] = (block.last, result)

    def run(self):
        lines, blocks, prose = split(self.path)
        programs = 0
        for k, block in enumerate(blocks):
            if block.language == "modelica":
                match = MODEL.match(block.text)
                if not match:
                    self.problem(block.first, "not a complete model")
                else:
                    (self.folder / f"{match.group(1)}.mo").write_text(block.text + "\n", encoding="utf-8")
            elif block.language == "console":
                self.console(block)
            elif block.language == "cpp" and self.arguments.programs:
                programs += 1
                printed = self.execute([pathlib.Path(self.arguments.programs).resolve(), f"{self.name}:{programs}"], block.first)
                if k + 1 < len(blocks) and blocks[k + 1].language == "text":
                    output = blocks[k + 1]
                    self.compare(output.first, trimmed(output.text), printed)
                    if not same(trimmed(output.text), printed):
                        self.replace[output.first] = (output.last, printed)
            elif block.language in ("sh", "bash"):
                self.problem(block.first, "use a console block: it is checked")
        self.check_numbers(prose)
        self.check_pictures("\n".join(prose))
        if self.arguments.action == "update":
            for first, (last, text) in sorted(self.replace.items(), reverse=True):
                lines[first:last] = text
            self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def check_numbers(self, prose):
        printed = [abs(float(number)) for number in NUMBER.findall(self.printed)]
        counts = [(int(count), word) for count, word in COUNT.findall(self.printed)]
        for line in prose:
            for text in DIGITS.findall(line):
                unit = 10.0 ** -len(text.partition(".")[2])
                value = float(text.lstrip("-−"))
                if not any(abs(value - number) <= 1.0001 * unit for number in printed):
                    self.problems.append(f"{self.name}: {text} is printed by no command of the page")
            for count, word in COUNT.findall(line):
                if not any(word == w and close(int(count), n, 0.1) for n, w in counts):
                    self.problems.append(f"{self.name}: '{count} {word}' is printed by no command of the page")

    def check_pictures(self, prose):
        for link in re.findall(r"!\[[^\]]*\]\(([^)\s:]+)\)", prose):
            picture, drawn = self.path.parent / link, self.folder / pathlib.Path(link).name
            if drawn.exists() and self.arguments.action == "update":
                picture.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(drawn, picture)
            elif not picture.exists() or (not drawn.exists() and "GNUPLOT" in picture.read_text(encoding="utf-8", errors="ignore")):
                self.problems.append(f"{self.name}: no command of the page draws {link}")
        for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s:/]+\.html)\)", prose):  # reports in the folder of the page
            report = self.folder / link
            if not report.exists():
                self.problems.append(f"{self.name}: no command of the page writes {link}")
            elif self.arguments.action == "update":
                shutil.copyfile(report, self.path.parent / link)


def collect_programs(pages, out):
    """One file with all programs: their includes first, then each in a namespace of its own."""
    includes, bodies, table = [], [], []
    for number, path in enumerate(pages):
        path = path.resolve()
        name = str(path.relative_to(ROOT))
        for k, block in enumerate([b for b in split(path)[1] if b.language == "cpp"], 1):
            if len(MAIN.findall(block.text)) != 1:
                sys.exit(f"{name}:{block.first}: a cpp block is a complete program with one 'int main()'")
            rows = block.text.splitlines()
            includes += [row for row in rows if row.startswith("#include")]
            body = "\n".join("" if row.startswith("#include") else row for row in rows).rstrip()
            body = MAIN.sub("static int run()", body).removesuffix("}") + "return 0; }"  # main comes last and may do without a return
            space = f"page_{number}_{k}"
            bodies.append(f"namespace {space} {{\n#line {block.first + 1} \"{path}\"\n{body}\n}}\n")
            table.append(f'  if (name == "{name}:{k}") return {space}::run();\n')
    text = "\n".join(dict.fromkeys(includes + ["#include <iostream>", "#include <string>"])) + "\n\n" + "\n".join(bodies)
    text += "\nint main(int count, char** words) {\n  const std::string name = count > 1 ? words[1] : \"\";\n" + "".join(table)
    text += '  std::cerr << "no program \'" << name << "\'\\n";\n  return 3;\n}\n'
    if not out.exists() or out.read_text(encoding="utf-8") != text:
        out.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "update", "programs"])
    parser.add_argument("--saltus", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.action == "programs":
        return collect_programs(arguments.pages, arguments.out)
    if arguments.saltus is None:
        parser.error("--saltus PROGRAM is missing")
    problems = 0
    for path in arguments.pages:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(path, arguments, folder)
            page.run()
        for text in page.problems:
            problems += 1
            print(text + "\n")
    print(f"{len(arguments.pages)} pages, {problems} " + ("differences before the update" if arguments.action == "update" else "differences"))
    return 1 if problems and arguments.action == "check" else 0


if __name__ == "__main__":
    sys.exit(main())
