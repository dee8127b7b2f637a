package io.gds4j.interop.metrics;

import io.gds4j.CuFileDriver;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.CountDownLatch;
import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;

/** Binds metrics, forgets them in main, and closes them in a shutdown hook, behind the recorder's own one. */
final class MetricsChild {
    private MetricsChild() {
    }

    public static void main(String[] arguments) {
        CountDownLatch stopped = new CountDownLatch(1);
        FlightRecorder.addListener(new FlightRecorderListener() {
            @Override
            public void recordingStateChanged(Recording recording) {
                if (recording.getState() == RecordingState.STOPPED) {
                    stopped.countDown();
                }
            }
        });
        CuFileDriver driver = CuFileDriver.open();
        GdsMetrics metrics = new GdsMetrics(driver);
        metrics.bindTo(new SimpleMeterRegistry());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                stopped.await();
                metrics.close();
                metrics.close();
                System.out.println("closed in the hook");
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }));
        System.out.println("main returns");
    }
}
