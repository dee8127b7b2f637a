package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileConfigException;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.error.Errno;
import io.gds4j.ffi.CString;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** The double's driver: opened by count, configured by the file that C's environment names, parameters, statistics. */
public final class FakeDriver {
    private static final MethodHandle GETENV = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().find("getenv").orElseThrow(),
                    FunctionDescriptor.of(JAVA_LONG, ValueLayout.ADDRESS));

    private final FakeCuFile fake;
    private final Map<Integer, Long> stagedSizes = new HashMap<>();
    private final Map<Integer, Boolean> stagedBools = new HashMap<>();
    private final Map<Integer, String> stagedStrings = new HashMap<>();
    private final Map<Integer, Integer> p2p = new HashMap<>();
    private CuFileConfig running = CuFileConfig.defaults();
    private Map<Integer, Long> sizes = Map.of();
    private Map<Integer, Boolean> bools = Map.of();
    private String json = "";
    private long users;
    private int statsLevel;
    private int statsLevelAtOpen;
    private boolean counted;
    private long failNextOpen;
    private long[] gpuSlabs = {};
    private long[] gpuCounts = {};
    private int version = 1150;
    /** Numbers of 8 bytes of {@code CUfileStatsLevel1_t}. */
    private int basicNumbers = 64;
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicInteger settingLimits = new AtomicInteger();
    private volatile Runnable onLimit = () -> {
    };
    private volatile Runnable onClose = () -> {
    };

    FakeDriver(FakeCuFile fake) {
        this.fake = fake;
    }

    /** Makes the library report a version, whose level 1 of statistics has so many numbers of 8 bytes. */
    void reportVersion(int number, int numbers) {
        version = number;
        basicNumbers = numbers;
    }

    /** Makes the next open answer this status. */
    public void failNextOpen(long status) {
        failNextOpen = status;
    }

    /** Sets the number of times that other code of the process has opened the library. */
    public synchronized void openElsewhere(long times) {
        users += times;
    }

    /** Runs inside each function that sets a limit of the running library. */
    public void onLimit(Runnable action) {
        onLimit = action;
    }

    /** Runs when the last user closes. */
    public void onClose(Runnable action) {
        onClose = action;
    }

    synchronized void dropUse() {
        users--;
    }

    public synchronized boolean isOpen() {
        return users > 0;
    }

    public synchronized long users() {
        return users;
    }

    /** Returns the configuration file that the last open has read. */
    public synchronized String json() {
        return json;
    }

    CuFileConfig running() {
        return running;
    }

    /** Returns a variable of C's environment, which Java's own does not show. */
    public static Optional<String> environment(String name) {
        try (Arena arena = Arena.ofConfined()) {
            long text = (long) GETENV.invokeExact(arena.allocateFrom(name));
            return text == 0 ? Optional.empty() : Optional.of(CString.at(text, 65536));
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    long driverOpen() {
        if (inside.getAndIncrement() != 0) {
            fake.violated("open and close race");
        }
        try {
            return open();
        } finally {
            inside.decrementAndGet();
        }
    }

    private synchronized long open() {
        fake.called("DriverOpen");
        if (failNextOpen != 0) {
            long status = failNextOpen;
            failNextOpen = 0;
            return status;
        }
        if (users == 0) {
            try {
                json = environment("CUFILE_ENV_PATH_JSON").map(FakeDriver::read).orElse("{}");
                Path copy = Files.createTempFile("fake-cufile", ".json");
                Files.writeString(copy, json);
                running = CuFileConfig.builder().environment(Map.of()).file(copy).build();
                Files.delete(copy);
            } catch (CuFileConfigException | IOException e) {
                fake.violated("the library would refuse its configuration: " + e.getMessage());
                return -Errno.EINVAL;
            }
            sizes = Map.copyOf(stagedSizes);
            bools = Map.copyOf(stagedBools);
            stagedSizes.clear();
            stagedBools.clear();
            stagedStrings.clear();
        }
        if (users == 0) {
            statsLevelAtOpen = statsLevel;
        }
        users++;
        return 0;
    }

    /** Returns the level at the last open; above 0 the library counts from then on. */
    public int statsLevelAtOpen() {
        return statsLevelAtOpen;
    }

    private static String read(String path) {
        try {
            return Files.readString(Path.of(path));
        } catch (IOException e) {
            return "{}";
        }
    }

    long driverClose_v2() {
        if (inside.getAndIncrement() != 0) {
            fake.violated("open and close race");
        }
        try {
            synchronized (this) {
                fake.called("DriverClose");
                if (users <= 0) {
                    return 5001;
                }
                users--;
                if (users == 0) {
                    fake.transfers().closed();
                    fake.batches().closed();
                    p2p.clear();
                    // the level stays, as in the library
                    counted = false;
                    onClose.run();
                }
                return 0;
            }
        } finally {
            inside.decrementAndGet();
        }
    }

    synchronized long useCount() {
        return users;
    }

    long driverGetProperties(MemorySegment out) {
        if (out.address() == 0) {
            return 5022;
        }
        MemorySegment props = FakeCuFile.at(out, 56);
        int[] ints = {0, 0, -1, -1, -1, -1, 0, 2, 0xF, 131072, 1024, 33554432, 128, 5};
        for (int i = 0; i < ints.length; i++) {
            if (ints[i] >= 0) {
                props.set(JAVA_INT, i * 4L, ints[i]);
            }
        }
        props.set(JAVA_LONG, 8, 4);
        props.set(JAVA_LONG, 16, 1024);
        return 0;
    }

    long driverSetPollMode(boolean poll, long kb) {
        fake.called("DriverSetPollMode", poll, kb);
        return kb % 4 == 0 ? 0 : 5003;
    }

    long driverSetMaxDirectIOSize(long kb) {
        fake.called("DriverSetMaxDirectIOSize", kb);
        return kb < 64 || kb > 16384 || kb % 64 != 0 ? 5003 : 0;
    }

    long driverSetMaxCacheSize(long kb) {
        if (settingLimits.getAndIncrement() != 0) {
            fake.violated("two threads set limits: crash");
        }
        fake.called("DriverSetMaxCacheSize", kb);
        onLimit.run();
        settingLimits.decrementAndGet();
        return 0;
    }

    long driverSetMaxPinnedMemSize(long kb) {
        fake.called("DriverSetMaxPinnedMemSize", kb);
        return kb < 64 ? 5003 : 0;
    }

    long getVersion(MemorySegment out) {
        FakeCuFile.at(out, 4).set(JAVA_INT, 0, version);
        return 0;
    }

    synchronized long getParameterSizeT(int parameter, MemorySegment out) {
        if (parameter < 0 || parameter >= SizeParameter.values().length || out.address() == 0) {
            return 5022;
        }
        Long staged = (users > 0 ? sizes : stagedSizes).get(parameter);
        long value = staged != null ? staged : running.get(SizeParameter.values()[parameter].key());
        FakeCuFile.at(out, 8).set(JAVA_LONG, 0, value);
        return 0;
    }

    synchronized long getParameterBool(int parameter, MemorySegment out) {
        if (!hasBool(parameter) || version >= 1170 && parameter == BoolParameter.PROFILE_NVTX.index()
                || out.address() == 0) {
            return 5022;
        }
        Boolean staged = (users > 0 ? bools : stagedBools).get(parameter);
        boolean value = staged != null ? staged : running.get(BoolParameter.values()[parameter].key());
        FakeCuFile.at(out, 1).set(JAVA_BOOLEAN, 0, value);
        return 0;
    }

    /** The parameters behind stream_memops_bypass came with 1.19. */
    private boolean hasBool(int parameter) {
        return parameter >= 0 && parameter <= (version < 1190 ? 11 : 13);
    }

    synchronized long getParameterString(int parameter, MemorySegment out, int length) {
        if (parameter < 0 || parameter > (version < 1190 ? 2 : 3)) {
            return 5022;
        }
        String value = running.get(StringParameter.values()[parameter].key());
        if (parameter == StringParameter.ENV_LOGFILE_PATH.index() && value.isEmpty() || length <= value.length()) {
            return 5022;
        }
        FakeCuFile.at(out, length).setString(0, value);
        return 0;
    }

    synchronized long setParameterSizeT(int parameter, long value) {
        fake.called("SetParameterSizeT", parameter, value);
        return staged(parameter, SizeParameter.values().length, () -> stagedSizes.put(parameter, value));
    }

    synchronized long setParameterBool(int parameter, boolean value) {
        fake.called("SetParameterBool", parameter, value);
        return staged(parameter, hasBool(parameter) ? Integer.MAX_VALUE : 0, () -> stagedBools.put(parameter, value));
    }

    synchronized long setParameterString(int parameter, MemorySegment text) {
        String value = CString.at(text.address(), 4096);
        fake.called("SetParameterString", parameter, value);
        return staged(parameter, StringParameter.values().length, () -> stagedStrings.put(parameter, value));
    }

    private long staged(int parameter, int count, Runnable stage) {
        if (users > 0) {
            return 5026;
        }
        if (parameter < 0 || parameter >= count) {
            return 5022;
        }
        stage.run();
        return 0;
    }

    long getParameterMinMaxValue(int parameter, MemorySegment min, MemorySegment max) {
        if (parameter <= 0 || parameter >= SizeParameter.values().length) {
            return 5022;
        }
        var range = SizeParameter.values()[parameter].range().orElseThrow();
        FakeCuFile.at(min, 8).set(JAVA_LONG, 0, range.min());
        boolean few = version < 1170 && parameter == SizeParameter.EXECUTION_MAX_IO_THREADS.index();
        FakeCuFile.at(max, 8).set(JAVA_LONG, 0, few ? 32 : range.max());
        return 0;
    }

    long setStatsLevel(int level) {
        fake.called("SetStatsLevel", level);
        if (level < 0 || level > 3) {
            return 5022;
        }
        if (counted && level != statsLevel) {
            fake.violated("another level while it counts: the counters are freed under the threads that use them");
        }
        statsLevel = level;
        return 0;
    }

    long getStatsLevel(MemorySegment out) {
        FakeCuFile.at(out, 4).set(JAVA_INT, 0, statsLevel);
        return 0;
    }

    long statsStart() {
        fake.called("StatsStart");
        if (isOpen() && statsLevel > 0) {
            if (counted) {
                fake.violated("it starts to count again: crash");
            }
            counted = true;
        }
        return !isOpen() ? 5001 : statsLevel == 0 ? 5030 : 0;
    }

    long statsStop() {
        fake.called("StatsStop");
        statsLevel = 0;
        return isOpen() ? 0 : 5001;
    }

    long statsReset() {
        fake.called("StatsReset");
        return isOpen() ? 0 : 5001;
    }

    long getStatsL1(MemorySegment out) {
        return statistics(out, 1, basicNumbers);
    }

    long getStatsL2(MemorySegment out) {
        return statistics(out, 2, basicNumbers + 64);
    }

    long getStatsL3(MemorySegment out) {
        long status = statistics(out, 3, basicNumbers + 64);
        if (status == 0) {
            long detailed = (basicNumbers + 64) * 8L;
            MemorySegment l3 = FakeCuFile.at(out, detailed + 8 + 16 * 248);
            l3.set(JAVA_INT, detailed, 2);
            for (int gpu = 0; gpu < 2; gpu++) {
                long at = detailed + 8 + gpu * 248L;
                for (int i = 0; i < 16; i++) {
                    l3.set(JAVA_BYTE, at + i, (byte) (gpu * 16 + i));
                }
                for (int i = 0; i < 29; i++) {
                    l3.set(JAVA_LONG, at + 16 + i * 8L, 1000L * (gpu + 1) + i);
                }
            }
        }
        return status;
    }

    /** Each number is its position: 1, 2, 3 and so on. */
    private long statistics(MemorySegment out, int level, int numbers) {
        if (out.address() == 0 || statsLevel < level) {
            return 5022;
        }
        MemorySegment words = FakeCuFile.at(out, numbers * 8L);
        for (int i = 0; i < numbers; i++) {
            words.set(JAVA_LONG, i * 8L, i + 1L);
        }
        return 0;
    }

    long getBARSizeInKB(int gpu, MemorySegment out) {
        if (gpu != 0) {
            return 5022;
        }
        FakeCuFile.at(out, 8).set(JAVA_LONG, 0, 268435456);
        return 0;
    }

    long setParameterPosixPoolSlabArray(MemorySegment sizes, MemorySegment counts, int length) {
        fake.called("SetParameterPosixPoolSlabArray", length);
        return isOpen() ? 5026 : 0;
    }

    long getParameterPosixPoolSlabArray(MemorySegment sizes, MemorySegment counts, int length) {
        var slabs = running.posixPoolSlabs();
        if (!isOpen() || length != slabs.sizesKb().size()) {
            return 5022;
        }
        for (int i = 0; i < length; i++) {
            FakeCuFile.at(sizes, length * 8L).setAtIndex(JAVA_LONG, i, slabs.sizesKb().get(i));
            FakeCuFile.at(counts, length * 8L).setAtIndex(JAVA_LONG, i, slabs.counts().get(i));
        }
        return 0;
    }

    long driverSetP2PFlags(int target, int flags) {
        fake.called("DriverSetP2PFlags", target, flags);
        if (flags != 1) {
            return 5022;
        }
        p2p.put(target, flags);
        return 0;
    }

    long driverGetP2PFlags(int target, MemorySegment out) {
        FakeCuFile.at(out, 4).set(JAVA_INT, 0, p2p.getOrDefault(target, 0));
        return 0;
    }

    long exportPCIeTopology(MemorySegment path) {
        String file = CString.at(path.address(), 4096);
        fake.called("ExportPCIeTopology", file);
        if (!file.startsWith("/")) {
            return 5022;
        }
        try {
            Files.writeString(Path.of(file), "{}");
            return 0;
        } catch (IOException e) {
            return 5022;
        }
    }

    long setParameterGpuBounceBufferSlabArray(MemorySegment sizes, MemorySegment counts, int length) {
        fake.called("SetParameterGpuBounceBufferSlabArray", length);
        if (isOpen()) {
            return 5026;
        }
        gpuSlabs = FakeCuFile.at(sizes, length * 8L).toArray(JAVA_LONG);
        gpuCounts = FakeCuFile.at(counts, length * 8L).toArray(JAVA_LONG);
        return 0;
    }

    long getParameterGpuBounceBufferSlabArray(MemorySegment sizes, MemorySegment counts, int length) {
        List<Long> configured = running.get(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB);
        boolean file = gpuSlabs.length == 0;
        if (length == 0 || (file ? configured.size() : gpuSlabs.length) != length) {
            return 5022;
        }
        for (int i = 0; i < length; i++) {
            long count = file ? running.get(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT).get(i) : gpuCounts[i];
            FakeCuFile.at(sizes, length * 8L).setAtIndex(JAVA_LONG, i, file ? configured.get(i) : gpuSlabs[i]);
            FakeCuFile.at(counts, length * 8L).setAtIndex(JAVA_LONG, i, count);
        }
        return 0;
    }
}
