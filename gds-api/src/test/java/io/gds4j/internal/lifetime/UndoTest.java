package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A step is taken back exactly if the work after it fails, and the failure of the work is the one thrown. */
class UndoTest {
    private final List<String> undone = new ArrayList<>();

    @Test
    void resultIsReturnedAndNothingUndone() throws IOException {
        assertThat(Undo.<String, IOException>ifFails(() -> undone.add("step"), () -> "result")).isEqualTo("result");
        assertThat(undone).isEmpty();
    }

    @Test
    void failedWorkUndoesTheStep() {
        IOException failure = new IOException("work");
        assertThat(catchThrowable(() -> Undo.ifFails(() -> undone.add("step"), () -> {
            throw failure;
        }))).isSameAs(failure);
        assertThat(undone).containsExactly("step");
    }

    @Test
    void errorsUndoTheStep() {
        Error failure = new OutOfMemoryError("work");
        assertThat(catchThrowable(() -> Undo.<String, RuntimeException>ifFails(() -> undone.add("step"), () -> {
            throw failure;
        }))).isSameAs(failure);
        assertThat(undone).containsExactly("step");
    }

    @Test
    void failureOfTheUndoingIsAttached() {
        IOException failure = new IOException("work");
        IOException second = new IOException("undo");
        assertThat(catchThrowable(() -> Undo.ifFails(() -> {
            throw second;
        }, () -> {
            throw failure;
        }))).isSameAs(failure);
        assertThat(failure.getSuppressed()).containsExactly(second);
    }

    @Test
    void sameFailureTwiceIsNotAttachedToItself() {
        IOException failure = new IOException("both");
        assertThat(catchThrowable(() -> Undo.ifFails(() -> {
            throw failure;
        }, () -> {
            throw failure;
        }))).isSameAs(failure);
        assertThat(failure.getSuppressed()).isEmpty();
    }
}
