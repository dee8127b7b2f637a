package io.gds4j.rdma;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.LeakDetector;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The fault matrix of verbs: records the calls of each operation, and repeats it with each of them failing. The failure names the
 * verb and its errno in one line, nothing hangs or is left behind, and the operation succeeds afterwards.
 */
final class VerbFaults implements AutoCloseable {
    private static final CudaAvailability NO_CUDA = new CudaAvailability.Unavailable("none", "none");
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final long CELL_SECONDS = 60;
    private static final int SLAB = 4096;
    private static final int FILE = 3 * SLAB + 100;
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE);
    private static final Set<RdmaAccess> RIGHTS_AND_LOCAL =
            EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE);
    private static final Set<RdmaAccess> LOCAL = EnumSet.of(RdmaAccess.LOCAL_WRITE);
    /** Verbs whose failure is typical with two errnos each. */
    private static final int[] ERRNOS = {Errno.EIO, Errno.ENOMEM};
    /** The failures that cells cause are expected, and so are the warnings about them. */
    private static final Logger LOG = Logger.getLogger("io.gds4j");

    /** One run of an operation, in which the n-th call of a verb fails. */
    record Cell(String operation, String verb, int nth, int errno) {
        @Override
        public String toString() {
            return "%s, call %s of %s fails with %s".formatted(operation, nth, verb, Errno.name(errno));
        }
    }

    private interface Operation {
        void run(Ends ends) throws Exception;
    }

    private final Path source;
    private final CuFileBackend backend = new CompatBackend(
            CuFileConfig.builder().withoutEnvironment().build(), FfmPosix.instance(), NO_CUDA);
    private final LeakDetector allocations = new LeakDetector(backend.allocator());
    private final CuFileDriver driver = CuFileDriver.open(new ForwardingBackend(backend) {
        @Override
        public MemoryAllocator allocator() {
            return allocations;
        }
    });
    private final MemoryAllocation memory;
    private final Map<String, Operation> operations = new LinkedHashMap<>();
    private final List<Cell> cells = new ArrayList<>();
    private int hits;

    /** Two queue pairs of a domain with a region, made anew for each run. */
    private final class Ends implements AutoCloseable {
        final ProtectionDomain domain;
        final MemoryRegion region;
        final QueuePair requester;
        final QueuePair responder;

        Ends(SoftVerbs verbs) {
            domain = ((RdmaAvailability.Available) RdmaDevices.of(
                    verbs, () -> NO_CUDA)).verbs().open("soft0");
            try {
                region = domain.register(memory.range(), RdmaContract.ALL);
            } catch (RuntimeException e) {
                domain.close();
                throw e;
            }
            QueuePair made = null;
            try {
                made = domain.queuePair().build();
                responder = domain.queuePair().build();
            } catch (RuntimeException e) {
                closeAll(made, region, domain);
                throw e;
            }
            requester = made;
        }

        Ends connected() {
            requester.connect(responder.local());
            responder.connect(requester.local());
            return this;
        }

        @Override
        public void close() {
            closeAll(requester, responder, region, domain);
        }
    }

    private static void closeAll(AutoCloseable... all) {
        RuntimeException first = null;
        for (AutoCloseable one : all) {
            try {
                if (one != null) {
                    one.close();
                }
            } catch (RuntimeException e) {
                first = first == null ? e : first;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
        if (first != null) {
            throw first;
        }
    }

    VerbFaults(Path folder) throws Exception {
        LOG.setLevel(Level.OFF);
        source = folder.resolve("source");
        byte[] bytes = new byte[FILE];
        for (int i = 0; i < FILE; i++) {
            bytes[i] = (byte) (i * 7 >> 2);
        }
        Files.write(source, bytes);
        memory = driver.allocator().allocate(MemoryKind.HOST, 64 << 10);
        operations.put("open", ends -> {
            ends.domain.device();
            ends.domain.port(1);
            ends.domain.gid(1, 0);
            ends.domain.sibling().close();
        });
        operations.put("connect", ends -> assertThat(ends.connected().requester.isReady()).isTrue());
        operations.put("register", this::register);
        operations.put("cache", this::lease);
        operations.put("requests", this::requests);
        operations.put("messages", this::messages);
        operations.put("window 1", ends -> window(ends, WindowType.TYPE_1));
        operations.put("window 2", ends -> window(ends, WindowType.TYPE_2));
        operations.put("transfer", this::transfer);
        for (String operation : operations.keySet()) {
            record(operation);
        }
    }

    private void record(String operation) throws Exception {
        SoftVerbs verbs = new SoftVerbs("soft0");
        perform(operation, verbs);
        assertThat(verbs.live()).as(operation).isEmpty();
        Map<String, Integer> counts = new TreeMap<>();
        for (String verb : verbs.everyCall()) {
            if (verb.startsWith("ibv_")) {
                counts.merge(verb, 1, Integer::sum);
            }
        }
        counts.forEach((verb, count) -> {
            for (int nth = 1; nth <= count; nth++) {
                for (int errno : ERRNOS) {
                    cells.add(new Cell(operation, verb, nth, errno));
                }
            }
        });
    }

    List<Cell> cells() {
        return List.copyOf(cells);
    }

    /** Returns the number of cells so far whose call did fail; in the others threads raced past it. */
    int hits() {
        return hits;
    }

    /** Runs a cell; returns what is wrong with it. */
    Optional<String> run(Cell cell) throws Exception {
        SoftVerbs verbs = new SoftVerbs("soft0");
        verbs.fail(cell.verb, cell.nth, cell.errno);
        FutureTask<Throwable> attempt = new FutureTask<>(() -> {
            try {
                perform(cell.operation, verbs);
                return null;
            } catch (Throwable e) {
                return e;
            }
        });
        Thread.ofPlatform().daemon().name("fault-cell").start(attempt);
        Throwable thrown = attempt.get(CELL_SECONDS, TimeUnit.SECONDS);
        if (verbs.isFailing()) {
            return Optional.empty();
        }
        hits++;
        List<String> wrong = new ArrayList<>();
        if (!isNamed(thrown, cell) && !(thrown == null && servedWithout(cell))) {
            wrong.add("thrown: " + thrown);
        }
        wrong.addAll(verbs.live());
        allocations.alive().stream().skip(1).forEach(wrong::add);
        if (verbs.hasOverflowed()) {
            wrong.add("a completion was lost");
        }
        perform(cell.operation, new SoftVerbs("soft0"));
        return wrong.isEmpty() ? Optional.empty() : Optional.of(cell + ": " + String.join("; ", wrong));
    }

    /** A cache does without what it cannot keep registered, and warns of what it cannot deregister. */
    private static boolean servedWithout(Cell cell) {
        return cell.operation.equals("cache")
                && (cell.verb.equals("ibv_reg_mr") && cell.nth > 1
                        || cell.verb.equals("ibv_dereg_mr") && cell.nth == 1);
    }

    private static boolean isNamed(Throwable thrown, Cell cell) {
        if (!(thrown instanceof CuFileException failure)) {
            return false;
        }
        if (failure.function().equals(cell.verb) && failure.errno().orElse(0) == cell.errno
                && !failure.getMessage().contains("\n") && failure.getMessage().contains("soft0")) {
            return true;
        }
        for (Throwable more : failure.getSuppressed()) {
            if (isNamed(more, cell)) {
                return true;
            }
        }
        return false;
    }

    private void perform(String operation, SoftVerbs verbs) throws Exception {
        try (Ends ends = new Ends(verbs)) {
            operations.get(operation).run(ends);
        }
    }

    // ---- operations

    private void register(Ends ends) {
        MemoryRange part = memory.range().slice(4096, 8192);
        try (ProtectionDomain sibling = ends.domain.sibling();
                MemoryRegion region = ends.domain.register(part, LOCAL);
                MemoryRegion named = ends.domain.register(part, 0x40_000, RIGHTS_AND_LOCAL)) {
            region.reregister(RIGHTS_AND_LOCAL);
            region.reregister(memory.range().slice(0, 8192), LOCAL);
            sibling.reregister(named, LOCAL);
            ends.domain.reregister(named, LOCAL);
        }
    }

    private void lease(Ends ends) {
        ends.connected();
        try (RegionCache cache = RegionCache.of(ends.domain, driver.allocator(), LOCAL, 1 << 20)) {
            for (int i = 0; i < 2; i++) {
                try (RegionLease lease = cache.lease(memory.range().slice(0, 64))) {
                    ends.requester.write(1, lease.slice(0, 64), ends.region.remote().slice(4096, 64));
                    ends.requester.await(SOON).orElseThrow().check();
                }
            }
        }
    }

    private void requests(Ends ends) {
        ends.connected();
        RemoteMemory remote = ends.region.remote().slice(4096, 64);
        QueuePair requester = ends.requester;
        requester.write(1, ends.region.slice(0, 64), remote);
        requester.await(SOON).orElseThrow().check();
        requester.read(2, ends.region.slice(0, 64), remote);
        requester.await(SOON).orElseThrow().check();
        requester.writeInline(3, new byte[8], remote);
        requester.await(SOON).orElseThrow().check();
        requester.fetchAdd(4, ends.region.slice(0, 8), remote, 1);
        requester.await(SOON).orElseThrow().check();
        requester.compareSwap(5, ends.region.slice(0, 8), remote, 1, 2);
        requester.await(SOON).orElseThrow().check();
        assertThat(requester.await(Duration.ofMillis(1))).isEmpty();
        assertThat(requester.poll(5)).isEmpty();
    }

    private void messages(Ends ends) {
        ends.connected();
        ends.responder.receive(1, ends.region.slice(0, 64));
        ends.responder.receive(2, ends.region.slice(64, 64));
        ends.requester.send(1, ends.region.slice(4096, 64));
        ends.requester.sendInline(2, new byte[10]);
        for (int i = 0; i < 2; i++) {
            ends.requester.await(SOON).orElseThrow().check();
            ends.responder.await(SOON).orElseThrow().check();
        }
    }

    /** Closes the region first if that is allowed: it must not be deregistered under a bound window. */
    private void window(Ends ends, WindowType type) {
        ends.connected();
        MemoryWindow window = ends.domain.window(type);
        MemoryRegion under = null;
        try {
            under = ends.domain.register(memory.range(), RdmaContract.ALL);
            RemoteMemory bound = window.bind(ends.responder, under, 0, 64, RIGHTS);
            ends.requester.write(1, ends.region.slice(128, 64), bound);
            ends.requester.await(SOON).orElseThrow().check();
            window.bind(ends.responder, under, 64, 64, RIGHTS);
            window.invalidate();
        } catch (CuFileException e) {
            try {
                closeAll(under, window, under);
            } catch (CuFileException busy) {
                assertThat(busy.errno()).hasValue(Errno.EBUSY);
            }
            throw e;
        }
        closeAll(window, under);
    }

    private void transfer(Ends ends) throws Exception {
        RdmaTransfer.Builder builder = RdmaTransfer.builder(driver, ends.domain).slabs(2, SLAB).timeout(SOON);
        try (RdmaTransfer sender = builder.sender(ends.requester);
                RdmaTransfer receiver = builder.receiver(ends.responder);
                CuFileHandle file = driver.openFile(source, READ, WRITE);
                MemoryAllocation target = driver.allocator().allocate(MemoryKind.HOST, FILE)) {
            ends.connected();
            FutureTask<Throwable> sending = new FutureTask<>(() -> {
                try {
                    sender.send(file, 0, FILE);
                    return null;
                } catch (CuFileException e) {
                    return e;
                }
            });
            Thread.ofPlatform().start(sending);
            CuFileException failure = null;
            try {
                assertThat(receiver.receive(target.range())).isEqualTo(FILE);
            } catch (CuFileException e) {
                failure = e;
            }
            Throwable other = sending.get(CELL_SECONDS, TimeUnit.SECONDS);
            if (failure == null && other == null) {
                assertThat(target.range().segment().orElseThrow().asSlice(0, FILE).toArray(ValueLayout.JAVA_BYTE))
                        .isEqualTo(Files.readAllBytes(source));
            } else if (failure == null) {
                throw (CuFileException) other;
            } else {
                if (other != null) {
                    failure.addSuppressed(other);
                }
                throw failure;
            }
        }
    }

    @Override
    public void close() {
        memory.close();
        driver.close();
        LOG.setLevel(null);
    }

    /** Returns the table of verbs by operations, with the number of cells, as Markdown. */
    static String table(List<Cell> cells) {
        Map<String, Map<String, Integer>> rows = new TreeMap<>();
        Set<String> names = new LinkedHashSet<>();
        for (Cell cell : cells) {
            names.add(cell.operation);
            rows.computeIfAbsent(cell.verb, verb -> new TreeMap<>()).merge(cell.operation, 1, Integer::sum);
        }
        StringBuilder text = new StringBuilder("| verb | " + String.join(" | ", names) + " |\n|---|");
        text.append("---:|".repeat(names.size())).append('\n');
        rows.forEach((verb, counts) -> {
            text.append("| ").append(verb);
            names.forEach(name -> text.append(" | ").append(counts.getOrDefault(name, 0)));
            text.append(" |\n");
        });
        return text.toString();
    }

    /** Runs the cells whose name contains each of the arguments; status 5 if one of them fails. */
    public static void main(String[] words) throws Exception {
        Path folder = Files.createTempDirectory("gds4j-verbs");
        List<String> findings = new ArrayList<>();
        try (VerbFaults matrix = new VerbFaults(folder)) {
            List<Cell> chosen = matrix.cells.stream()
                    .filter(cell -> List.of(words).stream().allMatch(cell.toString()::contains)).toList();
            for (Cell cell : chosen) {
                matrix.run(cell).ifPresent(text -> {
                    findings.add(text);
                    System.err.println(text);
                });
            }
            System.out.print(table(chosen));
            System.out.printf("%n%s cells, of which %s hit their call and %s fail%n", chosen.size(), matrix.hits,
                    findings.size());
        }
        Files.delete(folder.resolve("source"));
        Files.delete(folder);
        System.exit(findings.isEmpty() ? 0 : 5);
    }
}
