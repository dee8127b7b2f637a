package io.gds4j.tools.stats;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.tools.stats.JvmRates.State;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TopTextTest {
    private static JvmRates jvm(State state, String... sessions) {
        return new JvmRates(7, "Program", state, "", false,
                List.of(sessions).stream().map(number -> new JvmRates.Session(
                        new EngineSample(number, "compat", 1, Map.of("模型", 10L), Map.of(), 0, 0, 0, 0),
                        Map.of("模型", 1e6),
                        Map.of())).toList());
    }

    private static String chart(TopText text, JvmRates jvm) {
        String line = text.lines(List.of(jvm)).stream().filter(each -> each.contains("模型")).findFirst().orElse("");
        return line.substring(line.lastIndexOf(' ') + 1);
    }

    @Test
    void sessionThatHasClosedIsForgottenAndASilentJvmIsNot() {
        TopText text = new TopText(100, false);
        JvmRates open = jvm(State.OPEN, "1");
        chart(text, open);
        assertThat(chart(text, open)).isEqualTo("##");

        text.lines(List.of(jvm(State.SILENT)));
        assertThat(chart(text, open)).isEqualTo("###");

        text.lines(List.of(jvm(State.OPEN, "2")));
        assertThat(chart(text, open)).isEqualTo("#");
    }

    @Test
    void nameOfWideCharactersKeepsTheColumns() {
        assertThat(new TopText(0, false).lines(List.of(jvm(State.OPEN, "1"))))
                .contains("  模型               1.00 MB/s        10 B", "  pool             0 B in use, 0 B at its peak");
    }
}
