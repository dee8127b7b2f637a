package io.gds4j.tools.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The chart of {@code gds plot}: throughput above, latency below, both by request size. */
final class Chart implements Drawing {
    static final int WIDTH = 960;
    private static final int PANEL = 460;
    private static final int TITLE = 40;
    private static final int TITLE_SIZE = 18;
    private static final int MARGIN = 10;
    private static final int LEGEND_ROW = 22;
    private static final double KIB = 1024;
    /** A palette that people with colour vision deficiencies can distinguish. */
    static final List<Color> COLOURS = List.of(
            new Color(0x0072B2), new Color(0xD55E00), new Color(0x009E73), new Color(0xCC79A7),
            new Color(0xE69F00), new Color(0x56B4E9), new Color(0x000000));

    private final List<ResultFile> results;
    private final String title;

    Chart(List<ResultFile> results, String title) {
        this.results = results;
        this.title = title;
    }

    private int legend() {
        return results.size() * LEGEND_ROW;
    }

    @Override
    public int width() {
        return WIDTH;
    }

    @Override
    public int height() {
        return 2 * PANEL + 3 * legend() + (title.isEmpty() ? 0 : TITLE);
    }

    @Override
    public void draw(Graphics2D surface) {
        surface.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        surface.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        surface.setColor(Color.WHITE);
        surface.fillRect(0, 0, WIDTH, height());
        int top = 0;
        if (!title.isEmpty()) {
            title(surface, title, TITLE - 12);
            top = TITLE;
        }
        int first = PANEL + legend();
        draw(surface, throughput(), top, first);
        draw(surface, latency(), top + first, PANEL + 2 * legend());
    }

    /** Draws a title in the middle, as large as the width allows. */
    static void title(Graphics2D surface, String title, int baseline) {
        Font font = new Font(Font.SANS_SERIF, Font.BOLD, TITLE_SIZE);
        int width = surface.getFontMetrics(font).stringWidth(title);
        int most = WIDTH - 2 * MARGIN;
        if (width > most) {
            font = font.deriveFont((float) TITLE_SIZE * most / width);
            width = surface.getFontMetrics(font).stringWidth(title);
        }
        surface.setColor(Color.BLACK);
        surface.setFont(font);
        surface.drawString(title, Math.max(0, (WIDTH - width) / 2), baseline);
    }

    static void draw(Graphics2D surface, XYChart chart, int top, int height) {
        Graphics2D part = (Graphics2D) surface.create();
        try {
            part.translate(0, top);
            chart.paint(part, WIDTH, height);
        } finally {
            part.dispose();
        }
    }

    private XYChart throughput() {
        XYChart chart = panel("Throughput", "GB/s", PANEL + legend());
        chart.getStyler().setYAxisMin(0.0);
        for (int i = 0; i < results.size(); i++) {
            line(chart, results.get(i), results.get(i).label(), i, false, point -> point.bytesPerSecond() / 1e9);
        }
        return chart;
    }

    private XYChart latency() {
        XYChart chart = panel("Latency, median (solid) and 99th percentile (dashed)", "µs", PANEL + 2 * legend());
        chart.getStyler().setYAxisLogarithmic(true);
        for (int i = 0; i < results.size(); i++) {
            ResultFile result = results.get(i);
            line(chart, result, "p50 " + result.label(), i, false, Measurement::p50Micros);
            line(chart, result, "p99 " + result.label(), i, true, Measurement::p99Micros);
        }
        return chart;
    }

    static XYChart panel(String title, String unit, int height) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(height)
                .title(title)
                .xAxisTitle("request size")
                .yAxisTitle(unit)
                .build();
        chart.getStyler()
                .setXAxisTickLabelsFormattingFunction(Chart::powerOfTwo)
                .setYAxisTickLabelsFormattingFunction(Chart::plain)
                .setChartBackgroundColor(Color.WHITE)
                .setLegendPosition(Styler.LegendPosition.OutsideS)
                .setLegendLayout(Styler.LegendLayout.Vertical)
                .setLegendBorderColor(Color.WHITE)
                .setMarkerSize(6);
        return chart;
    }

    private static void line(
            XYChart chart,
            ResultFile result,
            String label,
            int number,
            boolean dashed,
            ToDoubleFunction<Measurement> value) {
        double[] sizes = result.measurements().stream().mapToDouble(point -> log2(point.ioSize())).toArray();
        double[] values = result.measurements().stream().mapToDouble(value).toArray();
        XYSeries series = chart.addSeries(unique(chart, label), sizes, values);
        Color colour = COLOURS.get(number % COLOURS.size());
        series.setLineColor(colour);
        series.setMarkerColor(colour);
        series.setMarker(SeriesMarkers.CIRCLE);
        series.setLineStyle(
                dashed
                        ? new BasicStroke(2, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1, new float[]{6, 5}, 0)
                        : new BasicStroke(2));
    }

    /** Makes a label unique: two files may have the same one. */
    private static String unique(XYChart chart, String label) {
        String name = label;
        for (int i = 2; has(chart, name); i++) {
            name = label + " (" + i + ")";
        }
        return name;
    }

    private static boolean has(XYChart chart, String name) {
        return chart.getSeriesCollection().stream().anyMatch(series -> series.getName().equals(name));
    }

    static double log2(double value) {
        return Math.log(value) / Math.log(2);
    }

    /** Labels the axis, whose values are exponents of two. Ticks at powers of ten would not match request sizes. */
    private static String powerOfTwo(double exponent) {
        return Math.abs(exponent - Math.rint(exponent)) < 1e-6 ? size(Math.pow(2, Math.rint(exponent))) : " ";
    }

    /** Formats a number without an exponent: 10000, 0.05. */
    private static String plain(double value) {
        return BigDecimal.valueOf(value).round(new MathContext(6)).stripTrailingZeros().toPlainString();
    }

    private static String size(double bytes) {
        if (bytes >= KIB * KIB * KIB) {
            return shown(bytes / (KIB * KIB * KIB)) + " GiB";
        }
        if (bytes >= KIB * KIB) {
            return shown(bytes / (KIB * KIB)) + " MiB";
        }
        return bytes >= KIB ? shown(bytes / KIB) + " KiB" : shown(bytes) + " B";
    }

    private static String shown(double value) {
        return String.format(Locale.ROOT, value == Math.rint(value) ? "%.0f" : "%.1f", value);
    }
}
