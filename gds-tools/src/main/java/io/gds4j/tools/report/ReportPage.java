package io.gds4j.tools.report;

import io.gds4j.diagnosis.Advice;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.check.CheckRun.Machine;
import io.gds4j.tools.terminal.Units;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes the page: one file without scripts, which loads nothing.
 *
 * @param command name of the command, such as {@code load}
 * @param subjects the files and folders of its command line
 * @param fields fields of its JSON object
 * @param lines lines of its text
 * @param timeline what happened when
 * @param machine the machine and what would make it faster
 * @param version version of gds4j
 */
record ReportPage(
        String command,
        List<String> subjects,
        Map<String, @Nullable Object> fields,
        List<String> lines,
        Timeline timeline,
        Machine machine,
        String version) {

    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss xxx", Locale.ROOT);

    private static final String STYLE = """
            :root{color-scheme:light dark;--ink:#1f2933;--soft:#52606d;--line:#d9e2ec;--paper:#fff;--card:#f5f7fa;
            --read:#1769aa;--write:#7b4fa8;--copy:#2e7d4f;--wait:#d9822b}
            @media(prefers-color-scheme:dark){:root{--ink:#e4e9ef;--soft:#a3b1c0;--line:#34414f;--paper:#12181f;--card:#1b242e;
            --read:#6cb2f0;--write:#c3a0ea;--copy:#7fd39b;--wait:#f0b36a}}
            *{box-sizing:border-box}
            body{margin:0 auto;padding:16px;max-width:1200px;background:var(--paper);color:var(--ink);
            font:15px/1.45 system-ui,"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
            h1{font-size:1.5em;margin:0}h2{font-size:1.2em;margin:1.6em 0 .4em;border-top:1px solid var(--line);padding-top:.8em}
            h3{font-size:1em;margin:1em 0 .2em}p{margin:.3em 0}
            small,.note{color:var(--soft);font-size:.87em}
            .facts{display:flex;flex-wrap:wrap;gap:12px;margin:12px 0}
            .facts div{background:var(--card);border-radius:8px;padding:8px 14px;flex:1 1 120px}
            .facts b{display:block;font-size:1.35em}
            .legend span,.ways span{display:inline-block;margin-right:14px}
            .legend i,.ways i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}
            i.read,i.direct{background:var(--read)}i.write{background:var(--write)}i.copy{background:var(--copy)}i.wait{background:var(--wait)}
            path.read{fill:var(--read)}path.write{fill:var(--write)}path.copy{fill:var(--copy)}path.wait{fill:var(--wait)}
            .lane{display:grid;grid-template-columns:240px 1fr;gap:10px;align-items:center;padding:3px 0;border-top:1px solid var(--line)}
            .label{min-width:0}.label bdi{display:block;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
            .label small{display:block}
            .lane svg{display:block;width:100%;height:40px;background:var(--card)}
            .axis{display:flex;justify-content:space-between;margin-left:250px;color:var(--soft);font-size:.87em}
            .ways{list-style:none;padding:0}
            .bar{display:flex;height:22px;border-radius:4px;overflow:hidden;background:var(--card);gap:1px}
            .bar i{display:block;min-width:2px}
            .w0{background:#3a8fa3}.w1{background:#9aa63c}.w2{background:#b0603f}.w3{background:#7d74b5}.w4{background:#8a929c}
            .scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
            th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap}
            th{color:var(--soft);font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums}
            svg.bars{width:180px;height:24px;background:var(--card);display:block}
            dl{display:grid;grid-template-columns:minmax(90px,max-content) 1fr;gap:2px 14px;margin:.3em 0}dt{color:var(--soft)}dd{margin:0}
            pre{overflow-x:auto;background:var(--card);padding:8px;border-radius:6px;font-size:.87em;overflow-wrap:normal}
            li{margin:.5em 0}
            @media(max-width:640px){.lane{grid-template-columns:1fr;gap:2px}.axis{margin-left:0}dl{grid-template-columns:1fr}dd{margin:0 0 .4em}}
            @media print{body{max-width:none}.lane,tr,li{break-inside:avoid}}
            """;

    String html() {
        Html html = new Html();
        html.raw("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
                + "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
                + "<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>");
        html.text("gds " + command + " " + String.join(" ", subjects))
                .raw("</title>\n<style>\n" + STYLE + "</style></head>\n<body>\n");
        head(html);
        TimelineHtml drawn = new TimelineHtml(timeline, html);
        html.raw("\n<h2>Time line</h2>");
        drawn.lanes();
        html.raw("\n<h2>Paths</h2>");
        paths(html);
        html.raw("\n<h2>Spread</h2>");
        drawn.spread();
        html.raw("\n<h2>Advice</h2>");
        advice(html);
        html.raw("\n<h2>Result</h2>");
        TimelineHtml.lines(lines, html);
        html.raw("\n<h2>Topology</h2>");
        TimelineHtml.lines(machine.topology(), html);
        html.raw("\n</body></html>\n");
        return html.toString();
    }

    private void head(Html html) {
        html.element("h1", "gds " + command);
        subjects.forEach(subject -> html.raw("<p>").text(subject).raw("</p>"));
        html.raw("<p class=note>").text("%s, gds4j %s".formatted(ZonedDateTime.now().format(DATE), version))
                .raw("</p>");
        html.raw("<div class=facts>");
        if (fields.get("bytesPerSecond") instanceof Number rate) {
            fact(html, Units.rate(rate.doubleValue()), "speed");
        }
        if (fields.get("bytes") instanceof Number bytes) {
            fact(html, Units.bytes(bytes.longValue()), "bytes");
        }
        if (fields.get("seconds") instanceof Number seconds) {
            fact(html, Units.seconds(seconds.doubleValue()), "time");
        }
        if (fields.get("target") instanceof String target) {
            fact(html, target, "target");
        }
        if (fields.get("backend") instanceof String backend) {
            fact(html, backend, "backend");
        }
        html.raw("</div>");
    }

    private static void fact(Html html, String value, String name) {
        html.raw("<div>").element("b", value).element("small", name).raw("</div>");
    }

    private void paths(Html html) {
        if (!(fields.get("ioPaths") instanceof Map<?, ?> paths) || paths.isEmpty()) {
            html.element("p", "No bytes.");
            return;
        }
        double all = paths.values().stream().mapToDouble(bytes -> ((Number) bytes).doubleValue()).sum();
        html.raw("<div class=bar>");
        int number = 0;
        for (Object bytes : paths.values()) {
            html.raw(String.format(Locale.ROOT, "<i class=w%d style=\"width:%.2f%%\"></i>", number++ % 5,
                    100 * ((Number) bytes).doubleValue() / all));
        }
        html.raw("</div><ul class=ways>");
        number = 0;
        for (Map.Entry<?, ?> path : paths.entrySet()) {
            long bytes = ((Number) path.getValue()).longValue();
            html.raw("<li><i class=w" + number++ % 5 + "></i><b>").text(String.valueOf(path.getKey())).raw("</b> ")
                    .text(String.format(Locale.ROOT, "%s, %.1f %%: %s", Units.bytes(bytes), 100 * bytes / all,
                            meaning(String.valueOf(path.getKey()))));
        }
        html.raw("</ul>");
    }

    private static String meaning(String path) {
        return switch (IoPath.valueOf(path)) {
            case NVFS -> "GPUDirect Storage by nvidia-fs";
            case P2PDMA -> "GPUDirect Storage by the kernel's peer-to-peer DMA";
            case LIBCUFILE_POSIX -> "libcufile, through host memory";
            case COMPAT_DIRECT -> "past the page cache, through staging memory or straight into host memory";
            case COMPAT_BUFFERED -> "through the page cache";
            case COMPAT_CACHED -> "from the page cache or memory";
            case USER_SOURCE -> "from a source of the program, such as a server";
        };
    }

    private void advice(Html html) {
        List<Advice> all = machine.advice();
        if (all.isEmpty()) {
            html.element("p", "No problem found.");
            return;
        }
        html.raw("<ul>");
        for (Advice advice : all) {
            html.raw("<li>").element("b", advice.what()).raw("<br>").text(advice.remedy());
        }
        html.raw("</ul>");
    }
}
