package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What it means that moving a piece threw. */
class EndingTest {
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void codeIsKeptAndOnlyAClosedArenaExplainsAnIllegalState(boolean closed) {
        CuFileException coded = CuFileException.of(CuFileError.IO_ERROR, "read", "of a source");
        assertThat(Ending.of(coded, closed)).isEqualTo(Ending.FAILED);
        assertThat(Ending.of(new IllegalStateException("closed"), closed))
                .isEqualTo(closed ? Ending.ARENA_CLOSED : Ending.DEFECT);
        assertThat(Ending.of(new IllegalArgumentException(), closed)).isEqualTo(Ending.DEFECT);
        assertThat(Ending.of(new OutOfMemoryError(), closed)).isEqualTo(Ending.DEFECT);
    }
}
