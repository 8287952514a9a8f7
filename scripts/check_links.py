#!/usr/bin/env python3
"""Checks the relative links of all Markdown files: check_links.py [ROOT]

A link must lead to a file or folder of the tree, and its #anchor, if any, to a heading of that file (spelt as GitHub and
GitLab spell anchors). Links with a scheme (https:, mailto:) are not followed. Code is skipped.

Prints one line a broken link, "file:line: text", and exits 1 if there are any.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

INLINE = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
NOT_OURS = {".git", ".cache", "build", "node_modules"}


def prose(text):
    """(line number, line) of what does not stand in a fenced block of code."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if match and fence is None:
            fence = match.group(1)
        elif fence is not None:
            if match and match.group(1)[0] == fence[0] and len(match.group(1)) >= len(fence):
                fence = None
        else:
            yield number, line


def anchors(text):
    """The anchors of a file's headings; a repeated heading gets -1, -2, …"""
    found, seen = set(), {}
    for _, line in prose(text):
        if match := HEADING.match(line):
            title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return found


def links(text):
    for number, line in prose(text):
        line = re.sub(r"`[^`]*`", "", line)
        for match in INLINE.finditer(line):
            yield number, match.group(1)
        if match := REFERENCE.match(line):
            yield number, match.group(1)


def problem_with(root, file, target):
    """What is wrong with a link, or None."""
    path, _, anchor = target.partition("#")
    if path.startswith("/"):
        return f"'{target}' is absolute; links are relative to their file"
    goal = (file.parent / unquote(path)).resolve() if path else file
    if not goal.is_relative_to(root):
        return f"'{target}' leads out of the tree"
    if not goal.exists():
        return f"'{target}' does not exist"
    if anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text(encoding="utf-8")):
        return f"'{target}': no heading of that name"
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    files = sorted(f for f in root.rglob("*.md") if not NOT_OURS & set(f.relative_to(root).parts))
    checked = broken = 0
    for file in files:
        for number, target in links(file.read_text(encoding="utf-8")):
            if SCHEME.match(target):
                continue
            checked += 1
            if text := problem_with(root, file, target):
                broken += 1
                print(f"{file.relative_to(root)}:{number}: {text}")
    print(f"{len(files)} files, {checked} links, {broken} broken")
    return 1 if broken or not files else 0


if __name__ == "__main__":
    sys.exit(main())
