#!/usr/bin/env python3
"""Builds the documentation as a site and checks all of its pages: site_test.py SALTUS FOLDER

Skipped (exit code 77) with a message where Sphinx is missing, but not in continuous integration (CI=true).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
# What a browser fetches by itself. Anything else is a link that the reader may click.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("object", "data")}


class Page(HTMLParser):
    """The links, the fetched files, the anchors and the navigation of one page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.fetched, self.anchors, self.navigation = [], [], set(), []
        self.in_navigation = False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "div" and "sidebar-tree" in (values.get("class") or "").split():
            self.in_navigation = True
        for name in ("href", "src", "data"):
            if values.get(name) is None:
                continue
            (self.fetched if (tag, name) in FETCHED else self.links).append(values[name])
            if self.in_navigation and tag == "a":
                self.navigation.append(values[name])

    def handle_endtag(self, tag):
        if tag == "aside":
            self.in_navigation = False


def problem_with_target(pages, file, target):
    """What is wrong with a link, or None."""
    path, _, anchor = target.partition("#")
    path = unquote(path.partition("?")[0])
    if path.startswith("/"):
        return "is absolute"
    goal = (file.parent / path).resolve() if path else file
    if not goal.is_file():
        return "leads nowhere"
    if anchor.startswith("example="):  # of the page that runs models
        source = ROOT / "examples" / f"{anchor.removeprefix('example=')}.mo"
        return None if source.is_file() else "names no example"
    if anchor and goal in pages and unquote(anchor) not in pages[goal].anchors:
        return "has no such heading"
    return None


def problems_of_page(pages, file):
    page = pages[file]
    for target in page.fetched:
        if SCHEME.match(target) and not target.startswith("data:") or target.startswith("//"):
            yield f"'{target}' is fetched from another host"
    for target in page.links + page.fetched:
        if not SCHEME.match(target) and (problem := problem_with_target(pages, file, target)):
            yield f"'{target}' {problem}"


def problems_of_styles(folder):
    for sheet in folder.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        for target in re.findall(r"url\([\"']?([^)\"']+)", text) + re.findall(r"@import\s+[\"']([^\"']+)", text):
            if not target.startswith(("data:", "#")) and not (sheet.parent / target).is_file():
                yield f"{sheet.relative_to(folder)}: '{target}' is not in the site"


def missing_pages(folder, pages):
    """Pages of the tree that the site or its navigation does not have."""
    start = folder / "README.html"
    listed = {(start.parent / target.partition("#")[0]).resolve() for target in pages[start].navigation}
    sources = [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for source in sources:
        page = folder / source.relative_to(ROOT).with_suffix(".html")
        if page not in pages:
            yield f"{source.relative_to(ROOT)} is not in the site"
        elif page not in listed:
            yield f"{source.relative_to(ROOT)} is not in the navigation: name it in docs/README.md"


def pages_of_runs():
    """Those of the gallery whose model is run. Optimal controls have no report of one run."""
    return [page for page in (ROOT / "docs/gallery").glob("*.md") if "$ saltus optimise" not in page.read_text()]


def missing_reports(folder, pages):
    for source in pages_of_runs():
        page = pages[folder / "docs/gallery" / (source.stem + ".html")]
        if source.name != "README.md" and not any("/reports/" in target for target in page.links):
            yield f"docs/gallery/{source.name} links to no report"


def missing_runs(folder, pages):
    for source in pages_of_runs():
        page = pages[folder / "docs/gallery" / (source.stem + ".html")]
        if source.name != "README.md" and not any("/run/index.html#example=" in target for target in page.links):
            yield f"docs/gallery/{source.name} has no link that runs its model"


def missing_notebooks(folder, pages, in_ci):
    """Notebooks that are no pages, or show no picture. Without nbsphinx there are none, unless it is asked for."""
    sources = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
    notebooks = [folder / source.relative_to(ROOT).with_suffix(".html") for source in sources]
    if not in_ci and not any(notebook in pages for notebook in notebooks):
        print("no notebooks: scripts/install_packages.sh site installs what makes them pages")
        return
    for notebook in notebooks:
        if notebook not in pages:
            yield f"{notebook.relative_to(folder)} is not in the site"
        elif not any("_images/" in target for target in pages[notebook].fetched):
            yield f"{notebook.relative_to(folder)} shows no picture: its cells were not run"


def main():
    saltus, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    if not shutil.which("sphinx-build") and not in_ci:
        print("skipped: there is no Sphinx on this machine; scripts/install_packages.sh site installs it")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    make = [ROOT / "scripts/make_site.sh", folder, saltus]
    if subprocess.run(make, env=os.environ | {"SALTUS_SKIP_PACKAGES": "1"}, check=False).returncode != 0:
        print("FAILED: the site cannot be built")
        return 1
    files = [file for file in folder.rglob("*.html") if not file.is_relative_to(folder / "_downloads")]
    # The scripts of reports make their own links; browser.report looks at them.
    pages = {file: Page(file) for file in files if file.parent.name != "reports"}
    found = [f"{file.relative_to(folder)}: {text}" for file in pages for text in problems_of_page(pages, file)]
    found += [*problems_of_styles(folder), *missing_pages(folder, pages), *missing_reports(folder, pages)]
    found += missing_runs(folder, pages)
    found += missing_notebooks(folder, pages, in_ci)
    if any(str(ROOT) in file.read_text(encoding="utf-8") for file in files):
        found.append("a page names a folder of this machine")
    print(*found, sep="\n")
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(found)} problems")
    return 1 if found or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
