package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
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
    void wideCharactersAndMarksAlign() {
        List<String> lines = Text.table(List.of(
                List.of("模型", "1"), List.of("e\u0301", "2"), List.of("\ud83d\ude00!", "3"), List.of("\uff21한", "4"),
                List.of("abcd", "5")), false, false);

        assertThat(lines).containsExactly(
                "  模型  1", "  e\u0301     2", "  \ud83d\ude00!   3", "  \uff21한  4", "  abcd  5");
        assertThat(Text.row("模型", "value")).isEqualTo("  模型          value");
    }

    @Test
    void wideCharactersFitTheTerminal() {
        PrintStream none = new PrintStream(OutputStream.nullOutputStream());
        Terminal terminal = new Terminal(none, none, Map.of("COLUMNS", "40"), () -> false, () -> true);

        assertThat(terminal.shown(List.of("  模型模型模型  " + "模型 ".repeat(20))))
                .hasSizeGreaterThan(3).allMatch(line -> Columns.of(line) <= 40)
                .allMatch(line -> line.startsWith("  模型模型模型  ") || line.startsWith(" ".repeat(16) + "模"));
    }

    @Test
    void columnsAlign() {
        List<String> lines = Text.table(List.of(List.of("a", "1"), List.of("bcd", "22")), false, true);

        assertThat(lines).containsExactly("  a     1", "  bcd  22");
    }
}
