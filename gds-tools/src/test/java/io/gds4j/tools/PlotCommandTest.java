package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class PlotCommandTest {
    private static final String RESULT = """
            {"schema":"gds4j.io/1","ioType":"READ","xferType":"GPUD","threads":2,"target":"host","backend":"compat",
             "results":[
              {"ioSize":65536,"bytesPerSecond":9000000000,"latencyMicros":{"avg":8,"p50":7.5,"p99":20,"max":90}},
              {"ioSize":4096,"bytesPerSecond":2000000000,"latencyMicros":{"avg":2,"p50":1.8,"p99":4,"max":50}}]}
            """;

    @TempDir
    private Path folder;

    private Path result(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    @Test
    void pngHasALineForEachResult() throws IOException {
        Path first = result("first.json", RESULT);
        Path second = result("second.json", RESULT.replace("9000000000", "5000000000"));
        Path chart = folder.resolve("chart.png");

        GdsRun run = gds("plot", first.toString(), second.toString(), "-o", chart.toString(), "--json");

        assertThat(run.status()).as(run.err()).isZero();
        JsonNode json = run.json();
        assertThat(json.get("schema").asText()).isEqualTo("gds4j.plot/1");
        assertThat(json.get("series")).hasSize(2);
        assertThat(json.get("points").asInt()).isEqualTo(4);
        assertThat(json.get("bytes").asLong()).isEqualTo(Files.size(chart));
        BufferedImage image = ImageIO.read(chart.toFile());
        assertThat(image.getWidth()).isGreaterThanOrEqualTo(960);
        Set<Integer> colours = new HashSet<>();
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                colours.add(image.getRGB(x, y) & 0xFFFFFF);
            }
        }
        assertThat(colours).as("both lines, on white").contains(0x0072B2, 0xD55E00, 0xFFFFFF);
    }

    @Test
    void svgIsXmlWithALineForEachResult() throws Exception {
        Path file = result("result.json", RESULT);
        Path chart = folder.resolve("chart.svg");

        GdsRun run = gds("plot", file.toString(), "-o", chart.toString(), "--title", "Reads & writes");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).isEqualTo(chart + ": SVG of 1 result\n");
        Document document = xml(chart);
        assertThat(document.getDocumentElement().getTagName()).isEqualTo("svg");
        assertThat(Integer.parseInt(document.getDocumentElement().getAttribute("width"))).isEqualTo(960);
        assertThat(document.getElementsByTagName("path").getLength()).as("throughput, p50, p99").isEqualTo(3);
    }

    @Test
    void longTitleIsTextThatFits() throws Exception {
        Path file = result("result.json", RESULT);
        Path chart = folder.resolve("chart.svg");
        String title = "a title of many words, ".repeat(12).strip();

        assertThat(gds("plot", file.toString(), "-o", chart.toString(), "--title", title).status()).isZero();

        Element text = (Element) xml(chart).getElementsByTagName("text").item(0);
        assertThat(text.getTextContent()).isEqualTo(title);
        double start = Double.parseDouble(text.getAttribute("x"));
        assertThat(start).as("starts inside").isBetween(5.0, 40.0);
    }

    @Test
    void titleAxesAndLegendsAreText() throws Exception {
        Path first = result("first.json", RESULT);
        Path second = result("second.json", RESULT);
        Path chart = folder.resolve("chart.svg");

        gds("plot", first.toString(), "ours=" + second, "-o", chart.toString(), "--title", "Reads & writes");

        assertThat(texts(chart)).contains(
                "Reads & writes", "Throughput", "GB/s", "0", "8", "request size", "4 KiB", "64 KiB", "µs", "2", "20",
                "first.json: READ host, 2 threads, compat", "p50 first.json: READ host, 2 threads, compat",
                "ours", "p99 ours");
        assertThat(Files.readString(chart)).as("text is nowhere an outline").doesNotContain(" Q");
    }

    @Test
    void longLabelsStayInsideTheChart() throws Exception {
        String name = "a name that goes on ".repeat(9) + ".json";
        Path chart = folder.resolve("chart.svg");

        gds("plot", result(name, RESULT).toString(), "-o", chart.toString());

        assertThat(texts(chart)).anyMatch(text -> text.startsWith(name));
        OptionalDouble smallest = Pattern.compile("font-size:([0-9.]+)px").matcher(Files.readString(chart)).results()
                .mapToDouble(size -> Double.parseDouble(size.group(1))).min();
        assertThat(smallest.orElseThrow()).as("smallest font").isLessThan(10);
    }

    private static Document xml(Path chart) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newNSInstance();
        factory.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        return factory.newDocumentBuilder().parse(chart.toFile());
    }

    private static List<String> texts(Path chart) throws Exception {
        NodeList elements = xml(chart).getElementsByTagName("text");
        return IntStream.range(0, elements.getLength()).mapToObj(i -> elements.item(i).getTextContent()).toList();
    }

    @Test
    void outputOfGdsIoIsDrawn() throws IOException {
        Path data = Files.write(folder.resolve("data"), new byte[1 << 18]);
        GdsRun measured = gds(
                "io", "-f", data.toString(), "-d", "host", "-i", "4K:64K:*2", "--warm-up", "0", "--json");
        Path file = result("measured.json", measured.out());

        GdsRun run = gds("plot", file.toString(), "-o", folder.resolve("measured.svg").toString(), "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("points").asInt()).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    not json                              | line 1 is not JSON
                    {"schema":"gds4j.load/1"}             | is not output of gds io --json
                    {"schema":"gds4j.io/1"}               | has no results
                    {"schema":"gds4j.io/1","error":{"message":"no luck"}} | is the output of a failed run: no luck
                    {"schema":"gds4j.io/1","results":[{"ioSize":4096}]}   | without size, throughput or latency
                    {"schema":"gds4j.io/1","results":[{"ioSize":1,"bytesPerSecond":1e999,"latencyMicros":{"p50":1,"p99":1}}]} | no machine
                    """)
    void otherFileIsStatusThree(String text, String expected) throws IOException {
        Path file = result("bad.json", text);
        Path chart = folder.resolve("chart.svg");

        GdsRun run = gds("plot", file.toString(), "-o", chart.toString());

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).startsWith("gds: " + file).contains(expected);
        assertThat(chart).doesNotExist();
    }

    @Test
    void wrongUsageIsStatusTwo() throws IOException {
        Path file = result("result.json", RESULT);

        assertThat(gds("plot", file.toString()).status()).isEqualTo(2);
        GdsRun run = gds("plot", file.toString(), "-o", "chart.pdf");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).contains("ends in .svg or .png");
        assertThat(gds("plot", folder.resolve("missing").toString(), "-o", "c.svg").status()).isEqualTo(3);
    }
}
