package io.gds4j.dataset;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import java.lang.System.Logger.Level;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;
import org.jspecify.annotations.Nullable;

/** A loader's counters over JMX. Loading JMX delays a program's start, so it is shown only if the driver counts. */
final class LoaderBean implements RecordLoaderMXBean {
    private static final AtomicLong NUMBERS = new AtomicLong();
    private static final System.Logger LOG = System.getLogger("io.gds4j.dataset");

    private final BatchRing ring;
    private @Nullable ObjectName name;

    LoaderBean(BatchRing ring) {
        this.ring = ring;
    }

    void register(CuFileDriver driver) {
        if (!counts(driver)) {
            return;
        }
        try {
            ObjectName own = new ObjectName(NAME_PATTERN.replace("*", Long.toString(NUMBERS.incrementAndGet())));
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, own);
            name = own;
        } catch (JMException | SecurityException e) {
            LOG.log(Level.WARNING, "the loader cannot be shown over JMX", e);
        }
    }

    private static boolean counts(CuFileDriver driver) {
        try {
            return driver.statistics().level() > 0;
        } catch (CuFileException e) {
            LOG.log(Level.DEBUG, "the backend has no statistics", e);
            return false;
        }
    }

    void unregister() {
        ObjectName own = name;
        if (own != null) {
            try {
                ManagementFactory.getPlatformMBeanServer().unregisterMBean(own);
            } catch (JMException e) {
                LOG.log(Level.DEBUG, "the bean of the loader is gone already", e);
            }
        }
    }

    @Override
    public long getRecords() {
        return ring.report().records();
    }

    @Override
    public long getBytes() {
        return ring.report().bytes();
    }

    @Override
    public long getBatches() {
        return ring.report().batches();
    }

    @Override
    public long getSkipped() {
        return ring.report().skipped();
    }

    @Override
    public long getPosition() {
        return ring.position();
    }

    @Override
    public double getWaitingForDataSeconds() {
        return ring.report().waitingForDataSeconds();
    }

    @Override
    public double getWaitingForConsumerSeconds() {
        return ring.report().waitingForConsumerSeconds();
    }

    @Override
    public double getBytesPerSecond() {
        return ring.report().bytesPerSecond();
    }

    @Override
    public double getRecordsPerSecond() {
        return ring.report().recordsPerSecond();
    }

    @Override
    public long getMemoryBytes() {
        return ring.report().memoryBytes();
    }
}
