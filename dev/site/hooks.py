"""Links out of the pages lead to the repository; those to pages that the site has elsewhere are bent to their place."""
import pathlib
import posixpath
import re

REPOSITORY = "https://github.com/gds4j/gds4j/blob/main/"
# Pages that are not below docs/ in the checkout, and their place in the site.
MOVED = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "samples/README.md", "gds-spark/README.md", "examples/README.md"}
LINK = re.compile(r"(?:\.md)?(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")  # words that are a file's name lose its ending: the site has pages
INDENTED = re.compile(r"^    [^\n]*$|```.*?```", re.M | re.S)


# The first list of links of a page that javadoc wrote.
NAVIGATION = re.compile(r'<ul id="navbar-top-firstrow"[^>]*>')
CHART = re.compile(r"(!\[First load.*?\n\n<sub>.*?</sub>)\n\n(```java\n.*?```)\n", re.S)
DEPENDENCY = re.compile(r"Maven:\n\n(```xml\n.*?```)\n\nGradle:\n\n(```kotlin\n.*?```)\n", re.S)
JBANG = """Above the program, once a version is on Maven Central or in your local repository; tried with jbang 0.132.1 on 2026-11-30.

```java
//JAVA 25+
//DEPS io.gds4j:gds4j:0.1.0-SNAPSHOT
//RUNTIME_OPTIONS --enable-native-access=ALL-UNNAMED
```"""
CLONE = "```sh\ngit clone https://github.com/gds4j/gds4j && cd gds4j\n./gds demo\n```"


def front(markdown):
    """Puts the first program beside the chart, and the ways to begin into tabs: Markdown has neither."""
    def tabs(found):
        parts = zip(("Maven", "Gradle", "jbang", "Clone"), (*found.groups(), JBANG, CLONE))
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
    elif source == "faq.md":
        page.meta["search"] = {"boost": 2}  # its headings are what people ask
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


def on_post_build(config):
    """Begins the bar of each page of the Javadoc with a way back to the guides."""
    folder = pathlib.Path(config["site_dir"], "api")
    for page in folder.rglob("*.html"):
        home = "../" * len(page.relative_to(folder).parts) + "index.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(NAVIGATION.sub(lambda bar: f'{bar.group(0)}\n<li><a href="{home}">gds4j guides</a></li>', text, count=1), encoding="utf-8")
