package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Json;
import io.gds4j.tools.terminal.Manner;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Units;
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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.jspecify.annotations.Nullable;
import org.w3c.dom.Document;

/** One run of {@code gds plot}. */
public final class PlotRun {
    private static final String SVG = "http://www.w3.org/2000/svg";
    private static final int PNG_SCALE = 2;
    private static final String NO_FONTS =
            "Java finds no fonts to draw text with: apt install fontconfig fonts-dejavu-core";
    private static final String NO_DESKTOP =
            "this Java runtime has no java.desktop module, which draws charts: run gds plot with a full JDK";

    private PlotRun() {
    }

    /**
     * Draws.
     *
     * @param schema of the JSON object
     */
    public static ExitStatus run(PlotArguments arguments, Terminal terminal, Manner manner, String schema)
            throws IOException {
        Path output = arguments.output();
        String name = output.toString().toLowerCase(Locale.ROOT);
        boolean svg = name.endsWith(".svg");
        if (!svg && !name.endsWith(".png")) {
            throw CommandFailure.usage("-o %s: a chart's name ends in .svg or .png".formatted(output));
        }
        List<ResultFile> results = new ArrayList<>();
        for (Path file : arguments.results()) {
            results.add(ResultFile.read(file));
        }
        byte[] chart = drawn(results, arguments.title(), svg);
        Files.write(output, chart);
        if (manner.json()) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            object.put("schema", schema);
            object.put("file", output.toString());
            object.put("format", svg ? "svg" : "png");
            object.put("bytes", chart.length);
            object.put("series", results.stream().map(ResultFile::label).toList());
            object.put("points", results.stream().mapToInt(result -> result.measurements().size()).sum());
            terminal.out().println(Json.line(object));
        } else if (manner.table()) {
            terminal.out().println("%s: %s of %s".formatted(output, svg ? "SVG" : "PNG",
                    Units.count(results.size(), "result")));
        }
        return ExitStatus.DONE;
    }

    private static byte[] drawn(List<ResultFile> results, String title, boolean svg) throws IOException {
        System.setProperty("java.awt.headless", "true");
        try {
            Chart chart = new Chart(results, title);
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

    private static byte[] png(Chart chart) throws IOException {
        BufferedImage image = new BufferedImage(
                Chart.WIDTH * PNG_SCALE, chart.height() * PNG_SCALE, BufferedImage.TYPE_INT_RGB);
        Graphics2D surface = image.createGraphics();
        surface.scale(PNG_SCALE, PNG_SCALE);
        chart.draw(surface);
        surface.dispose();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ImageIO.setUseCache(false);
        ImageIO.write(image, "png", bytes);
        return bytes.toByteArray();
    }

    private static byte[] svg(Chart chart) throws IOException {
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
        surface.setSVGCanvasSize(new Dimension(Chart.WIDTH, chart.height()));
        chart.draw(surface);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (Writer writer = new OutputStreamWriter(bytes, StandardCharsets.UTF_8)) {
            surface.stream(writer, true);
        }
        return bytes.toByteArray();
    }
}
