#!/usr/bin/env python3
"""Draws the pictures of docs/images in one style. Needs Python 3.10 and nothing else.

    dev/pictures.py            writes all pictures
    dev/pictures.py --check    ends with status 1 if a picture differs from what this program draws

The figures stand here once, with the page that explains them; gds plot and gds patterns draw charts of runs of your own.
"""
import pathlib
import sys
from html import escape

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH = 760
INK, SOFT, LINE, PAPER = "#1f2933", "#52606d", "#d9e2ec", "#ffffff"
OURS, PEER, LIMIT, OTHER, BAD = "#1769aa", "#e07a1f", "#b8c4ce", "#7b8794", "#c0392b"
LETTER = 0.56  # of the font's size: the mean width of a letter


def wrapped(text, size, width):
    """Lines of a text that are not wider than the picture."""
    most, lines = int(width / (size * (LETTER if size > 12 else 0.51))), [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


class Picture:
    def __init__(self, name, title, description):
        self.name, self.parts, self.height = name, [], 0
        self.title, self.description = title, description

    def text(self, x, y, text, size=13, colour=INK, anchor="start", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        anchor = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x:.4g}" y="{y:.4g}" font-size="{size}" fill="{colour}"{anchor}{weight}>{escape(text)}</text>')

    def paragraph(self, x, y, text, size, colour, width, bold=False):
        for line in wrapped(text, size, width):
            self.text(x, y, line, size, colour, bold=bold)
            y += size * 1.35
        return y

    def rect(self, x, y, width, height, colour, radius=0, stroke=None):
        extra = (f' rx="{radius}"' if radius else "") + (f' stroke="{stroke}"' if stroke else "")
        self.parts.append(f'<rect x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}" fill="{colour}"{extra}/>')

    def line(self, x1, y1, x2, y2, colour=LINE, width=1, arrow=False, dashed=False):
        extra = (' marker-end="url(#arrow)"' if arrow else "") + (' stroke-dasharray="5 4"' if dashed else "")
        self.parts.append(f'<line x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}" stroke="{colour}" stroke-width="{width}"{extra}/>')

    def box(self, x, y, width, height, title, text="", colour="#eef4fa", stroke="#9fb3c8"):
        self.rect(x, y, width, height, colour, 6, stroke)
        lines = wrapped(text, 12, width - 16) if text else []
        at = y + (height - 16 - 16 * len(lines)) / 2 + 13
        self.text(x + width / 2, at, title, 14, anchor="middle", bold=True)
        for line in lines:
            at += 16
            self.text(x + width / 2, at, line, 12, SOFT, anchor="middle")

    def svg(self):
        arrow = ('<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
                 f'<path d="M0 0L8 4L0 8z" fill="{SOFT}"/></marker></defs>') if any("#arrow" in part for part in self.parts) else ""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height:.0f}" viewBox="0 0 {WIDTH} {self.height:.0f}" '
                f'role="img" font-family="Helvetica,Arial,\'DejaVu Sans\',sans-serif">\n<title>{escape(self.title)}</title>\n'
                f'<desc>{escape(self.description)}</desc>\n{arrow}<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def bars(name, title, note, series, rows, end, unit, step, label_width=210):
    """Horizontal bars from 0. A row is a label and a value for each series: None, a number, or the ends of a range."""
    picture = Picture(name, title, f"Bar chart in {unit}. {note}")
    y = picture.paragraph(20, 30, title, 17, INK, WIDTH - 40, bold=True)
    if len(series) > 1:
        x = 20
        for text, colour in series:
            picture.rect(x, y - 2, 12, 12, colour, 2)
            picture.text(x + 18, y + 8, text, 13, SOFT)
            x += 18 + len(text) * 13 * LETTER + 26
        y += 24
    top, left, right = y, label_width, WIDTH - 64
    scale = (right - left) / end
    bar = 20 if len(series) == 1 else 15
    for label, *values in rows:
        shown = [(value, colour) for value, (_, colour) in zip(values, series) if value is not None]
        lines = wrapped(label, 13, left - 36)
        height = max(len(shown) * (bar + 3), len(lines) * 16)
        for number, line in enumerate(lines):
            picture.text(left - 12, y + height / 2 + 4 + (number - (len(lines) - 1) / 2) * 16, line, 13, anchor="end")
        at = y + (height - len(shown) * (bar + 3)) / 2
        for value, colour in shown:
            if label.startswith("gds4j") and len(series) == 1:
                colour = OURS
            low, high = value if isinstance(value, tuple) else (value, value)
            picture.rect(left, at, low * scale, bar, colour, 2)
            if high > low:
                picture.rect(left + low * scale, at, (high - low) * scale, bar, colour + "66")
            picture.text(left + high * scale + 6, at + bar - 4, f"{low:g} to {high:g}" if high > low else f"{low:g}", 12)
            at += bar + 3
        y += height + 10
    grid, value = [], 0
    while value <= end + 1e-9:
        x = left + value * scale
        grid.append(f'<line x1="{x:.5g}" y1="{top - 4:.5g}" x2="{x:.5g}" y2="{y:.5g}" stroke="{LINE}"/>')
        picture.text(x, y + 16, f"{value:g}" + (f" {unit}" if value + step > end + 1e-9 else ""), 12, SOFT, anchor="middle")
        value += step
    first = next(i for i, part in enumerate(picture.parts) if "<rect" in part and f'y="{top:.5g}"' in part or i > 2 + 2 * len(series))
    picture.parts[first:first] = grid
    picture.height = picture.paragraph(20, y + 40, note, 12, SOFT, WIDTH - 40) + 2
    return picture


def load():
    return bars(
        "load.svg", "A checkpoint into one H100: first load of a fresh process",
        "GB/s, medians of ten processes of each, in turns; 17.2 GB of safetensors in four shards, in memory (tmpfs), one H100, 16 "
        "processors, 2026-11-27. The CUDA context is made before the clock starts. docs/comparison.md has all runs.",
        [("first load", OTHER)],
        [("gds4j (gds load)", 43.5), ("InstantTensor 0.2.2", 42.1), ("fastsafetensors 0.5.0", 26.4), ("Run:ai streamer 0.17.0", 6.1),
         ("safetensors 0.8.0", 4.1), ("FileChannel, one thread", 3.9)], 50, "GB/s", 10)


def process():
    return bars(
        "process.svg", "A checkpoint into one H200: the whole process, from exec to exit",
        "Seconds, medians, less is better: gds4j and C of ten processes, Python's loaders of three, in turns; safetensors in one and four "
        "shards, in memory (tmpfs), one H200, 16 processors, 2026-11-29. C makes a context, reads, copies and exits.",
        [("1 GiB", OURS), ("16 GiB", OTHER)],
        [("C, the least possible", 0.37, 0.69), ("gds4j, gds load", 0.59, 0.98), ("gds4j, ten lines of Java", 1.06, 1.52),
         ("InstantTensor 0.2.2", 4.17, 6.43), ("fastsafetensors 0.5.0", 4.54, 6.32), ("safetensors", 5.25, 9.89)], 10, "s", 2)


def gpus():
    return bars(
        "gpus.svg", "First load of a process, all tensors to every GPU",
        "GB/s delivered to all GPUs together; H200, 64 processors, safetensors in four shards in tmpfs, 2026-11-27. One GPU: three to six "
        "processes, lowest to highest; two: one process of each, four: two, in turns. The peers make their contexts before the clock starts.",
        [("gds4j", OURS), ("InstantTensor 0.2.2", PEER), ("fastsafetensors 0.5.0", OTHER)],
        [("one H200", (47.1, 48.1), (34.7, 38.4), (26.4, 28.2)), ("two", 131.2, 118.1, 73.0),
         ("four", (273.7, 279.8), (197.5, 220.9), (176.0, 180.7))],
        320, "GB/s", 40, 120)


def performance():
    return bars(
        "performance.svg", "Reads from the page cache into one GPU",
        "GB/s, one H100, 16 processors, 2026-11-26, medians of ten alternations; docs/performance.md has the command. "
        "The limit is the better of two hand-written C pipelines; libcufile is 1.15.1 in its compatibility mode.",
        [("limit in C", LIMIT), ("libcufile from C", PEER), ("gds4j", OURS)],
        [("one call of 4 GiB", 52.5, 21.3, 51.4), ("16 callers of 16 MiB", 52.5, 41.4, 49.5), ("4 callers of 16 MiB", 44.2, 40.0, 49.9),
         ("one caller of 16 MiB", 40.0, 11.1, 41.7), ("4 callers of 512 KiB", 26.0, 16.5, 26.5),
         ("16 callers of 256 KiB, random", 18.5, 18.1, 36.4), ("16 callers of 64 KiB, random", 11.3, 10.9, 19.1)], 60, "GB/s", 10)


def parallel():
    return bars(
        "parallel.svg", "One checkpoint for one and two GPUs",
        "GB/s delivered to all GPUs together; two H200 with NVLink, 32 processors, 16 GiB in the page cache, 2026-11-23, medians of two "
        "alternations of benchmarks/scripts/parallel.sh.",
        [("gds4j", OURS), ("hand-written C pipeline", LIMIT)],
        [("one GPU", 49.7, 53.0), ("two GPUs, replicated", 151.8, 165.9), ("two GPUs, TP 2", 74.4, 78.2),
         ("two GPUs, replicated without peer copies", 97.5, 102.0)], 180, "GB/s", 20)


def fragments():
    return bars(
        "fragments.svg", "Blocks of 2 MiB in fragments all over GPU memory",
        "GB/s, 12 callers, 4 GiB on ext4 in the page cache, one H100, 16 processors, 2026-11-27, medians of ten turns, of writes five. "
        "benchmarks/scripts/fragments.sh measures your machine.",
        [("gds4j", OURS), ("one kernel a block, C++", LIMIT)],
        [("32 x 64 KiB read", 47.4, 49.4), ("64 x 32 KiB read", 46.6, 49.7), ("32 x 64 KiB written", 6.2, 6.1)],
        60, "GB/s", 10, 170)


def datasets():
    return bars(
        "datasets.svg", "Records into a GPU from the page cache",
        "GB/s, one H200, 32 processors, a file of 4 GiB, 16 readers beside 16 threads of gds io and 8 workers of the DataLoader, 2026-11-23, "
        "medians of two runs of benchmarks/scripts/records.sh.",
        [("gds records", OURS), ("gds io", LIMIT), ("PyTorch's DataLoader", PEER)],
        [("sequential, 1 MiB", 41.5, 22.6, 2.0), ("random, 64 KiB", 25.9, 10.5, 2.0), ("random, 4 KiB", 16.6, 1.7, None)],
        50, "GB/s", 10, 160)


def registration():
    return bars(
        "registration.svg", "What a registration costs: one read of a cached file into GPU memory",
        "Microseconds a read, shorter is better; libcufile 1.15.1 in its compatibility mode, one H200, medians of 150 alternating reads "
        "(GpuRegistrationTest).",
        [("unregistered", LIMIT), ("registered in the loop", BAD), ("cached by gds4j", OURS), ("registered once", OTHER)],
        [("64 KiB", 27.6, 3940, 17.9, 18.0), ("1 MiB", 98.7, 4003, 116, 113), ("16 MiB", 1070, 8330, 996, 1006)],
        9000, "µs", 1500, 100)


def pattern(name, title, note, sizes, series, end, step):
    """Speed over the size of a request: a chart of gds patterns."""
    colours = (OURS, PEER, OTHER)
    return bars(
        f"pattern-{name}.svg", title, f"GB/s; {note}",
        [(text, colour) for (text, _), colour in zip(series, colours)],
        [(size, *(values[at] for _, values in series)) for at, size in enumerate(sizes)], end, "GB/s", step, 90)


def patterns():
    machine = "gds patterns into GPU memory, one H200, a virtual disk with ext4, 2026-11-21, medians of three or five runs."
    five, once = ("64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"), "2: registered once"
    return [
        pattern("registration", "Registration in the loop, once, or never: gds4j's engine", machine, five,
                [("1: registers each time", (0.85, 1.41, 1.70, 2.24, 2.33)), (once, (1.00, 1.49, 1.71, 2.09, 2.64)),
                 ("3: no registration", (0.99, 1.51, 1.69, 2.18, 2.51))], 3, 0.5),
        pattern("libcufile", "Registration in the loop, once, or never: libcufile 1.15", machine, ("256 KiB", "1 MiB", "4 MiB"),
                [("1: registers each time", (0.07, 0.26, 0.70)), (once, (0.89, 1.30, 1.75)), ("3: no registration", (1.63, 1.55, 1.69))], 2, 0.5),
        pattern("unaligned", "File offsets and buffer offsets off the grid", machine, five,
                [(once, (1.11, 1.53, 1.89, 2.55, 3.53)), ("4: odd file offsets", (1.15, 1.38, 1.94, 2.45, 3.62)),
                 ("5: odd buffer offsets", (1.10, 1.60, 1.62, 2.78, 3.32))], 4, 1),
        pattern("batch", "One request at a time, and batches", machine, ("4 KiB", "16 KiB", "64 KiB"),
                [(once, (0.13, 0.44, 1.18)), ("6: batches", (1.54, 2.87, 3.31))], 4, 1),
        pattern("stream", "One request at a time, and reads in the order of a stream", machine, five[1:],
                [(once, (1.59, 1.89, 2.49, 3.12)), ("7: a stream", (1.50, 1.92, 2.80, 3.13))], 4, 1)]


def architecture():
    picture = Picture("architecture.svg", "The parts of gds4j", "Programs call the API; loader, data sets and other modules build on it; two backends serve it.")
    picture.box(20, 20, 720, 46, "your program", colour="#fff8e6", stroke="#e0b95a")
    for x, width, title, text in ((20, 136, "gds-loader", "checkpoints: load and save"), (166, 136, "gds-dataset", "records in batches"),
                                  (312, 136, "gds-interop", "DLPack, DJL, meters; gds-jcuda"), (458, 136, "gds-rdma", "memory and files to peers"),
                                  (604, 136, "gds-remote", "HTTP and S3 objects; gds-aws")):
        picture.line(x + width / 2, 66, x + width / 2, 88, SOFT, 1.5, True)
        picture.box(x, 90, width, 62, title, text)
        picture.line(x + width / 2, 152, x + width / 2, 178, SOFT, 1.5, True)
    picture.box(20, 180, 720, 62, "gds-api", "CuFileDriver, handles, buffers, batches, streams: checks, lifetimes, errors")
    picture.line(205, 242, 205, 278, SOFT, 1.5, True)
    picture.line(555, 242, 555, 278, SOFT, 1.5, True)
    picture.text(380, 265, "CuFileBackend: one method for each cuFile function", 12, SOFT, "middle")
    picture.box(20, 280, 350, 62, "gds-compat", "our engine over POSIX, on any Linux", "#e7f3ec", "#8fbc9f")
    picture.box(390, 280, 350, 62, "gds-libcufile", "NVIDIA's library, where GPUDirect Storage works", "#e7f3ec", "#8fbc9f")
    picture.line(205, 342, 205, 366, SOFT, 1.5, True)
    picture.line(555, 342, 555, 366, SOFT, 1.5, True)
    picture.box(20, 368, 720, 46, "gds-engine: slabs, copies, streams, allocators, statistics")
    picture.line(380, 414, 380, 436, SOFT, 1.5, True)
    picture.box(20, 438, 720, 46, "gds-native: the only module that calls C, by Java's FFM API")
    for number, text in enumerate(("libc", "libcuda", "libcufile", "NVML", "libibverbs", "libcurl")):
        picture.line(20 + 122 * number + 55, 484, 20 + 122 * number + 55, 506, SOFT, 1.5, True)
        picture.box(20 + 122 * number, 508, 110, 36, text, colour="#f5f7fa")
    picture.height = 562
    return picture


def read():
    picture = Picture("read.svg", "The way of one read", "A read goes from the page cache or the disk through pinned slabs into GPU memory, or straight with GPUDirect Storage.")
    picture.box(20, 16, 300, 54, "handle.read(memory, …)", colour="#fff8e6", stroke="#e0b95a")
    picture.line(320, 43, 378, 43, SOFT, 1.5, True)
    picture.box(380, 16, 360, 54, "plan", "what is cached, how many threads, which pieces")
    picture.text(20, 100, "Without GPUDirect Storage (gds-compat)", 14, bold=True)
    picture.box(20, 114, 150, 70, "page cache", "bytes that are cached", "#f5f7fa")
    picture.box(20, 204, 150, 70, "disk", "bytes that are not", "#f5f7fa")
    picture.box(300, 149, 170, 90, "pinned slabs", "threads read one piece while another one is copied", "#e7f3ec", "#8fbc9f")
    picture.box(590, 149, 150, 90, "GPU memory", "where the caller wants it")
    picture.line(170, 149, 298, 180, SOFT, 1.5, True)
    picture.text(236, 148, "pread", 12, SOFT, "middle")
    picture.line(170, 239, 298, 210, SOFT, 1.5, True)
    picture.text(236, 250, "O_DIRECT", 12, SOFT, "middle")
    picture.line(470, 194, 588, 194, SOFT, 1.5, True)
    picture.text(529, 184, "copy engine", 12, SOFT, "middle")
    picture.text(529, 212, "or one kernel", 12, SOFT, "middle")
    picture.text(20, 316, "With GPUDirect Storage (gds-libcufile)", 14, bold=True)
    picture.box(20, 330, 150, 56, "disk or network", "", "#f5f7fa")
    picture.box(590, 330, 150, 56, "GPU memory")
    picture.line(170, 358, 588, 358, SOFT, 1.5, True)
    picture.text(380, 350, "DMA by nvidia-fs or p2pdma", 12, SOFT, "middle")
    picture.height = picture.paragraph(20, 416, "Into host memory gds-compat reads straight into the caller's memory. file.ioPath() and driver.bytesByPath() tell which way the bytes went. "
                                       "No machine of the project has had nvidia-fs or p2pdma yet: the lower way is NVIDIA's library, tested in its compatibility mode.",
                                       12, SOFT, WIDTH - 40) + 2
    return picture


def topology():
    picture = Picture("topology.svg", "Where a drive and a GPU meet", "Classes of distance between a GPU and a drive: one switch, one root complex, two sockets.")
    for left, title, note in ((20, "PIX: one switch", "best: DMA stays below the switch"), (270, "PHB, NODE: one socket", "passes the root complex"), (520, "SYS: two sockets", "crosses the link between sockets")):
        picture.rect(left, 20, 220, 250, "#fbfcfd", 8, LINE)
        picture.text(left + 110, 44, title, 14, anchor="middle", bold=True)
        picture.text(left + 110, 258, note, 12, SOFT, "middle")
    picture.box(75, 60, 110, 36, "processor", colour="#f5f7fa")
    picture.line(130, 96, 130, 124, SOFT, 1.5)
    picture.box(75, 124, 110, 36, "PCIe switch", colour="#e7f3ec", stroke="#8fbc9f")
    picture.line(105, 160, 85, 190, OURS, 3)
    picture.line(155, 160, 175, 190, OURS, 3)
    picture.box(35, 190, 90, 40, "drive", colour="#fff8e6", stroke="#e0b95a")
    picture.box(135, 190, 90, 40, "GPU")
    picture.box(325, 90, 110, 44, "processor", colour="#e7f3ec", stroke="#8fbc9f")
    picture.line(350, 134, 335, 190, OURS, 3)
    picture.line(410, 134, 425, 190, OURS, 3)
    picture.box(285, 190, 90, 40, "drive", colour="#fff8e6", stroke="#e0b95a")
    picture.box(385, 190, 90, 40, "GPU")
    picture.box(535, 90, 90, 44, "socket 0", colour="#f5f7fa")
    picture.box(635, 90, 90, 44, "socket 1", colour="#f5f7fa")
    picture.line(625, 112, 635, 112, OURS, 3)
    picture.line(580, 134, 580, 190, OURS, 3)
    picture.line(680, 134, 680, 190, OURS, 3)
    picture.box(535, 190, 90, 40, "drive", colour="#fff8e6", stroke="#e0b95a")
    picture.box(635, 190, 90, 40, "GPU")
    picture.height = picture.paragraph(20, 296, "gds check prints the distance of each GPU and drive, by the names of nvidia-smi. It matters for GPUDirect Storage; without it, bytes pass through host memory anyway.",
                                       12, SOFT, WIDTH - 40) + 2
    return picture


def main():
    wrong = []
    for picture in [draw() for draw in (load, process, gpus, performance, parallel, fragments, datasets, registration, architecture, read, topology)] + patterns():
        file = FOLDER / picture.name
        if "--check" in sys.argv:
            if not file.exists() or file.read_text() != picture.svg():
                wrong.append(file.name)
        else:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(picture.svg())
    if wrong:
        sys.exit("docs/images: not what dev/pictures.py draws: " + ", ".join(wrong))


main()
