package io.gds4j.tools.plot;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.util.List;
import java.util.SortedMap;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A chart of line panels by request size, one below the other, under a common title. */
public final class LineChart implements Drawing {
    private static final int WIDTH = Chart.WIDTH;
    private static final int PANEL = 400;
    private static final int TITLE = 40;
    private static final int LEGEND_ROW = 22;

    /**
     * A line.
     *
     * @param label label in the legend
     * @param values values by request size in bytes
     */
    public record Line(String label, SortedMap<Long, Double> values) {
    }

    /**
     * A panel.
     *
     * @param title title above the panel
     * @param unit unit of the values
     * @param logarithmic whether the axis of the values is logarithmic
     * @param lines lines, in the order of the legend
     */
    public record Panel(String title, String unit, boolean logarithmic, List<Line> lines) {
        /** Copies the list. */
        public Panel {
            lines = List.copyOf(lines);
        }

        private int height() {
            return PANEL + lines.size() * LEGEND_ROW;
        }
    }

    private final String title;
    private final List<Panel> panels;

    /** Creates a chart of these panels. */
    public LineChart(String title, List<Panel> panels) {
        this.title = title;
        this.panels = List.copyOf(panels);
    }

    @Override
    public int width() {
        return WIDTH;
    }

    @Override
    public int height() {
        return TITLE + panels.stream().mapToInt(Panel::height).sum();
    }

    @Override
    public void draw(Graphics2D surface) {
        surface.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        surface.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        surface.setColor(Color.WHITE);
        surface.fillRect(0, 0, WIDTH, height());
        Chart.title(surface, title, TITLE - 12);
        int top = TITLE;
        for (Panel panel : panels) {
            Chart.draw(surface, chart(panel), top, panel.height());
            top += panel.height();
        }
    }

    private static XYChart chart(Panel panel) {
        XYChart chart = Chart.panel(panel.title(), panel.unit(), panel.height());
        chart.getStyler().setYAxisLogarithmic(panel.logarithmic());
        if (!panel.logarithmic()) {
            chart.getStyler().setYAxisMin(0.0);
        }
        for (int i = 0; i < panel.lines().size(); i++) {
            Line line = panel.lines().get(i);
            double[] sizes = line.values().keySet().stream().mapToDouble(Chart::log2).toArray();
            double[] values = line.values().values().stream().mapToDouble(Double::doubleValue).toArray();
            XYSeries series = chart.addSeries(line.label(), sizes, values);
            Color colour = Chart.COLOURS.get(i % Chart.COLOURS.size());
            series.setLineColor(colour);
            series.setMarkerColor(colour);
            series.setMarker(SeriesMarkers.CIRCLE);
            series.setLineStyle(new BasicStroke(2));
        }
        return chart;
    }
}
