package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.DriverControls;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.System.Logger.Level;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;

/** A session's statistics over JMX. Loading JMX takes 50 ms: a session that counts nothing gets its bean late. */
final class StatisticsBean implements CuFileStatisticsMXBean {
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final DriverControls controls;
    private final ObjectName name;

    private StatisticsBean(DriverControls controls, ObjectName name) {
        this.controls = controls;
        this.name = name;
    }

    /**
     * Registers a bean. Logs a failure and goes on without JMX.
     *
     * @param importance level of the log
     * @return unregisters the bean
     */
    static Runnable register(DriverControls controls, Level importance) {
        try {
            ObjectName name = new ObjectName(NAME_PATTERN.replace("*", Long.toString(NUMBERS.incrementAndGet())));
            StatisticsBean bean = new StatisticsBean(controls, name);
            ManagementFactory.getPlatformMBeanServer().registerMBean(bean, name);
            return bean::unregister;
        } catch (JMException | RuntimeException | LinkageError e) { // a native image may lack what JMX needs
            System.getLogger("io.gds4j").log(importance, "the statistics cannot be shown over JMX", e);
            return () -> {
            };
        }
    }

    private void unregister() {
        try {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
        } catch (JMException e) {
            System.getLogger("io.gds4j").log(Level.DEBUG, "the bean of the statistics is gone already", e);
        }
    }

    @Override
    public String getBackend() {
        return controls.name();
    }

    @Override
    public int getLevel() {
        try {
            return controls.getStatsLevel();
        } catch (CuFileException e) {
            return 0; // a controls without statistics
        }
    }

    @Override
    public StatisticsLevel1 getLevel1() {
        return controls.getStatsL1();
    }

    @Override
    public StatisticsLevel2 getLevel2() {
        return controls.getStatsL2();
    }

    @Override
    public StatisticsLevel3 getLevel3() {
        return controls.getStatsL3();
    }

    @Override
    public Map<String, Long> getBytesByPath() {
        Map<String, Long> byName = new TreeMap<>();
        controls.engineStatistics().bytesByPath().forEach((path, bytes) -> byName.put(path.name(), bytes));
        return byName;
    }

    @Override
    public long getBouncePoolBytes() {
        return controls.engineStatistics().bouncePoolBytes();
    }

    @Override
    public long getBouncePoolPeakBytes() {
        return controls.engineStatistics().bouncePoolPeakBytes();
    }

    @Override
    public long getQueueDepth() {
        return controls.engineStatistics().queueDepth();
    }

    @Override
    public long getRetries() {
        return controls.engineStatistics().retries();
    }

    @Override
    public String getIoUring() {
        return controls.engineStatistics().ioUring();
    }
}
