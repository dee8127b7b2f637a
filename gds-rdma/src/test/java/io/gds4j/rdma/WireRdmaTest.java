package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.testkit.Failures;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The contract on Soft-RoCE, in the guest of dev/guest.sh: it checks regions to the byte, and windows by their keys alone. */
@Tag("rdma")
class WireRdmaTest extends RdmaContract {
    private static final RdmaAvailability HERE = RdmaDevices.detect();

    @Override
    RdmaDevices devices() {
        return ((RdmaAvailability.Available) HERE).verbs();
    }

    @Override
    String device() {
        return System.getProperty("gds4j.rdma.device", "rxe0");
    }

    @Override
    int gidIndex() {
        return Integer.getInteger("gds4j.rdma.gid", 1);
    }

    @Override
    int randomOperations() {
        return Integer.getInteger("gds4j.rdma.operations", 2_000);
    }

    @Override
    boolean windowsHaveBounds() {
        return false;
    }

    @Test
    void deviceSaysWhatItIs() {
        RdmaDevice device = domain.device();
        assertThat(device.windows()).contains(WindowType.TYPE_2);
        assertThat(device.atomics()).isTrue();
        assertThat(device.ports()).isOne();
        RdmaPort port = domain.port(1);
        assertThat(port.active()).isTrue();
        assertThat(port.ethernet()).isTrue();
        assertThat(domain.gid(1, gidIndex()).isEmpty()).isFalse();
        Failures.expectErrno(Errno.EINVAL, () -> domain.port(2));
    }

    @Test
    void otherDeviceIsReachedByTheCable() {
        try (ProtectionDomain other = devices().open("rxe1");
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
        assertThat(Failures.expect(
                CuFileError.IO_NOT_SUPPORTED, Errno.EOPNOTSUPP,
                () -> target.reregister(EnumSet.of(RdmaAccess.LOCAL_WRITE))))
                .hasMessageContaining("ibv_rereg_mr").hasMessageContaining(device());
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

    @Test
    void connectionsLeaveNothingBehind() throws Exception {
        int count = Integer.getInteger("gds4j.rdma.connections", 100);
        renew(QueuePairType.RC);
        long before = descriptors();
        for (int i = 0; i < count; i++) {
            renew(QueuePairType.RC);
            requester.writeInline(i, new byte[]{1}, target.remote().slice(0, 1));
            next(requester).check();
        }
        assertThat(descriptors()).isEqualTo(before);
    }

    private static long descriptors() throws Exception {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }
}
