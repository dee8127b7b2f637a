package io.gds4j.tools.report;

import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Draws a time line: for each file and GPU a strip, whose height tells how many threads or copies were at work. */
final class TimelineHtml {
    private static final int HEIGHT = 40;
    /** Durations of the bars of a spread: powers of two from 1 microsecond to 16 seconds. */
    private static final int SPREAD_BARS = 24;
    private static final long MICRO = 1000;

    private final Timeline timeline;
    private final Html html;

    TimelineHtml(Timeline timeline, Html html) {
        this.timeline = timeline;
        this.html = html;
    }

    void lanes() {
        if (timeline.isEmpty()) {
            html.element("p", "Nothing was recorded: no byte went through gds4j.");
            return;
        }
        List<Timeline.Lane> files = timeline.files();
        html.raw("<p class=legend>");
        for (Timeline.Kind kind : timeline.spread().keySet()) {
            html.raw("<span><i class=" + colour(kind) + "></i>").text(kind.word()).raw("</span>");
        }
        html.raw("</p>");
        lanes(files, "Files", "The height is the number of threads at work on a file");
        lanes(timeline.gpus(), "GPUs",
                "The height is the number of copies that no thread has seen end, and of threads that wait");
        html.raw("<div class=axis><span>0</span><span>").text(time(timeline.seconds() / 2)).raw("</span><span>")
                .text(time(timeline.seconds())).raw("</span></div>");
        html.raw("<p>").text(limit()).raw("</p>");
    }

    private void lanes(Collection<Timeline.Lane> lanes, String title, String note) {
        if (lanes.isEmpty()) {
            return;
        }
        double most = lanes.stream().mapToDouble(TimelineHtml::highest).max().orElse(1);
        html.element("h3", title);
        html.raw("<p class=note>").text(String.format(Locale.ROOT, "%s; at most %.1f.", note, most)).raw("</p>");
        for (Timeline.Lane lane : lanes) {
            String name = lane.name();
            html.raw("<div class=lane><div class=label title=\"" + Html.name(name) + "\"><bdi>")
                    .raw(Html.name(name.substring(name.lastIndexOf('/') + 1))).raw("</bdi><small>")
                    .text(Units.bytes(lane.bytes())
                            + (lane.bytes() > 0 ? ", " + Units.rate(lane.bytesPerSecond()) : ""))
                    .raw("</small></div>");
            strip(lane, most);
            html.raw("</div>");
        }
    }

    private static double highest(Timeline.Lane lane) {
        double most = 0;
        for (int bin = 0; bin < Timeline.BINS; bin++) {
            double sum = 0;
            for (double[] values : lane.busy().values()) {
                sum += values[bin];
            }
            most = Math.max(most, sum);
        }
        return most;
    }

    private void strip(Timeline.Lane lane, double most) {
        html.raw("<svg viewBox=\"0 0 %s %s\" preserveAspectRatio=none role=img aria-label=\"%s\">".formatted(
                Timeline.BINS, HEIGHT, Html.name("time line of " + lane.name())));
        double[] below = new double[Timeline.BINS];
        for (Map.Entry<Timeline.Kind, double[]> kind : lane.busy().entrySet()) {
            StringBuilder path = new StringBuilder();
            double[] values = kind.getValue();
            for (int bin = 0; bin < Timeline.BINS; bin++) {
                if (values[bin] > 0) {
                    double bottom = HEIGHT - below[bin] / most * HEIGHT;
                    // Less than half a pixel would not be seen.
                    double height = Math.max(0.5, values[bin] / most * HEIGHT);
                    path.append(String.format(Locale.ROOT, "M%d %.1fv%.1fh1v%.1fz", bin, bottom, -height, height));
                    below[bin] += values[bin];
                }
            }
            html.raw("<path class=" + colour(kind.getKey()) + " d=\"" + path + "\"/>");
        }
        html.raw("</svg>");
    }

    /** Returns what took the time of the threads. */
    private String limit() {
        double moved = timeline.seconds(Timeline.Kind.READ) + timeline.seconds(Timeline.Kind.WRITE);
        double waited = timeline.seconds(Timeline.Kind.WAIT);
        double share = moved + waited <= 0 ? 0 : moved / (moved + waited);
        String threads = String.format(
                Locale.ROOT, "All threads together spent %s with files, and %s waiting for copies or staging memory. ",
                time(moved), time(waited));
        if (share > 0.8) {
            return threads + "Storage, the page cache or the threads that read are the limit.";
        }
        return threads + (share < 0.5
                ? "Copies to the GPU are the limit."
                : "Storage and copies to the GPU take about as long as each other.");
    }

    /** Adds the spread of the durations of each kind. */
    void spread() {
        if (timeline.spread().isEmpty()) {
            html.element("p", "Nothing was recorded.");
            return;
        }
        html.raw(
                "<div class=scroll><table><tr><th>piece<th class=n>count<th class=n>median<th class=n>90 %<th class=n>99 %"
                        + "<th class=n>longest<th>from 1 µs to 16 s</tr>");
        timeline.spread().forEach((kind, durations) -> {
            html.raw("<tr><td>").text(kind.word()).raw("<td class=n>" + durations.getTotalCount());
            for (double percentile : new double[]{50, 90, 99, 100}) {
                html.raw("<td class=n>").text(time(durations.getValueAtPercentile(percentile) / 1e9));
            }
            html.raw("<td>");
            bars(kind, durations);
            html.raw("</tr>");
        });
        html.raw("</table></div>");
    }

    private void bars(Timeline.Kind kind, Histogram durations) {
        long[] counts = new long[SPREAD_BARS];
        long most = 1;
        for (int i = 0; i < SPREAD_BARS; i++) {
            long from = i == 0 ? 0 : MICRO << i;
            long to = i == SPREAD_BARS - 1 ? durations.getHighestTrackableValue() : (MICRO << i + 1) - 1;
            counts[i] = durations.getCountBetweenValues(from, to);
            most = Math.max(most, counts[i]);
        }
        html.raw("<svg class=bars viewBox=\"0 0 %s 24\" preserveAspectRatio=none role=img aria-label=\"spread\">"
                .formatted(SPREAD_BARS));
        StringBuilder path = new StringBuilder();
        for (int i = 0; i < SPREAD_BARS; i++) {
            if (counts[i] > 0) {
                double height = Math.max(1, 24.0 * counts[i] / most);
                path.append(String.format(Locale.ROOT, "M%d 24v%.1fh.9v%.1fz", i, -height, height));
            }
        }
        html.raw("<path class=" + colour(kind) + " d=\"" + path + "\"/></svg>");
    }

    private static String colour(Timeline.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT);
    }

    private static String time(double seconds) {
        if (seconds >= 1) {
            return Units.seconds(seconds);
        }
        return seconds >= 1e-3
                ? String.format(Locale.ROOT, "%.1f ms", seconds * 1e3)
                : String.format(Locale.ROOT, "%.1f µs", seconds * 1e6);
    }

    /** Adds lines as a command prints them: rows as a list of terms, other lines as they are. */
    static void lines(List<String> lines, Html html) {
        boolean list = false;
        boolean plain = false;
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            boolean row = Text.isRow(line);
            boolean heading = !line.isEmpty() && line.charAt(0) != ' ' && i + 1 < lines.size()
                    && lines.get(i + 1).startsWith(" ");
            if (plain && (row || heading || line.isEmpty())) {
                html.raw("</pre>");
                plain = false;
            }
            if (list && !row) {
                html.raw("</dl>");
                list = false;
            }
            if (row) {
                html.raw(list ? "" : "<dl>");
                list = true;
                html.raw("<dt>").text(Text.label(line)).raw("<dd>").text(Text.value(line));
            } else if (heading) {
                html.element("h3", line);
            } else if (!line.isEmpty()) {
                html.raw(plain ? "" : "<pre>").text(line).raw("\n");
                plain = true;
            }
        }
        html.raw(list ? "</dl>" : "").raw(plain ? "</pre>" : "");
    }
}
