package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileKeys;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** {@link ConfigKey#usedByEngine} is true for exactly the keys that sources of the engine name. */
class EngineKeysTest {
    private static final Pattern KEY = Pattern.compile("CuFileKeys\\.([A-Z0-9_]+)");

    @Test
    void keysOfTheEngineAreMarked() throws Exception {
        Set<String> named = new TreeSet<>();
        for (String module : List.of("../gds-compat", "../gds-engine")) {
            try (Stream<Path> files = Files.walk(Path.of(module, "src/main/java"))) {
                files.filter(file -> file.toString().endsWith(".java")).forEach(file -> named.addAll(keysIn(file)));
            }
        }
        Set<String> used = new TreeSet<>();
        for (String constant : named) {
            used.add(((ConfigKey<?>) CuFileKeys.class.getField(constant).get(null)).name());
        }

        assertThat(CuFileKeys.all().stream().filter(ConfigKey::usedByEngine).map(ConfigKey::name))
                .containsExactlyInAnyOrderElementsOf(used);
    }

    private static Set<String> keysIn(Path file) {
        try {
            return KEY.matcher(Files.readString(file)).results().map((MatchResult key) -> key.group(1))
                    .collect(Collectors.toSet());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
