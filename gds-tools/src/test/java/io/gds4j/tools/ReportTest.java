package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code --report}: the page, for each command that has the option, and in a browser. */
@Tag("slow")
class ReportTest {
    /** A name that is markup, and one that moves the cursor. */
    private static final String HOSTILE = "<img src=x onerror=alert(1)>\u001b[31m'\"&amp;.safetensors";

    /** Pixels by which the page is wider than its window. */
    private static final String WIDER =
            "document.documentElement.scrollWidth - document.documentElement.clientWidth";

    @TempDir
    private Path folder;

    private Path page() {
        return folder.resolve("page.html");
    }

    private Path checkpoint() {
        return TestCheckpoints.odd(folder.resolve("model.safetensors"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "load -t host --verify MODEL",
            "load -t host,host MODEL",
            "convert MODEL OUT",
            "io -d host -i 4K -s 64K --warm-up 0 -f DATA",
            "io -d host -i 4K -s 64K --warm-up 0 --gdsio-format -f DATA",
            "io -d host -I 1 -i 4K -s 64K --warm-up 0 -f WRITTEN",
            "records --record 4K --batch 4 -t host DATA"})
    void everyCommandThatMovesBytesWritesAPage(String line) throws IOException {
        Files.write(folder.resolve("data"), new byte[64 << 10]);
        String words = line.replace("MODEL", checkpoint().toString()).replace("OUT", folder.resolve("out").toString())
                .replace("DATA", folder.resolve("data").toString())
                .replace("WRITTEN", folder.resolve("written").toString());

        GdsRun run = gds((words + " --report " + page()).split(" "));

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.errorLine()).isEqualTo("gds: note: the report is in " + page());
        String html = Files.readString(page());
        assertThat(html).startsWith("<!DOCTYPE html>").endsWith("</html>\n")
                .contains("<h2>Time line</h2>", "<h2>Paths</h2>", "<h2>Spread</h2>", "<h2>Advice</h2>",
                        "<h2>Topology</h2>")
                .contains(line.contains("-I 1") || line.startsWith("convert") ? "class=write" : "class=read")
                .containsPattern("COMPAT_[A-Z]+").containsPattern("<b>[0-9.]+ [MG]B/s</b>")
                .doesNotContain("<script", "http://", "https://", "src=", "href=", "url(", "Nothing was recorded");
        // the drawing names the file that was read or written
        assertThat(html).contains("time line of " + folder);
        assertThat(gds(words.replace("OUT", "OUT2").split(" ")).status()).as("without a report").isZero();
    }

    @Test
    void hostileNamesAreText() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve(HOSTILE));

        assertThat(gds("load", "-t", "host", "--report", page().toString(), file.toString()).status()).isZero();

        assertThat(Files.readString(page())).doesNotContain("<img", "\u001b")
                .contains("&lt;img src=x onerror=alert(1)&gt;\\u001b[31m&#39;&quot;&amp;amp;.safetensors");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    load -t host --report FOLDER/none/page.html MODEL | 3 | there is no folder
                    load -t host --report FOLDER MODEL                | 3 | is a folder
                    load --list --report FOLDER/page.html MODEL       | 2 | not allowed with --list
                    io --series /dev/null --report FOLDER/page.html   | 2 | not allowed with --series
                    load -t host --report FOLDER/page.html FOLDER/no  | 3 | no such file
                    load -t host --report MODEL MODEL                 | 2 | a page's name ends in .html
                    """)
    void whatCannotBeReportedIsRefusedFirst(String line, int status, String message) {
        GdsRun run =
                gds(line.replace("FOLDER", folder.toString()).replace("MODEL", checkpoint().toString()).split(" "));

        assertThat(run.status()).isEqualTo(status);
        assertThat(run.errorLine()).contains(message);
        assertThat(run.out()).isEmpty();
        assertThat(page()).doesNotExist();
    }

    /** Found by attack: where the page could not be written, there were two objects. */
    @Test
    void aPageThatCannotBeWrittenIsTheOnlyObject() {
        Path tooLong = folder.resolve("p".repeat(300) + ".html");
        GdsRun run = gds("load", "-t", "host", "--json", "--report", tooLong.toString(), checkpoint().toString());
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).contains(tooLong + ": ");
        assertThat(run.out().lines()).singleElement().asString().contains("\"error\":", tooLong.toString());
        GdsRun text = gds("load", "-t", "host", "--report", tooLong.toString(), checkpoint().toString());
        assertThat(text.status()).isEqualTo(4);
        assertThat(text.out()).as("the result is not lost").contains("loaded in");
    }

    @Test
    void linksAndEarlierPagesAreReplaced() throws IOException {
        Path model = checkpoint();
        byte[] before = Files.readAllBytes(model);
        Files.createSymbolicLink(page(), model);

        assertThat(gds("load", "-t", "host", "--report", page().toString(), model.toString()).status()).isZero();
        assertThat(Files.readAllBytes(model)).isEqualTo(before);
        assertThat(gds("load", "-t", "host", "--report", page().toString(), model.toString()).status()).isZero();
        assertThat(Files.readString(page())).startsWith("<!DOCTYPE html>");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactlyInAnyOrder(page(), model);
        }
    }

    @Test
    void jsonObjectStaysAlone() {
        GdsRun run = gds("load", "-t", "host", "--json", "--report", page().toString(), checkpoint().toString());
        assertThat(run.json().get("schema").asText()).isEqualTo("gds4j.load/1");
    }

    @Test
    void pageFitsNarrowAndWideWindowsInBothColours() throws Exception {
        Path file =
                TestCheckpoints.odd(folder.resolve(HOSTILE.replace(".safetensors", "x".repeat(150) + ".safetensors")));
        assertThat(gds("load", "-t", "host", "--stats", "--digest", "--report", page().toString(), file.toString())
                .status()).isZero();
        Path pictures = Path.of("target", "report-pictures");
        Files.createDirectories(pictures);
        try (Chromium chromium = Chromium.start(folder.resolve("profile"))) {
            for (int width : new int[]{400, 1400}) {
                for (boolean dark : new boolean[]{false, true}) {
                    chromium.open(page(), width, dark);
                    assertThat(chromium.evaluate(WIDER).asInt()).as("pixels at %s", width).isZero();
                    int brightness = chromium.evaluate(
                            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0,3)"
                                    + ".reduce((sum,part)=>sum+ +part,0)")
                            .asInt();
                    assertThat(brightness).as("background, dark: %s", dark).isBetween(dark ? 0 : 600, dark ? 200 : 765);
                    assertThat(chromium.evaluate("document.images.length + document.scripts.length").asInt()).isZero();
                    assertThat(chromium.evaluate("performance.getEntriesByType('resource').length").asInt())
                            .as("what the page loads").isZero();
                    // of every strip something is drawn, and no row of text is lower than a line
                    assertThat(chromium.evaluate("[...document.querySelectorAll('.lane svg')].length").asInt())
                            .isPositive();
                    assertThat(chromium.evaluate(
                            "[...document.querySelectorAll('.lane svg path')].every(p=>p.getBBox().width>0)")
                            .asBoolean())
                            .isTrue();
                    assertThat(chromium.evaluate("document.querySelector('.label').innerText").asText())
                            .startsWith("<img src=x");
                    Files.write(pictures.resolve("report-%s-%s.png".formatted(width, dark ? "dark" : "light")),
                            chromium.picture());
                }
            }
        }
    }
}
