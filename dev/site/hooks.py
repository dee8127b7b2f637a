"""Links out of the pages lead to the repository; those to pages that the site has elsewhere are bent to their place."""
import posixpath
import re

REPOSITORY = "https://github.com/gds4j/gds4j/blob/main/"
# Pages that are not below docs/ in the checkout, and their place in the site.
MOVED = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "samples/README.md", "gds-spark/README.md", "examples/README.md"}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
INDENTED = re.compile(r"^    [^\n]*$|```.*?```", re.M | re.S)


CHART = re.compile(r"(!\[First load.*?\n\n<sub>.*?</sub>)\n\n(```java\n.*?```)\n", re.S)
DEPENDENCY = re.compile(r"Maven:\n\n(```xml\n.*?```)\n\nGradle:\n\n(```kotlin\n.*?```)\n", re.S)
CLONE = "```sh\ngit clone https://github.com/gds4j/gds4j && cd gds4j\n./gds demo\n```"


def front(markdown):
    """Puts the first program beside the chart, and the ways to begin into tabs: Markdown has neither."""
    def tabs(found):
        parts = zip(("Maven", "Gradle", "Clone"), (*found.groups(), CLONE))
        return "".join(f'=== "{name}"\n\n' + "".join(f"    {line}\n" for line in code.splitlines()) + "\n" for name, code in parts)

    markdown, beside = CHART.subn(r'<div class="front" markdown>\n<div markdown>\n\n\1\n\n</div>\n\n\2\n\n</div>\n', markdown)
    markdown, tabbed = DEPENDENCY.subn(tabs, markdown)
    assert beside and tabbed, "README.md has no chart with a program, or no dependency"
    return markdown


def in_checkout(page):
    return page if page in MOVED else "docs/" + page


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
    if source == "CHANGELOG.md" or source.startswith("notes/"):
        page.meta["search"] = {"exclude": True}  # they would bury the answers of the guides
    folder = posixpath.dirname(in_checkout(source))

    def bent(link):
        target = link.group(2)
        if re.match(r"[a-z]+:", target):
            return link.group(0)
        path = posixpath.normpath(posixpath.join(folder, target))
        place = path if path in MOVED else path.removeprefix("docs/")
        if (path in MOVED or path.startswith("docs/")) and files.get_file_from_path(place):
            to = posixpath.relpath(place, posixpath.dirname(source) or ".")
        else:
            to = REPOSITORY + ("" if path == "." else path)
        return link.group(1) + to + link.group(3)

    # Code is no place for links.
    parts, last = [], 0
    for code in INDENTED.finditer(markdown):
        parts += [LINK.sub(bent, markdown[last:code.start()]), code.group(0)]
        last = code.end()
    parts.append(LINK.sub(bent, markdown[last:]))
    text = "".join(parts)
    if source == "README.md":
        page.meta["hide"] = ["navigation", "toc"]
        text = front(text)
    return text
