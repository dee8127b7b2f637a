package io.gds4j.engine.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.HostStream;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Registration of streams; the backends' tests cover operations. */
class RegisteredStreamsTest {
    private final RegisteredStreams streams = new RegisteredStreams(Optional.empty(), new StreamMovers() {
        @Override
        public Optional<PreparedGpu> prepareForWaits(long context) {
            throw new AssertionError("no CUDA stream comes");
        }

        @Override
        public StreamMover borrow() {
            throw new AssertionError("no operation comes");
        }
    }, true);

    private static void expect(CuFileError error, Runnable call) {
        assertThat(catchThrowableOfType(CuFileException.class, call::run).error()).isEqualTo(error);
    }

    @Test
    void streamIsTakenOnceUntilItIsGivenUp() {
        try (HostStream stream = HostStream.create()) {
            streams.register(stream.address(), 0);
            expect(CuFileError.INVALID_VALUE, () -> streams.register(stream.address(), 0));
            streams.deregister(stream.address());
            streams.register(stream.address(), 15);
            streams.close();
        }
    }

    @Test
    void unknownStreamIsRefused() {
        expect(CuFileError.INVALID_VALUE, () -> streams.register(Long.MIN_VALUE, 0));
        expect(CuFileError.INVALID_VALUE, () -> streams.register(0x1000, 0));
        expect(CuFileError.INVALID_VALUE, () -> streams.register(0, 16));
        expect(CuFileError.INVALID_VALUE, () -> streams.deregister(0));
    }

    @Test
    void noStreamIsTakenOnceTheSessionCloses() {
        try (HostStream stream = HostStream.create()) {
            streams.close();
            expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> streams.register(stream.address(), 0));
        }
    }
}
