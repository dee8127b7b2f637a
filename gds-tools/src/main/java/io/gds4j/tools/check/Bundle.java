package io.gds4j.tools.check;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.text.InertText;
import io.gds4j.tools.terminal.BuildInfo;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.OutputFile;
import io.gds4j.tools.terminal.Text;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** The file that goes with a report of a problem. It has no environment but cuFile's variables, and no user of a URL. */
final class Bundle {
    private static final int LAST_LINES = 200;

    private final Path file;

    Bundle(Path file) {
        OutputFile.checkPlace(file, "bundle");
        this.file = file;
    }

    /** Lists what the file will hold, then writes it. */
    void write(CheckReport report, CheckVerdict verdict, Output output) {
        Map<String, String> entries = new LinkedHashMap<>();
        BuildInfo build = BuildInfo.read();
        entries.put("versions.txt", "gds4j %s (commit %s)\nJDK %s, %s\nkernel %s %s\n".formatted(
                build.version(), build.commit(), System.getProperty("java.runtime.version"),
                System.getProperty("java.vendor"), System.getProperty("os.version"), System.getProperty("os.arch")));
        entries.put("machine-and-configuration.txt", text(CheckText.lines(verdict, report, true)));
        entries.put("last-errors.txt", text(lastErrors(report.config())));
        output.warn("%s will hold, and nothing else:".formatted(file));
        entries.forEach((name, content) -> output.warn("  %s, %s lines".formatted(name, content.lines().count())));
        try {
            OutputFile.replace(file, zip(entries));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        output.warn("written; look at it before you send it: paths of files are in it");
    }

    private static String text(List<String> lines) {
        StringBuilder text = new StringBuilder();
        lines.forEach(line -> text.append(Text.withoutSecrets(InertText.line(line))).append('\n'));
        return text.toString();
    }

    private static List<String> lastErrors(CuFileConfig config) {
        String named = config.get(CuFileKeys.LOGFILE_PATH);
        String folder = config.get(CuFileKeys.LOGGING_DIR);
        if (named.isEmpty() && folder.isEmpty()) {
            return List.of("there is no log: neither logging.dir nor CUFILE_LOGFILE_PATH is set");
        }
        Path log = named.isEmpty() ? Path.of(folder, "cufile.log") : Path.of(named);
        try (FoundFile found = FoundFile.at(log)) {
            if (!found.status().isRegularFile()) {
                return List.of(log + " is not a regular file");
            }
            List<String> errors = Channels.newReader(found.channel(), StandardCharsets.ISO_8859_1)
                    .readAllLines().stream().filter(line -> line.contains("ERROR") || line.contains("WARN")).toList();
            return errors.subList(Math.max(0, errors.size() - LAST_LINES), errors.size());
        } catch (IOException | UncheckedIOException e) {
            return List.of(log + " cannot be read: " + e.getMessage());
        }
    }

    private static byte[] zip(Map<String, String> entries) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            for (Map.Entry<String, String> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry(entry.getKey()));
                zip.write(entry.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toByteArray();
    }
}
