package io.gds4j.engine.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DriverUsesTest {
    private final List<String> events = new ArrayList<>();
    private Runnable duringEnd = () -> {
    };
    private final DriverUses<Integer> uses = new DriverUses<>(new DriverUses.Sessions<>() {
        private int sessions;

        @Override
        public Integer open() {
            sessions++;
            events.add("open " + sessions);
            return sessions;
        }

        @Override
        public void end(Integer last) {
            duringEnd.run();
            events.add("end " + last);
        }

        @Override
        public void rest() {
            events.add("rest");
        }

        @Override
        public CuFileException closed(String function) {
            return CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "closed");
        }
    });

    @Test
    void lastUserEndsTheSession() {
        uses.open();
        assertThat(uses.openImplicitly()).isEqualTo(1);
        uses.open();
        uses.close();
        assertThat(events).containsExactly("open 1");
        uses.close();
        assertThat(events).containsExactly("open 1", "end 1", "rest");
        assertThat(uses.session()).isNull();
        assertThatThrownBy(() -> uses.current("a call")).hasMessageContaining("closed");
    }

    /** The end of a session waits for its I/O. It took statistics and streams from a session that had opened meanwhile. */
    @Test
    void sessionThatOpensWhileAnotherEndsKeepsWhatTheyShare() {
        uses.open();
        duringEnd = uses::open;
        uses.close();
        duringEnd = () -> {
        };
        assertThat(events).containsExactly("open 1", "open 2", "end 1");
        assertThat(uses.current("a call")).isEqualTo(2);
        uses.close();
        assertThat(events).endsWith("end 2", "rest");
    }

    @Test
    void failedEndRestsToo() {
        uses.open();
        duringEnd = () -> {
            throw new IllegalStateException("planted");
        };
        assertThatThrownBy(uses::close).hasMessage("planted");
        assertThat(events).containsExactly("open 1", "rest");
        assertThat(uses.count()).isZero();
    }
}
