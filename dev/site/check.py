"""Tests the site in target/site and the files of examples/containers. Called by dev/site.sh: check.py ROOT [pictures].

Links and parsers need no browser. Pictures, widths, colours and search need Debian's Chromium; without it one line says so.
"""
import functools
import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import yaml

ROOT = pathlib.Path(sys.argv[1])
SITE = ROOT / "target" / "site"
IMAGES = ROOT / "docs" / "images"
WIDTHS = (400, 1400)
LONGEST_CELL = 120
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]

faults = []


def check(good, fault):
    if not good:
        faults.append(fault)


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes.get("id"), attributes.get("name")}
        if tag in ("a", "img", "link", "script", "source"):
            self.links += [attributes[key] for key in ("href", "src") if attributes.get(key)]


def links(pages):
    parsed = {file: Page(file) for file in pages}
    for file, page in parsed.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or link.startswith("//") or link == ".":
                if (parts.netloc, parts.path[:28]) == ("github.com", "/gds4j/gds4j/blob/main/") or parts.path.startswith("/gds4j/gds4j/blob/main/"):
                    inside = ROOT / urllib.parse.unquote(parts.path.removeprefix("/gds4j/gds4j/blob/main/"))
                    check(inside.exists(), f"{file.relative_to(SITE)}: {link}: no such file in the checkout")
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if target.is_dir():
                target /= "index.html"
            check(target.exists(), f"{file.relative_to(SITE)}: {link}: no such page")
            if parts.fragment and target in parsed:
                check(urllib.parse.unquote(parts.fragment) in parsed[target].ids, f"{file.relative_to(SITE)}: {link}: no such heading")


def containers():
    folder = ROOT / "examples" / "containers"
    deployment = list(yaml.safe_load_all((folder / "kubernetes.yaml").read_text()))
    check(deployment[0]["kind"] == "Deployment", "kubernetes.yaml: no deployment")
    pod = deployment[0]["spec"]["template"]["spec"]
    check("--require" in pod["initContainers"][0]["args"], "kubernetes.yaml: no gds check --require before the service")
    for container in pod["initContainers"] + pod["containers"]:
        check("memory" in container["resources"]["limits"], f"kubernetes.yaml: {container['name']} has no limit of memory")
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["initContainers"] + pod["containers"]:
        check({mount["name"] for mount in container["volumeMounts"]} <= volumes, "kubernetes.yaml: a mount without a volume")
    sources = "".join(file.read_text() for file in (ROOT / "gds-interop/src/main/java/io/gds4j/interop/metrics").glob("*.java"))
    for panel in json.loads((folder / "grafana.json").read_text())["panels"]:
        for name in re.findall(r"gds4j_\w+", panel["targets"][0]["expr"]):
            meter = re.sub(r"_(total|bytes|seconds_(sum|count|max)|bytes_total)$", "", name).replace("_", ".")
            check(f'"{meter}"' in sources or f'"{meter}.bytes"' in sources, f"grafana.json: no meter {meter}")
    words = re.findall(r"^(\w+) ", (folder / "Dockerfile").read_text(), re.M)
    check(set(words) <= {"FROM", "ADD", "ENV", "USER", "ENTRYPOINT"}, f"Dockerfile: {words}")


def examples_of_yaml():
    for page in sorted((ROOT / "docs").glob("*.md")):
        for text in re.findall(r"```ya?ml\n(.*?)```", page.read_text(), re.S):
            try:
                yaml.safe_load(text)
            except yaml.YAMLError as error:
                check(False, f"{page.name}: {error}")


def serve():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def photograph(browser, home):
    """Writes the pictures of the front page: narrow and dark, wide and light, and the README alone."""
    for width in WIDTHS:
        tab = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme="dark" if width == 400 else "light")
        tab.goto(home + "index.html")
        tab.screenshot(path=IMAGES / f"site-{width}.png")
    tab = browser.new_page(viewport={"width": 900, "height": 1300})
    tab.goto(home + "index.html")
    tab.add_style_tag(content=".md-header,.md-tabs,.md-sidebar,.md-footer,.md-top{display:none!important}.md-content{max-width:none}")
    tab.screenshot(path=IMAGES / "readme.png")
    for file in (IMAGES / f for f in ("site-400.png", "site-1400.png", "readme.png")):
        check(file.stat().st_size < 200 * 1024, f"{file.name}: {file.stat().st_size} bytes")


def browse(chromium, pages, pictures):
    from playwright.sync_api import sync_playwright
    home = serve()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        if pictures:
            photograph(browser, home)
            return
        for width in WIDTHS:
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.on("pageerror", lambda error: check(False, f"{tab.url}: {error}"))
            for file in pages:
                name = str(file.relative_to(SITE))
                tab.goto(home + name)
                if tab.url.endswith("404.html"):
                    continue
                for image in tab.query_selector_all("article img"):
                    image.scroll_into_view_if_needed()
                    tab.wait_for_function("image => image.complete", arg=image)
                    check(image.evaluate("image => image.naturalWidth > 0"), f"{name}: {image.get_attribute('src')} does not show")
                wide = tab.evaluate("document.documentElement.scrollWidth")
                check(wide <= width + 1, f"{name}: {wide} pixels wide at {width}")
                if width == WIDTHS[-1]:
                    for cell in tab.evaluate("[...document.querySelectorAll('article td')].map(cell => cell.innerText)"):
                        check(len(cell) <= LONGEST_CELL, f"{name}: a cell of {len(cell)} characters: {cell[:50]}")
            tab.close()
        for words, page in (("cuFileBatchIOSubmit", "migrating-from-c"), ("cost of --verify", "faq")):
            tab = browser.new_page(viewport={"width": 1400, "height": 900})
            tab.goto(home + "index.html")
            tab.fill("input.md-search__input", words)
            tab.wait_for_selector(".md-search-result__item a", timeout=20000)
            found = tab.eval_on_selector_all(".md-search-result__item a", "links => links.map(link => link.href)")
            check(any(page in link for link in found), f"search of {words}: {found}")
            tab.close()
        for scheme, expected in (("light", "default"), ("dark", "slate")):
            tab = browser.new_page(color_scheme=scheme)
            tab.goto(home + "index.html")
            seen = tab.evaluate("document.body.dataset.mdColorScheme")
            check(seen == expected, f"colours: {seen} where the system is {scheme}")
            tab.close()
        browser.close()


def main():
    pages = sorted(file for file in SITE.rglob("*.html") if SITE / "api" not in file.parents and file.name != "404.html")
    links(pages)
    containers()
    examples_of_yaml()
    drawn = subprocess.run([sys.executable, ROOT / "dev/pictures.py", "--check"], capture_output=True, text=True)
    check(drawn.returncode == 0, drawn.stderr.strip())
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium:
        browse(chromium, pages, "pictures" in sys.argv[2:])
    for fault in faults:
        print(fault)
    print(f"site: {len(pages)} pages, {len(faults)} faults" + ("" if chromium else "; no Chromium here, so no page was looked at"))
    sys.exit(1 if faults else 0)


main()
