package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.testkit.Failures;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The contract on a device: Soft-RoCE in the guest of dev/guest.sh, which checks windows by their keys alone, or an adapter. */
@Tag("rdma")
class WireRdmaTest extends RdmaContract {
    private static final TestDevice TESTED = TestDevice.ofGuest();

    @Override
    TestDevice tested() {
        return TESTED;
    }

    @Override
    int randomOperations() {
        return Integer.getInteger("gds4j.rdma.operations", 2_000);
    }

    @Override
    boolean windowsHaveBounds() {
        return !TESTED.isSoft();
    }

    @Test
    void deviceSaysWhatItIs() {
        assumeTrue(TESTED.isSoft(), "only Soft-RoCE's ports and windows are known");
        RdmaDevice device = domain.device();
        assertThat(device.windows()).contains(WindowType.TYPE_2);
        assertThat(device.atomics()).isTrue();
        assertThat(device.ports()).isOne();
        RdmaPort port = domain.port(1);
        assertThat(port.active()).isTrue();
        assertThat(port.linkLayer()).isEqualTo(RdmaPort.LinkLayer.ETHERNET);
        assertThat(domain.gid(1, tested().gidIndex()).isEmpty()).isFalse();
        Failures.expectErrno(Errno.EINVAL, () -> domain.port(2));
    }

    @Test
    void otherDeviceIsReachedByTheCable() {
        String second = System.getProperty("gds4j.rdma.other", "rxe1");
        assumeFalse(second.isEmpty(), "no second device is named");
        try (ProtectionDomain other = tested().devices().open(second);
                MemoryRegion region = other.register(there.range(), ALL);
                QueuePair far = queuePair(other, QueuePairType.RC);
                QueuePair near = queuePair(domain, QueuePairType.RC)) {
            near.connect(far.local());
            far.connect(near.local());
            near.write(1, source.slice(0, 300_000), region.remote().slice(0, 300_000));
            next(near).check();
            assertThat(bytes(there).asSlice(0, 300_000).mismatch(bytes(here).asSlice(0, 300_000))).isEqualTo(-1);
        }
    }

    /** rdma-core 44 has no function for it, whatever the kernel can. */
    @Test
    void deviceThatCannotReregisterSaysSo() {
        assumeTrue(TESTED.isSoft(), "adapters can");
        assertThat(Failures.expect(
                CuFileError.IO_NOT_SUPPORTED, Errno.EOPNOTSUPP,
                () -> target.reregister(EnumSet.of(RdmaAccess.LOCAL_WRITE))))
                .hasMessageContaining("ibv_rereg_mr").hasMessageContaining(tested().name());
        assertThat(target.rights()).isEqualTo(ALL);
    }

    @Test
    void regionHasAddressesOfChoice() {
        MemoryRegion region = domain.register(there.range().slice(0x200, 10_000), 0x141200, ALL);
        requester.write(1, source.slice(0, 10_000), region.remote());
        next(requester).check();
        assertThat(bytes(there).asSlice(0x200, 10_000).mismatch(bytes(here).asSlice(0, 10_000))).isEqualTo(-1);
        requester.write(2, source.slice(0, 1), new RemoteMemory(0x141200 + 10_000, 1, region.remoteKey()));
        assertThat(next(requester).status()).isEqualTo(CompletionStatus.REM_ACCESS_ERR);
        region.close();
    }

    /** A thousand with {@code -Dgds4j.rdma.connections=1000}. */
    @Test
    void connectionsLeaveNothingBehind() throws Exception {
        int count = Integer.getInteger("gds4j.rdma.connections", 50);
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            connectAndWrite(listener, other, Math.min(count, 100));
            Left before = Left.now();
            connectAndWrite(listener, other, count);
            Left after = Left.now();
            System.out.printf("RDMA connections, %s: before %s, after %s%n", count, before, after);
            assertThat(after.descriptors).isEqualTo(before.descriptors);
            assertThat(after.threads).isEqualTo(before.threads);
            assertThat(after.device).isEqualTo(before.device);
            assertThat(after.kibibytes - before.kibibytes).isLessThan(16 << 10);
        }
    }

    private void connectAndWrite(ServerSocket listener, ExecutorService other, int count) throws Exception {
        InetSocketAddress address = new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort());
        for (int i = 0; i < count; i++) {
            try (MemoryRegion region = domain.register(there.range(), ALL);
                    QueuePair far = queuePair(domain, QueuePairType.RC);
                    QueuePair near = queuePair(domain, QueuePairType.RC)) {
                Future<RdmaPeer> accepted = other.submit(() -> {
                    try (TcpExchange exchange = TcpExchange.accept(listener, SOON)) {
                        return far.connect(exchange);
                    }
                });
                try (TcpExchange exchange = TcpExchange.connect(address, SOON)) {
                    near.connect(exchange);
                }
                assertThat(accepted.get()).isEqualTo(near.local());
                near.writeInline(i, new byte[]{1}, region.remote().slice(0, 1));
                next(near).check();
            }
        }
    }

    /** What is in use: of this process, and of the device as {@code rdma resource} counts it. */
    private record Left(long descriptors, long threads, long kibibytes, String device) {
        static Left now() throws Exception {
            System.gc();
            List<String> status = Files.readAllLines(Path.of("/proc/self/status"));
            long descriptors;
            try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
                descriptors = open.count();
            }
            Process resources = new ProcessBuilder("rdma", "resource").redirectErrorStream(true).start();
            String device = new String(resources.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            resources.waitFor();
            return new Left(descriptors, Thread.getAllStackTraces().size(), number(status, "VmRSS:"), device);
        }

        private static long number(List<String> lines, String name) {
            return lines.stream().filter(line -> line.startsWith(name))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", ""))).findFirst().orElseThrow();
        }
    }
}
