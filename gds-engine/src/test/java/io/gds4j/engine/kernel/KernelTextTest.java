package io.gds4j.engine.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The programs of the kernels where the user's locale has digits of its own. */
class KernelTextTest {
    private final Locale own = Locale.getDefault();

    @BeforeEach
    void setLocale() {
        Locale.setDefault(Locale.of("ar", "EG"));
    }

    @AfterEach
    void resetLocale() {
        Locale.setDefault(own);
    }

    @Test
    void programsAreAscii() {
        // Otherwise the next assertion shows nothing.
        assertThat("%d".formatted(7)).isEqualTo("\u0667");
        assertThat(Stream.concat(
                Stream.of(CopyPtx.text()), Stream.of(GatherPtx.Target.values()).map(GatherPtx::text)))
                .hasSize(4)
                .allMatch(text -> StandardCharsets.US_ASCII.newEncoder().canEncode(text));
    }
}
