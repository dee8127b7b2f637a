#!/usr/bin/env python3
"""Draws what gds prints on terminals, as SVG, and a report page, as PNG. Needs Python 3.10; for the page Debian's Chromium.

    dev/terminal.py [FOLDER]     check, load, explain and top at 60, 100 and 160 columns, with and without colour; target/terminal by default
    dev/terminal.py --docs       only docs/images/terminal.svg, which docs/tools.md shows

GDS names another command than ./gds of the checkout. A checkpoint of 256 MiB and a running gds io are what the pictures show.
"""
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
GDS = os.environ.get("GDS", str(ROOT / "gds"))
LETTER, LINE, MARGIN = 8.43, 19, 14
COLOURS = {"31": "#e5707a", "32": "#79c98f", "33": "#e0b45c", "36": "#6fc3d4"}
INK, PAPER = "#d7dee6", "#14191f"
SGR = re.compile(r"\x1b\[([0-9;]*)m")


def printed(arguments, columns, colour):
    """What gds writes to a terminal of a width."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {**os.environ, "TERM": "xterm-256color"}
        environment.pop("COLUMNS", None)
        environment.pop("NO_COLOR", None)
        if not colour:
            environment["NO_COLOR"] = "1"
        os.execvpe(GDS, [GDS, *arguments], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the end of the program
            break
        if not part:
            break
        text += part
    os.waitpid(pid, 0)
    text = text.decode().replace("\r", "")
    if "\x1b[?1049l" in text:  # the last block of gds top
        text = text[text.rindex("\x1b[?1049l") + len("\x1b[?1049l"):]
    return re.sub(r"\x1b\[[0-9;]*[A-HJK]", "", text.rstrip("\n"))


def svg(command, text, columns):
    """A drawing of lines with colours."""
    lines = [f"$ gds {command}", *text.split("\n")]
    width, height = columns * LETTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    parts = []
    for number, line in enumerate(lines):
        at, style, spans = 0, "", []
        for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
            code = SGR.fullmatch(piece)
            if code:
                codes = code.group(1).split(";")
                style = "" if codes in (["0"], [""]) else "".join(
                    (' font-weight="bold"' if one == "1" else f' fill="{COLOURS[one]}"') for one in codes if one == "1" or one in COLOURS)
            elif piece:
                spans.append(f'<tspan x="{MARGIN + at * LETTER:.1f}"{style}>{escape(piece)}</tspan>')
                at += len(piece)
        if spans:
            parts.append(f'<text y="{MARGIN + number * LINE + 14}" xml:space="preserve">{"".join(spans)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img" '
            f'font-family="\'DejaVu Sans Mono\',Menlo,Consolas,monospace" font-size="14" fill="{INK}">\n<title>{escape("gds " + command)}</title>\n'
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n")


def page(folder, model):
    chromium = shutil.which("chromium")
    subprocess.run([GDS, "load", model, "-q", "--report", folder / "report.html"], check=True)
    if not chromium:
        print("no Chromium: no picture of the report page", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                        f"--screenshot={folder / 'report.png'}", "--window-size=1400,1500", (folder / "report.html").as_uri()],
                       check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def main():
    docs = "--docs" in sys.argv
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    folder = ROOT / "docs" / "images" if docs else pathlib.Path(given[0] if given else ROOT / "target" / "terminal").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gds-pictures-") as work:
        os.chdir(work)
        subprocess.run([GDS, "demo", "--size", "256M", "--keep", "-q", "--dir", "."], check=True)
        busy = subprocess.Popen([GDS, "io", "-f", "gds-demo/model.safetensors", "-d", "host", "-w", "2", "-i", "1M", "-T", "600", "-q"])
        try:
            time.sleep(8)  # a session is visible after five seconds
            subprocess.run([GDS, "top", str(busy.pid), "-n", "1", "-q"], check=True)
            commands = {"top": ["top", *([str(busy.pid)] if docs else []), "-n", "8", "-i", "0.3"]}
            if not docs:
                commands |= {"check": ["check", "."], "load": ["load", "gds-demo", "--no-progress"], "explain": ["explain", "gds-demo"]}
            for name, arguments in commands.items():
                for columns in (100,) if docs else (60, 100, 160):
                    for colour in (True,) if docs else (True, False):
                        text = printed(arguments, columns, colour)
                        file = "terminal.svg" if docs else f"{name}-{columns}{'' if colour else '-plain'}.svg"
                        (folder / file).write_text(svg(" ".join(["top"] if name == "top" else arguments[:2]), text, columns))
                if name == "top":
                    busy.terminate()
                    busy.wait()
            if not docs:
                page(folder, "gds-demo")
        finally:
            busy.kill()
    print(f"pictures: {folder}")


main()
