package io.gds4j.tools.plot;

import java.awt.Dimension;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.w3c.dom.Document;

/** Renders drawings. Other classes reach java.desktop only through this class. */
final class ChartSurface {
    private static final String SVG = "http://www.w3.org/2000/svg";
    private static final int PNG_SCALE = 2;

    private ChartSurface() {
    }

    /** Returns the content of an SVG or PNG file. */
    static byte[] drawn(LineChart chart, boolean svg) throws IOException {
        return svg ? svg(chart) : png(chart);
    }

    private static byte[] png(LineChart chart) throws IOException {
        BufferedImage image = new BufferedImage(
                chart.width() * PNG_SCALE, chart.height() * PNG_SCALE, BufferedImage.TYPE_INT_RGB);
        Graphics2D surface = image.createGraphics();
        surface.scale(PNG_SCALE, PNG_SCALE);
        chart.draw(surface);
        surface.dispose();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ImageIO.setUseCache(false);
        ImageIO.write(image, "png", bytes);
        return bytes.toByteArray();
    }

    private static byte[] svg(LineChart chart) throws IOException {
        Document document;
        try {
            document = DocumentBuilderFactory.newNSInstance()
                    .newDocumentBuilder()
                    .getDOMImplementation()
                    .createDocument(SVG, "svg", null);
        } catch (ParserConfigurationException e) {
            throw new IllegalStateException("the JDK's own XML parser is missing", e);
        }
        SVGGeneratorContext context = SVGGeneratorContext.createDefault(document);
        context.setPrecision(2);
        SVGGraphics2D surface = new SVGGraphics2D(context, false);
        surface.setSVGCanvasSize(new Dimension(chart.width(), chart.height()));
        chart.draw(surface);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (Writer writer = new OutputStreamWriter(bytes, StandardCharsets.UTF_8)) {
            surface.stream(writer, true);
        }
        return bytes.toByteArray();
    }
}
