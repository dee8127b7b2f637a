package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TextTest {
    @Test
    void shortenedTextEndsWithAnEllipsis() {
        assertThat(Text.shortened("abcd", 4)).isEqualTo("abcd");
        assertThat(Text.shortened("abcde", 4)).isEqualTo("abc…");
        assertThat(Text.shortened("ab😀de", 4)).as("surrogate pairs stay whole").isEqualTo("ab…");
    }

    @Test
    void controlCharactersNeverReachTheTerminal() {
        assertThat(Text.oneLine("a\u001b[31mred\u0007")).isEqualTo("a\\u001b[31mred\\u0007");
        assertThat(Text.oneLine("two\r\nlines\tand a tab")).isEqualTo("two\\r\\nlines\\tand a tab");
        assertThat(Text.oneLine("right\u202eleft \ud800")).isEqualTo("right\\u202eleft \\ud800");
        assertThat(Text.oneLine("Gewicht.größe")).isEqualTo("Gewicht.größe");
    }

    @Test
    void columnsAlign() {
        List<String> lines = Text.table(List.of(List.of("a", "1"), List.of("bcd", "22")), false, true);

        assertThat(lines).containsExactly("  a     1", "  bcd  22");
    }
}
