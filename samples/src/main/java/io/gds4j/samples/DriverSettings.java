package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import java.util.Arrays;

/** Queries the properties of a driver and changes its limits while it is open (topic 7). */
final class DriverSettings {
    private static final int SIZE = 1 << 20;
    private static final String LESSON =
            "An open driver accepts new limits; all other settings are configuration, where each value knows its source.";

    private DriverSettings() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(DriverSettings::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        CuFileConfig config = CuFileConfig.load();
        arguments.say("max_direct_io_size_kb = %d, from %s", config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB),
                config.source(CuFileKeys.MAX_DIRECT_IO_SIZE_KB));
        try (CuFileDriver driver = arguments.openDriver()) {
            print(arguments, "as opened", driver.properties());
            driver.setPollMode(true, 32768);
            driver.setMaxPinnedMemSize(512);
            driver.setMaxDirectIoSize(64);
            driver.setMaxCacheSize(64);
            print(arguments, "as set", driver.properties());
            boolean refused = false;
            try {
                driver.setMaxDirectIoSize(65);
            } catch (CuFileException e) {
                refused = true;
                arguments.say("65 KiB: %s", e.getMessage());
            }
            driver.setMaxPinnedMemSize(config.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB));

            byte[] data = SampleArguments.randomBytes(SIZE);
            try (CuFileHandle file =
                    driver.openFile(arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE);
                    MemoryAllocation memory = arguments.allocate(driver, SIZE)) {
                Bytes.put(driver, data, memory.range());
                long start = System.nanoTime();
                long bytes = file.write(memory.range(), 0) + file.read(memory.range(), 0);
                double seconds = (System.nanoTime() - start) / 1e9;
                boolean verified = refused
                        && driver.properties().maxDirectIoSizeKb() == 64
                        && Arrays.equals(Bytes.in(driver, memory.range()), data);
                return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
            }
        }
    }

    private static void print(SampleArguments arguments, String when, DriverProperties properties) {
        arguments.say(
                "%s: poll up to %d KiB, requests of %d KiB, cache %d KiB, pinned %d KiB, batches of %d",
                when, properties.pollThresholdKb(), properties.maxDirectIoSizeKb(), properties.maxDeviceCacheSizeKb(),
                properties.maxDevicePinnedMemSizeKb(), properties.maxBatchIoSize());
    }
}
