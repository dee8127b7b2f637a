package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.TestFile;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import java.util.List;
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
        assertThat(stream ? operation.single().ofStream() : operation.ofStream().single()).isEqualTo(operation);
    }

    private static CompatFile file() {
        return TestFile.local(FfmPosix.instance());
    }

    @Test
    void requestIsWhatWasAskedForLast() {
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, 4096, MemoryKind.HOST);
        CompatFile file = file();
        TransferRequest request = new TransferRequest().set(file, memory, Operation.WRITE, 100, 7, 16);
        assertThat(request).matches(TransferRequest::isWrite).returns(100L, TransferRequest::size)
                .returns(7L, TransferRequest::fileOffset).returns(16L, TransferRequest::bufferOffset)
                .returns((1L << 20) + 16, TransferRequest::address).returns(100L, TransferRequest::total)
                .returns(false, TransferRequest::mayGather).returns(false, TransferRequest::isSpread);
        request.partOf(5000);
        request.letGather();
        request.spread();
        assertThat(request).returns(5000L, TransferRequest::total).returns(true, TransferRequest::mayGather)
                .returns(true, TransferRequest::isSpread);

        List<ScatterCopy> fragments = List.of(new ScatterCopy(0, 10, memory, 0));
        request.set(file, BatchRequest.scattered(file, Operation.READ, 3, 10, fragments));
        assertThat(request).returns(fragments, TransferRequest::copies).returns(10L, TransferRequest::total)
                .returns(false, TransferRequest::isWrite).returns(false, TransferRequest::mayGather)
                .returns(false, TransferRequest::isSpread).returns(true, TransferRequest::isStaged);
        request.clear();
        assertThat(request.copies()).isEmpty();
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
