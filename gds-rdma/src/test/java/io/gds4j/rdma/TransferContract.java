package io.gds4j.rdma;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files to peers: two ends in this process, on threads of their own. */
abstract class TransferContract {
    private static final int SLAB = 8192;
    private static final Duration SILENCE = Duration.ofSeconds(1);
    private static final Duration SHORT = Duration.ofSeconds(10);

    @TempDir
    Path folder;

    private CuFileDriver driver;
    private ProtectionDomain domain;
    private QueuePair from;
    private QueuePair to;
    private RdmaTransfer sender;
    private RdmaTransfer receiver;

    abstract TestDevice tested();

    abstract int largeSize();

    @BeforeEach
    void connect() {
        driver = CuFileDriver.open();
        domain = tested().open();
        from = domain.queuePair().port(1, tested().gidIndex()).build();
        to = domain.queuePair().port(1, tested().gidIndex()).build();
        sender = RdmaTransfer.builder(driver, domain).slabs(4, SLAB).timeout(SILENCE).sender(from);
        receiver = RdmaTransfer.builder(driver, domain).slabs(4, SLAB).timeout(SILENCE).receiver(to);
        from.connect(to.local());
        to.connect(from.local());
    }

    @AfterEach
    void disconnect() {
        sender.close();
        receiver.close();
        receiver.close();
        domain.close();
        driver.close();
    }

    private CuFileHandle file(String name, byte[] bytes) throws IOException {
        Path path = folder.resolve(name);
        Files.write(path, bytes);
        return driver.openFile(path, READ, WRITE);
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private static <T> FutureTask<T> start(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread.ofPlatform().start(task);
        return task;
    }

    private static Throwable failureOf(FutureTask<?> task) throws Exception {
        return failureIn(20, task);
    }

    /** An error of one end reaches the other within 5 s. */
    private static Throwable failureSoon(FutureTask<?> task) throws Exception {
        return failureIn(5, task);
    }

    private static Throwable failureIn(int seconds, FutureTask<?> task) throws Exception {
        try {
            task.get(seconds, TimeUnit.SECONDS);
            throw new AssertionError("it did not fail");
        } catch (ExecutionException e) {
            return e.getCause();
        }
    }

    private FutureTask<Boolean> sending(CuFileHandle file, long offset, long size) {
        return start(() -> {
            sender.send(file, offset, size);
            return true;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, SLAB, SLAB + 1, 37 * SLAB + 4321})
    void fileArrivesInAFile(int size) throws Exception {
        byte[] bytes = random(size + 5);
        try (CuFileHandle source = file("a", bytes); CuFileHandle target = file("b", new byte[0])) {
            for (int round = 0; round < 2; round++) {
                FutureTask<Boolean> sent = sending(source, 5, size);
                assertThat(receiver.receive(target, 3)).isEqualTo(size);
                assertThat(sent.get(20, TimeUnit.SECONDS)).isTrue();
            }
        }
        byte[] expected = new byte[size == 0 ? 0 : size + 3];
        if (size > 0) {
            System.arraycopy(bytes, 5, expected, 3, size);
        }
        assertThat(Files.readAllBytes(folder.resolve("b"))).isEqualTo(expected);
    }

    @Test
    void largeFileArrivesInMemory() throws Exception {
        byte[] bytes = random(largeSize());
        try (CuFileHandle source = file("a", bytes);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, bytes.length)) {
            FutureTask<Boolean> sent = sending(source, 0, bytes.length);
            assertThat(receiver.receive(memory.range())).isEqualTo(bytes.length);
            assertThat(sent.get(60, TimeUnit.SECONDS)).isTrue();
            assertThat(memory.range().segment().orElseThrow().asSlice(0, bytes.length).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(bytes);
        }
    }

    /** More than the slabs hold by far; 1 GiB with {@code -Dgds4j.rdma.file=1073741824} and as much memory for files. */
    @Test
    void fileArrivesInBoundedMemory() throws Exception {
        long size = Long.getLong("gds4j.rdma.file", 24 << 20);
        Path source = folder.resolve("large");
        CRC32C written = new CRC32C();
        byte[] piece = random(1 << 20);
        try (OutputStream out = Files.newOutputStream(source)) {
            for (long done = 0; done < size; done += piece.length) {
                piece[(int) (done >> 20) % piece.length] += 1;
                out.write(piece);
                written.update(piece);
            }
        }
        try (QueuePair one = domain.queuePair().port(1, tested().gidIndex()).build();
                QueuePair other = domain.queuePair().port(1, tested().gidIndex()).build();
                RdmaTransfer near = RdmaTransfer.builder(driver, domain).sender(one);
                RdmaTransfer far = RdmaTransfer.builder(driver, domain).receiver(other);
                CuFileHandle from = driver.openFile(source, READ);
                CuFileHandle to = file("copy", new byte[0])) {
            one.connect(other.local());
            other.connect(one.local());
            long before = residentAtMost(true);
            long begun = System.nanoTime();
            FutureTask<Boolean> sent = start(() -> {
                near.send(from, 0, size);
                return true;
            });
            assertThat(far.receive(to, 0)).isEqualTo(size);
            assertThat(sent.get(60, TimeUnit.SECONDS)).isTrue();
            long grown = residentAtMost(false) - before;
            System.out.printf(
                    Locale.ROOT, "RdmaTransfer of %d bytes: %.1f s, %d KiB more memory%n", size,
                    (System.nanoTime() - begun) / 1e9, grown >> 10);
            assertThat(grown).isLessThan(64 << 20);
        }
        CRC32C read = new CRC32C();
        try (InputStream in = Files.newInputStream(folder.resolve("copy"))) {
            int count;
            while ((count = in.readNBytes(piece, 0, piece.length)) > 0) {
                read.update(piece, 0, count);
            }
        }
        assertThat(Files.size(folder.resolve("copy"))).isEqualTo(size);
        assertThat(read.getValue()).isEqualTo(written.getValue());
    }

    /** Returns the most bytes of this process that were in memory, since they were counted anew. */
    private static long residentAtMost(boolean anew) throws IOException {
        if (anew) {
            System.gc();
            Files.writeString(Path.of("/proc/self/clear_refs"), "5");
        }
        return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("VmHWM:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10).findFirst().orElseThrow();
    }

    @Test
    void errorOfTheSenderReachesTheReceiver() throws Exception {
        try (CuFileHandle source = file("a", random(10 * SLAB)); CuFileHandle target = file("b", new byte[0])) {
            FutureTask<Boolean> sent = sending(source, 0, 11 * SLAB);
            assertThat(Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> receiver.receive(target, 0)))
                    .hasMessageContaining("the peer failed").hasMessageContaining("the file ends at " + 10 * SLAB);
            assertThat(failureSoon(sent)).hasMessageContaining("the file ends");
            Failures.expect(CuFileError.INVALID_VALUE, () -> receiver.receive(target, 0));
        }
    }

    @Test
    void errorOfTheReceiverReachesTheSender() throws Exception {
        try (CuFileHandle source = file("a", random(40 * SLAB));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SLAB + 1)) {
            FutureTask<Boolean> sent = sending(source, 0, 40 * SLAB);
            Failures.expect(
                    CuFileError.INVALID_MAPPING_RANGE, () -> receiver.receive(memory.range().slice(0, SLAB + 1)));
            assertThat(failureSoon(sent)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("the peer failed").hasMessageContaining("room");
        }
    }

    @Test
    void targetThatCannotBeWrittenEndsBoth() throws Exception {
        try (CuFileHandle source = file("a", random(40 * SLAB))) {
            Path path = folder.resolve("read-only");
            Files.createFile(path);
            try (CuFileHandle target = driver.openFile(path, READ)) {
                FutureTask<Boolean> sent = sending(source, 0, 40 * SLAB);
                Failures.expect(() -> receiver.receive(target, 0));
                assertThat(failureSoon(sent)).hasMessageContaining("the peer failed");
            }
        }
    }

    @Test
    void deadSenderEndsTheReceiver() throws Exception {
        try (CuFileHandle target = file("b", new byte[0])) {
            FutureTask<Long> received = start(() -> receiver.receive(target, 0));
            from.close();
            assertThat(failureOf(received)).isInstanceOf(CuFileException.class).hasMessageContaining("answer");
        }
    }

    @Test
    void deadReceiverEndsTheSender() throws Exception {
        try (CuFileHandle source = file("a", random(40 * SLAB))) {
            to.close();
            FutureTask<Boolean> sent = sending(source, 0, 40 * SLAB);
            assertThat(failureOf(sent)).isInstanceOf(CuFileException.class).hasMessageContaining("answer");
        }
    }

    @Test
    void silentPeersAreNotWaitedForWithoutEnd() throws Exception {
        try (CuFileHandle source = file("a", random(40 * SLAB)); CuFileHandle target = file("b", new byte[0])) {
            FutureTask<Boolean> sent = sending(source, 0, 40 * SLAB);
            assertThat(failureOf(sent)).hasMessageContaining("said nothing for 1 s");
            // The words of the sender are there when the receiver comes.
            assertThat(Failures.expect(() -> receiver.receive(target, 0))).hasMessageContaining("said nothing");
        }
    }

    @Test
    void interruptEndsBoth() throws Exception {
        try (CuFileHandle target = file("b", new byte[0]); CuFileHandle source = file("a", random(SLAB))) {
            CompletableFuture<Throwable> failure = new CompletableFuture<>();
            Thread waiting = Thread.ofPlatform().start(() -> {
                try {
                    receiver.receive(target, 0);
                } catch (RuntimeException e) {
                    failure.complete(e);
                }
            });
            waiting.interrupt();
            assertThat(failure.get(20, TimeUnit.SECONDS)).hasMessageContaining("interrupted");
            assertThat(failureOf(sending(source, 0, SLAB))).hasMessageContaining("the peer failed");
        }
    }

    @Test
    void endsThatDoNotFitAreRefused() throws Exception {
        try (CuFileHandle file = file("a", new byte[0])) {
            Failures.expect(CuFileError.INVALID_VALUE, () -> sender.receive(file, 0));
            Failures.expect(CuFileError.INVALID_VALUE, () -> receiver.send(file, 0, 0));
            Failures.expect(CuFileError.INVALID_VALUE, () -> sender.send(file, -1, 0));
            Failures.expect(CuFileError.INVALID_VALUE, () -> receiver.receive(file, -1));
            FutureTask<Boolean> sent = sending(file, 0, 0);
            assertThat(receiver.receive(file, 0)).isZero();
            assertThat(sent.get(20, TimeUnit.SECONDS)).isTrue();
        }
        RdmaTransfer.Builder builder = RdmaTransfer.builder(driver, domain);
        Failures.expect(CuFileError.INVALID_VALUE, () -> builder.sender(from));
        Failures.expect(CuFileError.INVALID_VALUE, () -> builder.slabs(4, 1000));
        builder.slabs(4, SLAB);
        try (QueuePair few = domain.queuePair().port(1, tested().gidIndex()).depth(10, 5).build();
                QueuePair fewer = domain.queuePair().port(1, tested().gidIndex()).depth(9, 6).build();
                QueuePair enough = domain.queuePair().port(1, tested().gidIndex()).depth(10, 6).build()) {
            Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> builder.receiver(few));
            Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> builder.sender(few));
            Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> builder.sender(fewer));
            builder.sender(enough).close();
        }
    }

    @Test
    void peersMeetByTcp() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                QueuePair one = domain.queuePair().port(1, tested().gidIndex()).build();
                QueuePair other = domain.queuePair().port(1, tested().gidIndex()).build()) {
            FutureTask<RdmaPeer> connected = start(() -> {
                try (TcpExchange exchange = TcpExchange.accept(listener, SHORT)) {
                    return one.connect(exchange);
                }
            });
            InetSocketAddress address =
                    new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort());
            try (TcpExchange exchange = TcpExchange.connect(address, SHORT)) {
                assertThat(other.connect(exchange)).isEqualTo(one.local());
            }
            assertThat(connected.get(20, TimeUnit.SECONDS)).isEqualTo(other.local());

            FutureTask<Boolean> nonsense = start(() -> {
                try (TcpExchange exchange = TcpExchange.accept(listener, SHORT)) {
                    exchange.send(new byte[]{1, 2, 3});
                    exchange.receive();
                    return true;
                }
            });
            try (TcpExchange exchange = TcpExchange.connect(address, SHORT);
                    QueuePair third = domain.queuePair().port(1, tested().gidIndex()).build()) {
                Failures.expect(CuFileError.INVALID_VALUE, () -> third.connect(exchange));
            }
            nonsense.get(20, TimeUnit.SECONDS);
            assertThatThrownBy(() -> TcpExchange.accept(listener, Duration.ofMillis(10)))
                    .isInstanceOf(IOException.class);
        }
    }
}
