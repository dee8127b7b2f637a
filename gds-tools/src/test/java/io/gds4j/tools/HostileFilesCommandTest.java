package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.tools.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands on files that are made to deceive their reader or to exhaust the machine. */
@Timeout(120)
class HostileFilesCommandTest {
    private static final List<String> ALIKE = List.of(
            "a b", "a\nb", "a\t\r\nb", " a b", "a b ", "a\u00a0b", "\u001b", "\\u001b", "\u202ea", "a\u200b", "a");

    @TempDir
    private Path folder;

    private Path checkpoint(List<String> names) throws IOException {
        StringBuilder header = new StringBuilder("{");
        for (String name : names) {
            String json = name.codePoints().mapToObj(c -> "\\u%04x".formatted(c)).collect(Collectors.joining());
            header.append(header.length() > 1 ? "," : "")
                    .append("\"%s\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}".formatted(json));
        }
        byte[] text = header.append('}').toString().getBytes(StandardCharsets.UTF_8);
        return Files.write(folder.resolve("m.safetensors"),
                ByteBuffer.allocate(8 + text.length).order(ByteOrder.LITTLE_ENDIAN).putLong(text.length).put(text)
                        .array());
    }

    private static void assertInert(String text) {
        assertThat(text.lines().toList()).allSatisfy(line -> assertThat(line.codePoints()).noneMatch(
                c -> Character.isISOControl(c) || Character.getType(c) == Character.FORMAT || c == 0xa0));
    }

    @Test
    void differentNamesLookDifferent() throws IOException {
        String file = checkpoint(ALIKE).toString();
        for (String option : List.of("--list", "--digest")) {
            GdsRun run = gds("load", file, "-t", "host", option);
            assertThat(run.status()).as(run.err()).isZero();
            assertInert(run.out());
            Set<String> shown = new HashSet<>(run.out().lines().map(line -> line.replaceFirst(" +U8 .*", ""))
                    .toList());
            assertThat(shown).contains(option.equals("--list") ? "  a\\nb" : shown.stream()
                    .filter(line -> line.endsWith("  a\\nb")).findFirst().orElse("missing"));
            assertThat(run.out().lines().filter(line -> line.matches(".* U8 .*|[0-9a-f]{64} .*")).distinct())
                    .hasSize(ALIKE.size());
        }
    }

    @Test
    void jsonEscapesWhatIsInvisibleAndKeepsTheNames() throws IOException {
        GdsRun run = gds("load", checkpoint(List.of("a\u007f\u009b\u202e\ufeffé")).toString(), "--list", "--json");
        assertInert(run.out());
        assertThat(run.json().get("tensorList").get(0).get("name").asText()).isEqualTo("a\u007f\u009b\u202e\ufeffé");
    }

    private Path jobs(Path file) throws IOException {
        return Files.writeString(folder.resolve("jobs.gdsio"), """
                [global]
                xfer_type=1
                bs=4K
                size=8K
                [a]
                rw=write
                filename=%s
                """.formatted(file));
    }

    @Test
    void jobFileOverwritesOnlyWhatGdsMade() throws IOException {
        Path precious = Files.write(folder.resolve("precious"), new byte[8192]);
        Path link = Files.createSymbolicLink(folder.resolve("link"), precious);
        Path dangling = Files.createSymbolicLink(folder.resolve("dangling"), folder.resolve("elsewhere"));
        for (Path file : List.of(precious, link, dangling)) {
            GdsRun run = gds("io", jobs(file).toString(), "--warm-up", "0");
            assertThat(run.status()).as(run.err()).isEqualTo(3);
            assertThat(run.errorLine()).contains(file + ": exists, and gds io did not make it; --overwrite");
        }
        assertThat(Files.readAllBytes(precious)).containsOnly(0);
        assertThat(folder.resolve("elsewhere")).doesNotExist();
        assertThat(gds("io", jobs(precious).toString(), "--warm-up", "0", "--overwrite").status()).isZero();
        assertThat(Files.readAllBytes(precious)).doesNotContain(0);
        Path own = folder.resolve("own");
        assertThat(gds("io", jobs(own).toString(), "--warm-up", "0", "--repeat", "2").status()).isZero();
        UserDefinedFileAttributeView view = Files.getFileAttributeView(own, UserDefinedFileAttributeView.class);
        if (view != null && view.list().contains("gds4j.io")) {
            assertThat(gds("io", jobs(own).toString(), "--warm-up", "0").status()).isZero();
        }
        Path named = folder.resolve("named");
        assertThat(gds("io", "-f", named.toString(), "-I", "1", "-s", "8K", "-i", "4K", "-x", "1").status()).isZero();
        assertThat(gds("io", "-f", precious.toString(), "-I", "1", "-s", "8K", "-i", "4K", "-x", "1").status())
                .as("the user names the file").isZero();
    }

    private Path pipe(String name) throws Exception {
        Path pipe = folder.resolve(name);
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        return pipe;
    }

    @Test
    @Timeout(60)
    void pipesHangNoCommand() throws Exception {
        Path model = Files.createDirectory(folder.resolve("model"));
        String file = checkpoint(List.of("model.norm.weight")).toString();
        Files.copy(Path.of(file), model.resolve("model.safetensors"));
        pipe("model/config.json");
        Path indexed = Files.createDirectory(folder.resolve("indexed"));
        pipe("indexed/model.safetensors.index.json");
        String named = pipe("p.npy").toString();
        Files.writeString(folder.resolve("read.gdsio"), "[a]\nrw=read\nxfer_type=1\nbs=4K\nfilename=" + named);
        for (String line : List.of(
                "load PIPE", "load PIPE --list", "load indexed", "load indexed --list",
                "load m.safetensors -t host,host"
                        + " --parallel plan:PIPE",
                "convert PIPE out", "convert indexed out", "records PIPE", "records PIPE --record 8", "io PIPE",
                "io -f x --series PIPE", "io -f PIPE -x 1 -i 4K", "io -f PIPE -x 1 -i 4K -I 1 -s 8K", "io read.gdsio",
                "plot PIPE -o x.svg", "patterns --from PIPE")) {
            GdsRun run = gds(Arrays.stream(line.split(" "))
                    .map(word -> word.contains("PIPE") ? word.replace("PIPE", named)
                            : Files.exists(folder.resolve(word)) ? folder.resolve(word).toString() : word)
                    .toArray(String[]::new));
            assertThat(run.status()).as("%s: %s", line, run.err()).isEqualTo(line.contains("-I 1") ? 4 : 3);
            assertThat(run.err().lines().filter(text -> text.startsWith("gds: "))).as(line).hasSize(1);
        }
        GdsRun run = gds("load", model.toString(), "-t", "host,host", "--parallel", "column");
        assertThat(run.status()).as("no pipe is the configuration: %s", run.err()).isIn(0, 3);
    }

    @Test
    void linksThatLeadOutAreFollowedOnDemandOnly() throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        Path file = checkpoint(List.of("w"));
        Files.createSymbolicLink(model.resolve("model.safetensors"), file);
        for (String line : List.of("load MODEL -t host", "load MODEL --list", "convert MODEL OUT")) {
            String[] words = line.replace("MODEL", model.toString()).replace("OUT", folder.resolve("out").toString())
                    .split(" ");
            GdsRun run = gds(words);
            assertThat(run.status()).as(run.err()).isEqualTo(3);
            assertThat(run.errorLine()).contains(model.resolve("model.safetensors").toString(),
                    "it leads out of the folder, to '" + file.toRealPath(), "--follow-links");
            String[] following = Arrays.copyOf(words, words.length + 1);
            following[words.length] = "--follow-links";
            assertThat(gds(following).status()).as(line).isZero();
        }
        assertThat(gds("load", model.resolve("model.safetensors").toString(), "-t", "host").status())
                .as("the user names the link").isZero();
    }

    @Test
    void chartOfAHostileResultIsXml() throws Exception {
        Path result = Files.writeString(folder.resolve("r.json"), """
                {"schema":"gds4j.io/1","ioType":"\\u001b\\u0001\\ufffe\\ud800","xferType":"<script>","threads":2,
                 "target":"\\u202e","backend":"&x;",
                 "results":[{"ioSize":4096,"bytesPerSecond":1e9,"latencyMicros":{"p50":7.5,"p99":20}}]}""");
        Path chart = folder.resolve("chart.svg");
        GdsRun run = gds("plot", result.toString(), "-o", chart.toString());
        assertThat(run.status()).as(run.err()).isZero();
        DocumentBuilderFactory factory = DocumentBuilderFactory.newDefaultInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        assertThat(factory.newDocumentBuilder().parse(chart.toFile()).getDocumentElement().getTextContent())
                .contains("\\u001b\\u0001\\ufffe\\ud800", "<script>", "\\u202e");
    }

    @Test
    void expressionOverAHostileNameIsStatusThree() throws IOException {
        String file = checkpoint(List.of("x".repeat(4000))).toString();
        GdsRun run = gds("load", file, "--list", "--tensor", "^(\\w|\\.)+weight$", "--json");
        assertThat(run.status()).as(run.err()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains("m.safetensors");
        assertThat(run.json().get("error").get("name").asText()).isEqualTo("SearchLimit");
    }

    @Test
    void tensorsThatNeedMuchMoreThanTheFilesAreAnnounced() throws IOException {
        int size = 1 << 20;
        Files.write(folder.resolve("d.bin"), new byte[size + 100]);
        StringBuilder list = new StringBuilder("{\"schema\": \"gds4j.extents/1\", \"extents\": [");
        for (int i = 0; i < 70; i++) {
            list.append(i == 0 ? "" : ",").append("{\"name\": \"t%d\", \"file\": \"d.bin\", \"offset\": %d,"
                    .formatted(i, i) + " \"bytes\": %d, \"dtype\": \"U8\", \"shape\": [%d]}".formatted(size, size));
        }
        String path = Files.writeString(folder.resolve("many.extents.json"), list.append("]}")).toString();
        JsonNode listed = gds("load", path, "--list", "--json").json();
        assertThat(listed.get("tensors").asInt()).isEqualTo(70);
        GdsRun load = gds("load", path, "-t", "host");
        assertThat(load.status()).as(load.err()).isZero();
        assertThat(load.err()).contains("note: the tensors share bytes and need 70 MiB of memory, 6")
                .contains(" times the 1.000 MiB of the files");
        GdsRun convert = gds("convert", path, folder.resolve("out").toString());
        assertThat(convert.err()).contains("note: the tensors share bytes and need 70 MiB of storage");
    }

    @Test
    void stackTraceControlsNoTerminal() {
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        Terminal terminal = new Terminal(
                new PrintStream(OutputStream.nullOutputStream()), new PrintStream(seen, true, StandardCharsets.UTF_8),
                Map.of(), () -> false, () -> {
                    throw new IllegalStateException("\u001b[31mname");
                });

        assertThat(GdsCommand.run(terminal, "check")).isEqualTo(1);

        assertThat(seen.toString(StandardCharsets.UTF_8))
                .contains("IllegalStateException: \\u001b[31mname\n    at io.gds4j")
                .doesNotContain("\u001b");
    }
}
