package io.gds4j.tools.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics2D;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.LongSummaryStatistics;

/** Draws a panel: title, axes with labels, lines, legend. */
final class PanelDrawing {
    /** A palette that people with colour vision deficiencies can distinguish. */
    static final List<Color> COLOURS = List.of(
            new Color(0x0072B2), new Color(0xD55E00), new Color(0x009E73), new Color(0xCC79A7),
            new Color(0xE69F00), new Color(0x56B4E9), new Color(0x000000));

    private static final Color GRID = new Color(0xDDDDDD);
    private static final Color FRAME = new Color(0x888888);
    private static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 15);
    private static final Font LABEL = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    private static final float[] DASHES = {6, 5};
    private static final int TITLE_BASELINE = 22;
    private static final int UNIT_BASELINE = 44;
    private static final int PLOT_TOP = 54;
    private static final int PLOT_HEIGHT = 300;
    private static final int PLOT_LEFT = 80;
    private static final int PLOT_RIGHT = LineChart.WIDTH - 40;
    private static final int TICK_BASELINE = PLOT_TOP + PLOT_HEIGHT + 18;
    private static final int AXIS_BASELINE = TICK_BASELINE + 20;
    private static final int LEGEND_TOP = AXIS_BASELINE + 14;
    private static final int LEGEND_ROW = 20;
    private static final int LEGEND_BASELINE = 14;
    private static final int LEGEND_LINE = 36;
    private static final int LEGEND_TEXT = PLOT_LEFT + LEGEND_LINE + 10;
    private static final int BOTTOM = 16;
    private static final int GAP = 8;
    private static final double MARKER = 6;

    private final LineChart.Panel panel;
    private final Axis sizes;
    private final Axis values;

    PanelDrawing(LineChart.Panel panel) {
        this.panel = panel;
        LongSummaryStatistics size = panel.lines().stream().flatMap(line -> line.points().stream())
                .mapToLong(LineChart.Point::ioSize).summaryStatistics();
        DoubleSummaryStatistics value = panel.lines().stream().flatMap(line -> line.points().stream())
                .mapToDouble(LineChart.Point::value).summaryStatistics();
        this.sizes = Axis.ofSizes(size.getMin(), size.getMax());
        this.values = panel.logarithmic()
                ? Axis.logarithmic(value.getMin(), value.getMax())
                : Axis.linear(value.getMax());
    }

    /** Height in points. */
    int height() {
        return LEGEND_TOP + panel.lines().size() * LEGEND_ROW + BOTTOM;
    }

    void draw(Graphics2D surface, int top) {
        Graphics2D part = (Graphics2D) surface.create();
        try {
            part.translate(0, top);
            LineChart.centred(part, panel.title(), TITLE, TITLE_BASELINE);
            part.setFont(LABEL);
            part.drawString(panel.unit(), PLOT_LEFT, UNIT_BASELINE);
            drawValues(part);
            drawSizes(part);
            part.setColor(FRAME);
            part.setStroke(new BasicStroke(1));
            part.drawRect(PLOT_LEFT, PLOT_TOP, PLOT_RIGHT - PLOT_LEFT, PLOT_HEIGHT);
            panel.lines().forEach(line -> drawLine(part, line));
            drawLegend(part);
        } finally {
            part.dispose();
        }
    }

    private void drawValues(Graphics2D part) {
        FontMetrics metrics = part.getFontMetrics();
        double free = Double.MAX_VALUE;
        for (Axis.Tick tick : values.ticks()) {
            double y = y(tick.position());
            grid(part, new Line2D.Double(PLOT_LEFT, y, PLOT_RIGHT, y));
            if (y <= free) {
                part.setColor(Color.BLACK);
                part.drawString(
                        tick.label(), PLOT_LEFT - GAP - metrics.stringWidth(tick.label()),
                        (int) Math.round(y) + metrics.getAscent() / 2 - 1);
                free = y - metrics.getHeight();
            }
        }
    }

    private void drawSizes(Graphics2D part) {
        FontMetrics metrics = part.getFontMetrics();
        double free = 0;
        for (Axis.Tick tick : sizes.ticks()) {
            double x = x(tick.position());
            grid(part, new Line2D.Double(x, PLOT_TOP, x, PLOT_TOP + PLOT_HEIGHT));
            double left = x - metrics.stringWidth(tick.label()) / 2.0;
            if (left >= free) {
                part.setColor(Color.BLACK);
                part.drawString(tick.label(), (int) Math.round(left), TICK_BASELINE);
                free = x + metrics.stringWidth(tick.label()) / 2.0 + GAP;
            }
        }
        LineChart.centred(part, "request size", LABEL, AXIS_BASELINE);
    }

    private static void grid(Graphics2D part, Line2D line) {
        part.setColor(GRID);
        part.setStroke(new BasicStroke(1));
        part.draw(line);
    }

    private void drawLine(Graphics2D part, LineChart.Line line) {
        pen(part, line);
        Path2D path = new Path2D.Double();
        for (LineChart.Point point : line.points()) {
            double x = x(sizes.position(point.ioSize()));
            double y = y(values.position(point.value()));
            if (path.getCurrentPoint() == null) {
                path.moveTo(x, y);
            } else {
                path.lineTo(x, y);
            }
        }
        part.draw(path);
        line.points().forEach(
                point -> marker(part, x(sizes.position(point.ioSize())), y(values.position(point.value()))));
    }

    private void drawLegend(Graphics2D part) {
        for (int i = 0; i < panel.lines().size(); i++) {
            LineChart.Line line = panel.lines().get(i);
            int baseline = LEGEND_TOP + i * LEGEND_ROW + LEGEND_BASELINE;
            double y = baseline - LABEL.getSize() / 3.0;
            pen(part, line);
            part.draw(new Line2D.Double(PLOT_LEFT, y, PLOT_LEFT + LEGEND_LINE, y));
            marker(part, PLOT_LEFT + LEGEND_LINE / 2.0, y);
            part.setColor(Color.BLACK);
            part.setFont(LineChart.fitted(part, line.label(), LABEL, LineChart.WIDTH - LineChart.MARGIN - LEGEND_TEXT));
            part.drawString(line.label(), LEGEND_TEXT, baseline);
        }
    }

    private static void pen(Graphics2D part, LineChart.Line line) {
        part.setColor(COLOURS.get(line.colour() % COLOURS.size()));
        part.setStroke(line.dashed()
                ? new BasicStroke(2, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1, DASHES, 0)
                : new BasicStroke(2));
    }

    private static void marker(Graphics2D part, double x, double y) {
        part.fill(new Ellipse2D.Double(x - MARKER / 2, y - MARKER / 2, MARKER, MARKER));
    }

    private static double x(double position) {
        return PLOT_LEFT + position * (PLOT_RIGHT - PLOT_LEFT);
    }

    private static double y(double position) {
        return PLOT_TOP + (1 - position) * PLOT_HEIGHT;
    }
}
