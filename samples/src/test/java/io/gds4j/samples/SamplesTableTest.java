package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.samples.Samples.Named;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The tables of samples/README.md match the registry. */
class SamplesTableTest {
    private static final Path README = Path.of("README.md");
    private static final Pattern TOPIC =
            Pattern.compile("(?m)^\\| (\\d{3})(?: \\*)? \\| .* \\| \\[(\\w+)]\\((\\S+)\\) \\| `(\\S+)` \\|$");
    private static final Pattern SAMPLE = Pattern.compile("\\| `([a-z0-9-]+)` \\|");
    private static final Pattern LINK = Pattern.compile("]\\((\\S+?)\\)");
    private static final int TOPICS = 34;

    private static List<MatchResult> found(Pattern pattern) throws IOException {
        return pattern.matcher(Files.readString(README)).results().toList();
    }

    @Test
    void everyTopicHasARow() throws IOException {
        List<String> rows = found(TOPIC).stream()
                .map(row -> "%d %s %s".formatted(Integer.parseInt(row.group(1)), row.group(2), row.group(4)))
                .toList();
        List<String> registered = new ArrayList<>();
        for (Named sample : Samples.all()) {
            sample.topics().forEach(
                    topic -> registered.add(
                            "%d %s %s".formatted(topic, sample.program().getSimpleName(), sample.name())));
        }
        assertThat(rows).containsExactlyInAnyOrderElementsOf(registered);
        assertThat(Samples.all().stream().flatMap(sample -> sample.topics().stream()))
                .containsExactlyInAnyOrderElementsOf(IntStream.rangeClosed(1, TOPICS).boxed().toList());
    }

    @Test
    void tablesNameAllSamples() throws IOException {
        assertThat(found(SAMPLE).stream().map(row -> row.group(1)).distinct())
                .containsExactlyInAnyOrderElementsOf(Samples.all().stream().map(Named::name).toList());
    }

    @Test
    void linksLeadToFiles() throws IOException {
        assertThat(found(LINK)).isNotEmpty().allSatisfy(link -> assertThat(Path.of(link.group(1))).exists());
    }
}
