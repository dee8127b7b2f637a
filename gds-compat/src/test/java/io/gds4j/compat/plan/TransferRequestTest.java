package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What requests say of themselves. */
class TransferRequestTest {
    @ParameterizedTest
    @CsvSource({"READ, cuFileRead, false", "WRITE, cuFileWrite, true", "STREAM_READ, cuFileReadAsync, false",
            "STREAM_WRITE, cuFileWriteAsync, true"})
    void operationIsThatOfItsFunction(Operation operation, String function, boolean write) {
        assertThat(operation.function()).isEqualTo(function);
        assertThat(operation.isWrite()).isEqualTo(write);
        boolean stream = function.endsWith("Async");
        assertThat(stream ? Operation.ofStream(write) : Operation.of(write)).isEqualTo(operation);
    }

    @Test
    void requestHeedsACancellationUntilItIsCleared() {
        TransferRequest request = new TransferRequest();
        assertThat(request.isCancelled()).isFalse();
        request.heed(() -> true);
        assertThat(request.isCancelled()).isTrue();
        request.heed(() -> false);
        assertThat(request.isCancelled()).isFalse();
        request.heed(() -> true);
        request.clear();
        assertThat(request.isCancelled()).as("of the request before").isFalse();
    }
}
