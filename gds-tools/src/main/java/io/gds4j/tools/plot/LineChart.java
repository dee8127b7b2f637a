package io.gds4j.tools.plot;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.util.List;

/**
 * A chart of line panels by request size, one below the other, under a common title. It draws text as text, so an SVG can be
 * searched and read aloud; chart libraries under a permissive licence draw outlines.
 */
public final class LineChart {
    static final int WIDTH = 960;
    static final int MARGIN = 10;
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
    static void centred(Graphics2D surface, String text, Font font, int baseline) {
        surface.setColor(Color.BLACK);
        surface.setFont(fitted(surface, text, font, WIDTH - 2 * MARGIN));
        int width = surface.getFontMetrics().stringWidth(text);
        surface.drawString(text, Math.max(MARGIN, (WIDTH - width) / 2), baseline);
    }

    /** Returns the font, made smaller if the text would be wider than {@code most}. */
    static Font fitted(Graphics2D surface, String text, Font font, int most) {
        int width = surface.getFontMetrics(font).stringWidth(text);
        return width <= most ? font : font.deriveFont(font.getSize2D() * most / width);
    }
}
