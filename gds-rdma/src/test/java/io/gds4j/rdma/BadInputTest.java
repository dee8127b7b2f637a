package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each wrong argument is one line with the verb and an errno, whether the device or gds4j finds it. */
class BadInputTest {
    private static final CudaAvailability NO_CUDA = new CudaAvailability.Unavailable("none", "none");
    private static final Set<RdmaAccess> LOCAL = EnumSet.of(RdmaAccess.LOCAL_WRITE);
    private static final Set<RdmaAccess> READ = EnumSet.of(RdmaAccess.REMOTE_READ);
    private static final Duration SOON = Duration.ofSeconds(20);

    private final SoftVerbs verbs = new SoftVerbs("soft0");
    private final RdmaDevices devices = ((RdmaAvailability.Available) RdmaDevices.of(verbs, () -> NO_CUDA)).verbs();
    private final Map<String, ThrowingCallable> wrong = new LinkedHashMap<>();

    @Test
    void nullIsRefusedAtOnce() throws Exception {
        Gid gid = new Gid(0, 1);
        try (CuFileDriver driver = CuFileDriver.open(); ProtectionDomain domain = devices.open("soft0")) {
            RdmaTransfer.Builder builder = RdmaTransfer.builder(driver, domain);
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    () -> devices.open(null),
                    () -> new RdmaPeer(null, 1, 1, 0, 1024, gid),
                    () -> new RdmaPeer(QueuePairType.RC, 1, 1, 0, 1024, null),
                    () -> domain.queuePair().type(null),
                    () -> RegionCache.of(domain, null, LOCAL, 1),
                    () -> RdmaTransfer.builder(null, domain),
                    () -> RdmaTransfer.builder(driver, null),
                    () -> builder.memory(null, 0),
                    () -> builder.timeout(null),
                    () -> TcpExchange.connect(null, SOON))) {
                assertThatThrownBy(call).isInstanceOf(NullPointerException.class);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1 << 16, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void peerWithAnImpossibleIdentifierIsRefused(int lid) {
        Failures.expect(
                CuFileError.INVALID_VALUE, Errno.EINVAL,
                () -> new RdmaPeer(QueuePairType.RC, 1, 1, lid, 1024, new Gid(0, 1)));
        assertThat(new RdmaPeer(QueuePairType.RC, 1, 1, 0xffff, 1024, new Gid(0, 1)).lid()).isEqualTo(0xffff);
    }

    @Test
    void wrongArgumentsAreOneLineWithVerbAndErrno() {
        try (NativeMemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), NO_CUDA);
                Arena arena = Arena.ofShared();
                MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 8192);
                ProtectionDomain domain = devices.open("soft0");
                ProtectionDomain other = devices.open("soft0");
                MemoryRegion region = domain.register(memory.range(), RdmaContract.ALL);
                MemoryRegion readOnly = domain.register(memory.range(), READ);
                MemoryRegion foreign = other.register(memory.range(), RdmaContract.ALL);
                QueuePair requester = domain.queuePair().depth(2, 2).build();
                QueuePair responder = domain.queuePair().depth(2, 2).build();
                QueuePair alone = domain.queuePair().build();
                MemoryWindow window = domain.window(WindowType.TYPE_2)) {
            requester.connect(responder.local());
            responder.connect(requester.local());
            RegionSlice slice = region.slice(0, 8);
            RemoteMemory remote = region.remote();
            ProtectionDomain closed = devices.open("soft0");
            closed.close();
            MemoryRegion gone = domain.register(memory.range(), LOCAL);
            gone.close();
            QueuePair ended = domain.queuePair().build();
            ended.close();
            MemoryRange segment = MemoryRange.ofSegment(arena.allocate(8).asReadOnly());

            wrong.put("device", () -> devices.open("soft7"));
            wrong.put("port of a domain", () -> domain.port(9));
            wrong.put("GID index", () -> domain.gid(1, 200));
            wrong.put("port of a queue pair", () -> domain.queuePair().port(9, 0).build());
            wrong.put("GID of a queue pair", () -> domain.queuePair().port(1, 5).build());
            wrong.put("closed domain", () -> closed.register(memory.range(), LOCAL));
            wrong.put("closed domain, window", () -> closed.window(WindowType.TYPE_1));
            wrong.put("closed domain, queue pair", () -> closed.queuePair().build());
            wrong.put("closed domain, device", closed::device);
            wrong.put("closed domain, sibling", closed::sibling);
            wrong.put("domain of another device", () -> other.reregister(region, LOCAL));
            wrong.put("no memory", () -> domain.register(memory.range().slice(0, 0), LOCAL));
            wrong.put("read-only memory", () -> domain.register(segment, LOCAL));
            wrong.put("rights", () -> domain.register(memory.range(), Set.of(RdmaAccess.REMOTE_WRITE)));
            wrong.put("closed region", () -> requester.write(1, gone.slice(0, 8), remote));
            wrong.put("closed region, reregistered", () -> gone.reregister(LOCAL));
            wrong.put("region of another domain", () -> requester.write(1, foreign.slice(0, 8), remote));
            wrong.put("region without LOCAL_WRITE", () -> requester.read(1, readOnly.slice(0, 8), remote));
            wrong.put("receive without LOCAL_WRITE", () -> requester.receive(1, readOnly.slice(0, 8)));
            wrong.put("not connected", () -> alone.write(1, slice, remote));
            wrong.put("closed queue pair", () -> ended.write(1, slice, remote));
            wrong.put("closed queue pair, wait", () -> ended.await(SOON));
            wrong.put("connected twice", () -> requester.connect(responder.local()));
            wrong.put("small target", () -> requester.write(1, slice, remote.slice(0, 4)));
            wrong.put("atomic size", () -> requester.fetchAdd(1, region.slice(0, 4), remote, 1));
            wrong.put("atomic address", () -> requester.fetchAdd(1, slice, remote.slice(4, 8), 1));
            wrong.put("much inline data", () -> requester.writeInline(1, new byte[5000], remote));
            wrong.put("many parts", () -> requester.send(1, slice, slice, slice, slice, slice));
            wrong.put("window range", () -> window.bind(responder, region, 8000, 500, READ));
            wrong.put("window rights", () -> window.bind(responder, region, 0, 8, LOCAL));
            wrong.put("window of a region without WINDOW_BIND", () -> window.bind(responder, readOnly, 0, 8, READ));
            wrong.put("window of another domain", () -> window.bind(responder, foreign, 0, 8, READ));
            wrong.put("window of a closed queue pair", () -> window.bind(ended, region, 0, 8, READ));
            wrong.put("slice of a region", () -> region.slice(8000, 500));
            wrong.put("slice of remote memory", () -> remote.slice(8000, 500));
            wrong.put("remote memory", () -> RemoteMemory.decode(new byte[3]));
            wrong.put("missing key", () -> {
                requester.write(1, slice, new RemoteMemory(remote.address(), 8, 0x7777));
                requester.await(SOON).orElseThrow().check();
            });
            wrong.put("full queue", () -> {
                for (int i = 0; i < 3; i++) {
                    responder.receive(i, slice);
                }
            });

            wrong.forEach((what, call) -> {
                CuFileException failure = Failures.expect(call::call);
                assertThat(failure.getMessage()).as(what).doesNotContain("\n");
                assertThat(failure.errno()).as(what + ": " + failure.getMessage()).isPresent();
                assertThat(failure.function()).as(what)
                        .matches(verb -> verb.startsWith("ibv_") || what.startsWith("slice")
                                || what.startsWith("remote"));
            });
        }
        assertThat(verbs.live()).isEmpty();
    }
}
