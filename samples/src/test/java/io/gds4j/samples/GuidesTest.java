package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The guides in docs are short, and their lists match the code. */
class GuidesTest {
    private static final Path DOCS = Path.of("../docs");
    private static final int LONGEST_GUIDE = 150;
    private static final int LONGEST_LINE = 120;
    private static final Pattern LINK = Pattern.compile("]\\(([^)#]+?)(?:#[^)]*)?\\)");

    private static String text(String guide) throws IOException {
        return Files.readString(DOCS.resolve(guide));
    }

    @ParameterizedTest
    @ValueSource(strings = {"loading.md", "io.md"})
    void guideIsShort(String guide) throws IOException {
        List<String> lines = text(guide).lines().toList();

        assertThat(lines).hasSizeLessThanOrEqualTo(LONGEST_GUIDE);
        assertThat(lines.stream().filter(line -> !line.startsWith("|") && !line.contains("](")))
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(LONGEST_LINE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"../README.md"})
    void linksOfGuideLeadToFiles(String guide) throws IOException {
        Path document = DOCS.resolve(guide);
        List<String> targets = LINK.matcher(text(guide)).results().map(link -> link.group(1)).toList();

        assertThat(targets).isNotEmpty().allSatisfy(target -> {
            if (!target.startsWith("http")) {
                assertThat(document.resolveSibling(target)).exists();
            }
        });
    }
}
