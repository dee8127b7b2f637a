package io.gds4j.tools.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.LongSummaryStatistics;

/**
 * A chart of line panels by request size, one below the other, under a common title. It draws text as text, so an SVG can be
 * searched and read aloud; chart libraries under a permissive licence draw outlines.
 */
public final class LineChart {
    private static final int WIDTH = 960;
    private static final int MARGIN = 10;
    /** Limits of values, in the unit of the axis. They keep the number of ticks small. */
    private static final double MIN = 1e-12;
    private static final double MAX = 1e18;
    private static final int TITLE = 40;
    private static final int TITLE_SIZE = 18;
    private static final int TITLE_BASELINE = 28;

    /**
     * A point of a line.
     *
     * @param ioSize request size, bytes, at least 1
     * @param value a value that the chart {@link #shows}
     */
    public record Point(long ioSize, double value) {
    }

    /**
     * A line.
     *
     * @param label label in the legend
     * @param colour number of its colour; lines that belong together share one
     * @param dashed whether it is dashed
     * @param points points, smallest request size first
     */
    public record Line(String label, int colour, boolean dashed, List<Point> points) {
        /** Copies the list. */
        public Line {
            points = List.copyOf(points);
        }
    }

    /**
     * A panel.
     *
     * @param title title above the panel
     * @param unit unit of the values
     * @param logarithmic whether the axis of the values is logarithmic; a linear one begins at 0
     * @param lines lines, in the order of the legend, with at least one point in all
     */
    public record Panel(String title, String unit, boolean logarithmic, List<Line> lines) {
        /** Copies the list. */
        public Panel {
            lines = List.copyOf(lines);
        }
    }

    private final String title;
    private final List<PanelDrawing> panels;

    /**
     * Creates a chart of these panels.
     *
     * @param title title above all panels, empty for none
     */
    public LineChart(String title, List<Panel> panels) {
        this.title = title;
        this.panels = panels.stream().map(PanelDrawing::new).toList();
    }

    /** Returns whether a chart can show a value. */
    public static boolean shows(double value) {
        return value >= MIN && value <= MAX;
    }

    /** Width in points. */
    int width() {
        return WIDTH;
    }

    /** Height in points. */
    int height() {
        return titleHeight() + panels.stream().mapToInt(PanelDrawing::height).sum();
    }

    private int titleHeight() {
        return title.isEmpty() ? 0 : TITLE;
    }

    /** Draws on the surface. */
    void draw(Graphics2D surface) {
        surface.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        surface.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        surface.setColor(Color.WHITE);
        surface.fillRect(0, 0, WIDTH, height());
        if (!title.isEmpty()) {
            centred(surface, title, new Font(Font.SANS_SERIF, Font.BOLD, TITLE_SIZE), TITLE_BASELINE);
        }
        int top = titleHeight();
        for (PanelDrawing panel : panels) {
            panel.draw(surface, top);
            top += panel.height();
        }
    }

    /** Draws a text in the middle of the chart. */
    private static void centred(Graphics2D surface, String text, Font font, int baseline) {
        surface.setColor(Color.BLACK);
        surface.setFont(fitted(surface, text, font, WIDTH - 2 * MARGIN));
        int width = surface.getFontMetrics().stringWidth(text);
        surface.drawString(text, Math.max(MARGIN, (WIDTH - width) / 2), baseline);
    }

    /** Returns the font, made smaller if the text would be wider than {@code most}. */
    private static Font fitted(Graphics2D surface, String text, Font font, int most) {
        int width = surface.getFontMetrics(font).stringWidth(text);
        return width <= most ? font : font.deriveFont(font.getSize2D() * most / width);
    }

    /** Draws a panel: title, axes with labels, lines, legend. */
    private static final class PanelDrawing {
        /** A palette that people with colour vision deficiencies can distinguish. */
        static final List<Color> COLOURS = List.of(
                new Color(0x0072B2), new Color(0xD55E00), new Color(0x009E73), new Color(0xCC79A7),
                new Color(0xE69F00), new Color(0x56B4E9), new Color(0x000000));

        private static final Color GRID = new Color(0xDDDDDD);
        private static final Color FRAME = new Color(0x888888);
        private static final Font PANEL_TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 15);
        private static final Font LABEL = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
        private static final float[] DASHES = {6, 5};
        private static final int PANEL_TITLE_BASELINE = 22;
        private static final int UNIT_BASELINE = 44;
        private static final int PLOT_TOP = 54;
        private static final int PLOT_HEIGHT = 300;
        private static final int PLOT_LEFT = 80;
        private static final int PLOT_RIGHT = WIDTH - 40;
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

        private final Panel panel;
        private final Axis sizes;
        private final Axis values;

        PanelDrawing(Panel panel) {
            this.panel = panel;
            LongSummaryStatistics size = panel.lines().stream().flatMap(line -> line.points().stream())
                    .mapToLong(Point::ioSize).summaryStatistics();
            DoubleSummaryStatistics value = panel.lines().stream().flatMap(line -> line.points().stream())
                    .mapToDouble(Point::value).summaryStatistics();
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
                centred(part, panel.title(), PANEL_TITLE, PANEL_TITLE_BASELINE);
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
            centred(part, "request size", LABEL, AXIS_BASELINE);
        }

        private static void grid(Graphics2D part, Line2D line) {
            part.setColor(GRID);
            part.setStroke(new BasicStroke(1));
            part.draw(line);
        }

        private void drawLine(Graphics2D part, Line line) {
            pen(part, line);
            Path2D path = new Path2D.Double();
            for (Point point : line.points()) {
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
                Line line = panel.lines().get(i);
                int baseline = LEGEND_TOP + i * LEGEND_ROW + LEGEND_BASELINE;
                double y = baseline - LABEL.getSize() / 3.0;
                pen(part, line);
                part.draw(new Line2D.Double(PLOT_LEFT, y, PLOT_LEFT + LEGEND_LINE, y));
                marker(part, PLOT_LEFT + LEGEND_LINE / 2.0, y);
                part.setColor(Color.BLACK);
                part.setFont(fitted(part, line.label(), LABEL, WIDTH - MARGIN - LEGEND_TEXT));
                part.drawString(line.label(), LEGEND_TEXT, baseline);
            }
        }

        private static void pen(Graphics2D part, Line line) {
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
}
