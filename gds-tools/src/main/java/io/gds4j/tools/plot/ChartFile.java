package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.OutputFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.function.Supplier;

/** Writes charts to files, without a display. */
public final class ChartFile {
    private static final String NO_FONTS =
            "Java finds no fonts for the text of charts: apt install fontconfig fonts-dejavu-core";
    private static final String NO_DESKTOP =
            "this Java runtime lacks the module java.desktop, which draws charts: run gds with a full JDK";

    private ChartFile() {
    }

    /**
     * Returns whether the name ends in .svg, rather than .png.
     *
     * @throws CommandFailure with status 2 for other names, with status 3 if no file can be there, with status 4 for a Java
     *         runtime that cannot draw
     */
    public static boolean isSvg(Path output) {
        String name = output.toString().toLowerCase(Locale.ROOT);
        if (!name.endsWith(".svg") && !name.endsWith(".png")) {
            throw CommandFailure.usage("-o %s: a chart's name ends in .svg or .png".formatted(output));
        }
        if (ModuleLayer.boot().findModule("java.desktop").isEmpty()) {
            throw CommandFailure.device("NO_FONTS", NO_DESKTOP);
        }
        OutputFile.checkPlace(output, "chart");
        return name.endsWith(".svg");
    }

    /**
     * Draws a chart and writes it to a file.
     *
     * @param drawing called after the JVM is set to run without a display
     * @return size of the file, bytes
     */
    public static long write(Path output, Supplier<LineChart> drawing) throws IOException {
        byte[] chart = drawn(drawing, isSvg(output));
        OutputFile.replace(output, chart);
        return chart.length;
    }

    private static byte[] drawn(Supplier<LineChart> drawing, boolean svg) throws IOException {
        System.setProperty("java.awt.headless", "true");
        try {
            LineChart chart = drawing.get();
            return ChartSurface.drawn(chart, svg);
        } catch (NoClassDefFoundError | UnsatisfiedLinkError | InternalError e) {
            throw unable(e);
        } catch (RuntimeException e) {
            // Without fonts AWT throws exceptions of several types, but all name fontconfig or fonts.
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
}
