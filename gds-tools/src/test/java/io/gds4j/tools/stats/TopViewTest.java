package io.gds4j.tools.stats;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.tools.stats.JvmRates.State;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TopViewTest {
    private final TopView view = new TopView();
    private final List<JvmRates> jvms = List.of(jvm(1, "app.Zebra"), jvm(2, "Load.java"), jvm(3, "app.Alpha"));

    private static JvmRates jvm(long pid, String program) {
        return new JvmRates(pid, program, State.OPEN, "", false, List.of());
    }

    private List<Long> after(String keys) {
        keys.chars().forEach(view::take);
        return view.of(jvms).stream().map(JvmRates::pid).toList();
    }

    @Test
    void keysSortFilterAndExplain() {
        assertThat(after("")).containsExactly(1L, 2L, 3L);
        assertThat(after("ss")).containsExactly(2L, 3L, 1L);
        assertThat(view.lines()).containsExactly("by name");
        assertThat(after("s/APPx\177")).containsExactly(1L, 3L);
        assertThat(view.lines()).containsExactly("/APP_");
        assertThat(after("\n?")).containsExactly(1L, 3L);
        assertThat(view.lines()).hasSize(2).last().isEqualTo("/APP");
        assertThat(after("/\033")).containsExactly(1L, 2L, 3L);
    }

    @Test
    void onlyQOutsideOfAFilterEnds() {
        assertThat(view.take('x')).isTrue();
        view.take('/');
        assertThat(view.take('q')).isTrue();
        view.take('\n');
        assertThat(view.take('q')).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher examples/Load.java secret, Load.java",
            "/lib/gds.jar load x, gds.jar", "app.Program secret, app.Program"})
    void programIsTheFileOrClassWithoutArguments(String commandLine, String program) {
        assertThat(JvmList.program(commandLine)).isEqualTo(program);
    }
}
