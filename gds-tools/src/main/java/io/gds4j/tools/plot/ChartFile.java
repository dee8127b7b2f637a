package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.CommandFailure;
import java.awt.Dimension;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Supplier;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.w3c.dom.Document;

/** A chart as a file, drawn without a screen. */
public final class ChartFile {
    private static final String SVG = "http://www.w3.org/2000/svg";
    private static final int PNG_SCALE = 2;
    private static final String NO_FONTS =
            "Java finds no fonts to draw text with: apt install fontconfig fonts-dejavu-core";
    private static final String NO_DESKTOP =
            "this Java runtime has no java.desktop module, which draws charts: run gds with a full JDK";

    private ChartFile() {
    }

    /**
     * Which of both kinds the name asks for.
     *
     * @throws CommandFailure with status 2 for other names
     */
    public static boolean isSvg(Path output) {
        String name = output.toString().toLowerCase(Locale.ROOT);
        if (!name.endsWith(".svg") && !name.endsWith(".png")) {
            throw CommandFailure.usage("-o %s: a chart's name ends in .svg or .png".formatted(output));
        }
        return name.endsWith(".svg");
    }

    /**
     * Draws and writes it.
     *
     * @param drawing made when fonts are known to be looked for without a screen
     * @return bytes of the file
     */
    public static long write(Path output, Supplier<? extends Drawing> drawing) throws IOException {
        byte[] chart = drawn(drawing, isSvg(output));
        Files.write(output, chart);
        return chart.length;
    }

    private static byte[] drawn(Supplier<? extends Drawing> drawing, boolean svg) throws IOException {
        System.setProperty("java.awt.headless", "true");
        try {
            Drawing chart = drawing.get();
            return svg ? svg(chart) : png(chart);
        } catch (NoClassDefFoundError | UnsatisfiedLinkError | InternalError e) {
            throw unable(e);
        } catch (RuntimeException e) {
            // AWT without fonts fails with exceptions of several types, all of which name fontconfig or fonts.
            throw namesFonts(e) ? unable(e) : e;
        }
    }

    private static CommandFailure unable(Throwable failure) {
        return CommandFailure.device(
                "NO_FONTS",
                namesFonts(failure) || !String.valueOf(failure.getMessage()).contains("java/awt") ? NO_FONTS
                        : NO_DESKTOP);
    }

    private static boolean namesFonts(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String text = cause.toString().toLowerCase(Locale.ROOT);
            if (text.contains("font")) {
                return true;
            }
        }
        return false;
    }

    private static byte[] png(Drawing chart) throws IOException {
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

    private static byte[] svg(Drawing chart) throws IOException {
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
