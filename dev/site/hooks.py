"""Links out of the pages lead to the repository; those to pages that the site has elsewhere are bent to their place."""
import posixpath
import re

REPOSITORY = "https://github.com/gds4j/gds4j/blob/main/"
# Pages that are not below docs/ in the checkout, and their place in the site.
MOVED = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "samples/README.md", "gds-spark/README.md", "examples/README.md"}
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
INDENTED = re.compile(r"^    [^\n]*$|```.*?```", re.M | re.S)


def in_checkout(page):
    return page if page in MOVED else "docs/" + page


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri
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
    return "".join(parts)
