package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.internal.lifetime.ThreadState.NativeState;
import java.lang.ref.WeakReference;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The state of each thread. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ThreadStateTest {
    /** A thread that equals all others of its class. */
    private static final class EqualThread extends Thread {
        EqualThread(Runnable work) {
            super(work);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof EqualThread;
        }

        @Override
        public int hashCode() {
            return 1;
        }
    }

    private static final class OfNativeModule extends NativeState {
    }

    @Test
    void threadsThatEqualOthersKeepStatesOfTheirOwn() throws InterruptedException, ExecutionException {
        try (ExecutorService one = Executors.newSingleThreadExecutor(EqualThread::new);
                ExecutorService other = Executors.newSingleThreadExecutor(EqualThread::new)) {
            NativeState set = new OfNativeModule();
            one.submit(() -> ThreadState.current().setNativeState(set)).get();
            assertThat(other.submit(() -> ThreadState.current().nativeState()).get()).isNull();
            WeakReference<Object> cleared = new WeakReference<>(new Object());
            while (cleared.get() != null) {
                System.gc(); // the state of a thread stays, though another equals it
            }
            assertThat(one.submit(() -> ThreadState.current().nativeState()).get()).isSameAs(set);
        }
    }
}
