package io.gds4j.tools.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.gds4j.diagnosis.Advice;
import io.gds4j.tools.Chromium;
import io.gds4j.tools.check.CheckRun.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page about a run with many files and two GPUs, whose events are invented. */
class ReportPageTest {
    private static final long MILLI = 1_000_000;
    private static final long PIECE = 16 << 20;

    /** Pixels by which the page is wider than its window. */
    private static final String WIDER =
            "document.documentElement.scrollWidth - document.documentElement.clientWidth";

    @TempDir
    private Path folder;

    @Test
    void textControlsNoTerminal() {
        assertThat(Html.escaped("<a\u001b[31m\u202e>")).isEqualTo("&lt;a\\u001b[31m\\u202e&gt;");
        assertThat(new Html().element("b", "\u0007模型").toString()).isEqualTo("<b>\\u0007模型</b>");
    }

    private static Timeline timeline(int files) {
        Random random = new Random(7);
        Timeline timeline = new Timeline(0, 400 * MILLI);
        for (int file = 0; file < files; file++) {
            long at = file * 300 * MILLI / files;
            for (int piece = 0; piece < 12; piece++) {
                long took = (2 + random.nextInt(6)) * MILLI;
                timeline.file("/models/llama/model-%05d-of-%05d.safetensors".formatted(file + 1, files),
                        Timeline.Kind.READ, at, at + took, PIECE);
                timeline.gpu("gpu:" + piece % 2, Timeline.Kind.COPY, at + took, at + took + MILLI, PIECE);
                timeline.gpu("gpu:" + piece % 2, Timeline.Kind.WAIT, at + took, at + took + MILLI / 2, 0);
                at += took + random.nextInt(2) * MILLI;
            }
        }
        return timeline;
    }

    private static String page(Timeline timeline, Map<String, Long> paths, List<Advice> advice) {
        return new ReportPage(
                "load", List.of("/models/llama"),
                Map.of("bytes", 8L << 30, "seconds", 0.4, "bytesPerSecond", 21_474_836_480L, "ioPaths", paths,
                        "target", "gpu:0,gpu:1", "backend", "compat"),
                List.of("  checkpoint    /models/llama", "  loaded in     0.400 s   21.5 GB/s"), timeline,
                new Machine(List.of("GPUs", "  gpu:0         NVIDIA H100", "PCI", "  gpu:0         nvme0 behind PIX"),
                        advice),
                "0.1").html();
    }

    @Tag("slow")
    @Test
    void filesAndGpusHaveLanesInTheirColours() throws Exception {
        Path page = folder.resolve("page.html");
        Files.writeString(page, page(timeline(8), Map.of("COMPAT_CACHED", 7L << 30, "COMPAT_DIRECT", 1L << 30),
                List.of(new Advice("storage is slower than memory", "keep the files in the page cache"))));
        Path pictures = Files.createDirectories(Path.of("target", "report-pictures"));
        try (Chromium chromium = Chromium.start(folder.resolve("profile"))) {
            for (int width : new int[]{400, 1400}) {
                chromium.open(page, width, width == 400);
                assertThat(chromium.evaluate(WIDER).asInt()).as("pixels at %s", width).isZero();
                assertThat(chromium.evaluate("document.querySelectorAll('.lane').length").asInt()).isEqualTo(10);
                assertThat(chromium.evaluate(
                        "new Set([...document.querySelectorAll('.lane path')].map(p=>getComputedStyle(p).fill)).size")
                        .asInt()).as("reading, copying and waiting").isEqualTo(3);
                Files.write(pictures.resolve("gpus-%s.png".formatted(width)), chromium.picture());
            }
        }
    }

    @Test
    void manyFilesShareALane() {
        String html = page(timeline(60), Map.of("COMPAT_CACHED", 1L), List.of());

        assertThat(html).contains("21 smaller files", "No problem found.");
        assertThat(html.split("class=lane", -1)).hasSize(1 + 40 + 2);
    }

    @Test
    void timesAddUp() {
        Timeline timeline = new Timeline(0, 240);
        timeline.file("a", Timeline.Kind.READ, 0, 120, 5);
        timeline.file("a", Timeline.Kind.READ, 60, 120, 5);
        timeline.gpu("gpu:0", Timeline.Kind.WAIT, 239, 241, 0);

        double[] busy = timeline.files().getFirst().busy().get(Timeline.Kind.READ);
        assertThat(busy[0]).isEqualTo(1);
        assertThat(busy[59]).isEqualTo(1);
        assertThat(busy[60]).isEqualTo(2);
        assertThat(busy[120]).isZero();
        assertThat(timeline.files().getFirst().bytes()).isEqualTo(10);
        assertThat(timeline.gpus().iterator().next().busy().get(Timeline.Kind.WAIT)[239]).isEqualTo(1);
        assertThat(timeline.seconds(Timeline.Kind.READ)).isCloseTo(180e-9, within(1e-12));
    }
}
