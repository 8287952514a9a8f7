#!/usr/bin/env python3
"""Compares the pages docs/reference/cpp with the public headers: check_reference.py [ROOT]

Every public type and function of include/saltus must be named on a page, in `code`; and every name in `code` on a page must occur in the headers.
Functions that override others, constructors and operators need no mention. Prints one line a problem and exits 1 if there are any.
"""
import re
import sys
from pathlib import Path

WORD = re.compile(r"[A-Za-z_]\w*")
NOT_OURS = set("""alignas auto bool char class const constexpr double enum explicit false float inline int long namespace nullptr operator
    override public return short signed static struct template true typename unsigned using virtual void while if else for include
    std size_t string string_view vector span map pair function shared_ptr unique_ptr make_shared optional ostream cout int64_t mutex
    CMake find_package add_subdirectory target_link_libraries REQUIRED PRIVATE e""".split())


def clean(text):
    """Without preprocessor lines, comments and the contents of strings."""
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    text = re.sub(r"//.*$", "", text, flags=re.M)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text)


def body_end(text, place):
    """The place behind the brace that closes the one at `place`."""
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
        if depth == 0:
            return place


def without_templates(text):
    """Without what stands between < and >."""
    while (shorter := re.sub(r"<[^<>()]*>|<[^<>]*\([^<>]*\)[^<>]*>", "", text)) != text:
        text = shorter
    return text


def function_name(statement):
    statement = without_templates(statement)
    match = re.search(r"(~?\w+)\s*\(", statement)
    if not match or "operator" in statement or re.match(r"\s*(friend|using|typedef|static_assert)\b", statement):
        return None
    return None if re.search(r"\boverride\b", statement) or "=" in statement[:match.start()] else match.group(1)


def declarations(text):
    """(type or "", name) of the public types and functions of a header."""
    text = clean(text)
    scopes, buffer, place, found = [], "", 0, []  # scope: (kind, name, public)
    while place < len(text):
        c = text[place]
        inside = scopes[-1] if scopes else ("namespace", "", True)
        if c == "{":
            head = re.search(r"\b(namespace|class|struct|enum(?:\s+class)?)\s+(\w+)?[^=;()]*$", without_templates(buffer))
            if head and head.group(1) == "namespace":
                scopes.append(("namespace", "", head.group(2) != "detail" and inside[2]))
            elif head and head.group(1).startswith("enum"):
                if inside[2] and inside[0] == "namespace":
                    found.append(("", head.group(2)))
                place = body_end(text, place) - 1
            elif head:
                if inside[2] and inside[0] == "namespace":
                    found.append(("", head.group(2)))
                visible = inside[2] and inside[0] == "namespace"
                scopes.append((head.group(1), head.group(2), visible and head.group(1) == "struct"))
            else:
                place = body_end(text, place) - 1
                if "=" not in buffer.split("(")[0]:
                    text = text[:place + 1] + ";" + text[place + 1:]  # a function ends with its body
                else:
                    buffer += "{}"
                place += 1
                continue
            buffer = ""
        elif c == "}":
            if scopes:
                scopes.pop()
            buffer = ""
        elif c == ";":
            name = function_name(buffer)
            if name and inside[2] and name.lstrip("~") != inside[1]:
                found.append((inside[1], name))
            buffer = ""
        elif c == ":" and buffer.strip() in ("public", "private", "protected"):
            scopes[-1] = (*inside[:2], buffer.strip() == "public")
            buffer = ""
        else:
            buffer += c
        place += 1
    return found


def code_words(page):
    text = re.sub(r"^```.*?^```", lambda block: "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for span in re.findall(r"`([^`\n]+)`", text):
        if "/" not in span and '"' not in span:
            yield from WORD.findall(span)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    headers = sorted((root / "include").rglob("*.hpp"))
    pages = sorted((root / "docs/reference/cpp").glob("*.md"))
    if not headers or not pages:
        print("no headers or no pages")
        return 1
    known = set().union(*(WORD.findall(header.read_text(encoding="utf-8")) for header in headers)) | NOT_OURS
    shown = {page: set(code_words(page)) for page in pages}
    named = set().union(*shown.values())
    problems = []
    count = 0
    for header in headers:
        for scope, name in dict.fromkeys(declarations(header.read_text(encoding="utf-8"))):
            count += 1
            if name not in named:
                problems.append(f"{header.relative_to(root)}: {scope + '::' if scope else ''}{name} is on no page")
    for page, words in shown.items():
        for word in sorted(words - known):
            problems.append(f"{page.relative_to(root)}: `{word}` is in no header")
    print("\n".join(problems + [f"{len(headers)} headers with {count} names, {len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
