package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.posix.PosixConstants;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/** Cases of the functions, parameters and counters that came after 1.15. */
final class RawLaterCases {
    private static final int NVME = 4;
    private static final int TEXT_BYTES = 256;
    private static final int ROOM = 16 << 10;
    private static final byte UNTOUCHED = (byte) 0xa5;
    private static final long K4 = 4096;

    private final RawLibrary library;
    private final CuFileCalls calls;

    RawLaterCases(RawLibrary library) {
        this.library = library;
        this.calls = library.calls;
    }

    void run() {
        parameters("before open");
        setSlabs("set GPU slabs (null)", MemorySegment.NULL, MemorySegment.NULL, 2);
        setSlabs("set no GPU slabs", longs(1024), longs(4), 0);
        setSlabs("set -1 GPU slabs", longs(1024), longs(4), -1);
        getSlabs("GPU slabs before open, length 2", 2);
        setSlabs("set GPU slabs of 7 and 9 KiB", longs(7, 9), longs(4, 2), 2);
        setSlabs("set GPU slabs 1024 x 4, 8192 x 2", longs(1024, 8192), longs(4, 2), 2);
        getSlabs("GPU slabs staged, length 2", 2);
        getSlabs("GPU slabs staged, length 3", 3);
        getFlags("getP2P(nvme) before open", NVME);
        setFlags("setP2P(nvme,1) before open", NVME, 1);
        library.driverOpen("open");
        parameters("open");
        getSlabs("GPU slabs open, length 2", 2);
        getSlabs("GPU slabs open, length 3", 3);
        setSlabs("set GPU slabs while open", longs(1024), longs(4), 1);
        peerFlags();
        topology();
        vectors();
        library.driverClose("close");
        statistics();
    }

    private void parameters(String when) {
        for (int i : new int[]{5, 11, 12, 13, 14}) {
            MemorySegment value = library.cell(0);
            int error = CuFileResults.error(calls.status(CuFileFunction.GET_PARAMETER_BOOL, i, value.address()));
            library.row("bool %s %s".formatted(i, when),
                    "err %d value %d".formatted(error, value.get(JAVA_BOOLEAN, 0) ? 1 : 0));
        }
        MemorySegment text = library.arena.allocate(TEXT_BYTES);
        int error =
                CuFileResults.error(calls.status(CuFileFunction.GET_PARAMETER_STRING, 3, text.address(), TEXT_BYTES));
        library.row("string 3 " + when, "err %d '%s'".formatted(error, text.getString(0)));
    }

    private MemorySegment longs(long... values) {
        return library.arena.allocateFrom(JAVA_LONG, values);
    }

    private void setSlabs(String name, MemorySegment sizes, MemorySegment counts, int length) {
        library.status(name,
                calls.status(CuFileFunction.SET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY, sizes.address(),
                        counts.address(), length));
    }

    private void getSlabs(String name, int length) {
        MemorySegment sizes = longs(new long[length]);
        MemorySegment counts = longs(new long[length]);
        int error = CuFileResults.error(
                calls.status(CuFileFunction.GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY, sizes.address(),
                        counts.address(), length));
        StringBuilder answer = new StringBuilder("err " + error);
        for (int i = 0; error == 0 && i < length; i++) {
            answer.append(" %d x %d".formatted(sizes.getAtIndex(JAVA_LONG, i), counts.getAtIndex(JAVA_LONG, i)));
        }
        library.row(name, answer.toString());
    }

    private void getFlags(String name, int target) {
        MemorySegment flags = library.count(-7);
        int error = CuFileResults.error(calls.status(CuFileFunction.DRIVER_GET_P2P_FLAGS, target, flags.address()));
        library.row(name, "err %d flags %d".formatted(error, flags.get(JAVA_INT, 0)));
    }

    private void setFlags(String name, int target, int flags) {
        library.status(name, calls.status(CuFileFunction.DRIVER_SET_P2P_FLAGS, target, flags));
    }

    private void peerFlags() {
        for (int target : new int[]{-1, 0, NVME, 14, 15}) {
            getFlags("getP2P(%d)".formatted(target), target);
        }
        library.status("getP2P(null)",
                calls.status(CuFileFunction.DRIVER_GET_P2P_FLAGS, NVME, 0));
        for (int flags = 0; flags < 3; flags++) {
            setFlags("setP2P(nvme,%d)".formatted(flags), NVME, flags);
        }
        getFlags("getP2P(nvme) after them", NVME);
        setFlags("setP2P(99,1)", 99, 1);
        setFlags("setP2P(-1,1)", -1, 1);
    }

    private void topology() {
        Path file = library.path.resolveSibling("topology");
        exportTopology("exportTopology", library.arena.allocateFrom(file.toString()));
        library.row("its file", Files.exists(file) ? "made" : "missing");
        exportTopology("exportTopology(null)", MemorySegment.NULL);
        exportTopology("exportTopology in no folder", library.arena.allocateFrom("/none/topology"));
    }

    private void exportTopology(String name, MemorySegment file) {
        library.status(name, calls.status(CuFileFunction.EXPORT_PCIE_TOPOLOGY, file.address()));
    }

    private MemorySegment vector(long... basesAndLengths) {
        return longs(basesAndLengths);
    }

    private void readv(String name, long handle, MemorySegment vector, int count, long offset, int flags) {
        library.transferred(name,
                calls.transferVector(CuFileFunction.READV, handle, vector, count, offset, flags));
    }

    private void writev(String name, long handle, MemorySegment vector, int count, long offset, int flags) {
        library.transferred(name,
                calls.transferVector(CuFileFunction.WRITEV, handle, vector, count, offset, flags));
    }

    /** Leaves out a null base and a length of 0, which end the process, and 65 to 128 ranges, after which 1.20 does not close. */
    private void vectors() {
        long at = library.device;
        MemorySegment host = library.arena.allocate(K4, K4);
        long handle = library.registerSilently(library.buffered);
        long readOnly = library.registerSilently(library.open(PosixConstants.O_RDONLY));
        MemorySegment two = vector(at, K4, at + 2 * K4, K4);
        MemorySegment odd = vector(at + 1, 100, at + 500, 77);
        long[] many = new long[2 * 129];
        for (int i = 0; i < 129; i++) {
            many[2 * i] = at + i * K4;
            many[2 * i + 1] = K4;
        }
        readv("readv 2 x 4096", handle, two, 2, 0, 0);
        readv("readv of none", handle, two, 0, 0, 0);
        readv("readv(null)", handle, MemorySegment.NULL, 2, 0, 0);
        readv("readv of no handle", 0, two, 2, 0, 0);
        readv("readv unaligned", handle, odd, 2, 3, 0);
        readv("readv to GPU and host", handle, vector(at, K4, host.address(), K4), 2, 0, 0);
        readv("readv with flags 1", handle, two, 2, 0, 1);
        readv("readv at -1", handle, two, 2, -1, 0);
        readv("readv across the end", handle, vector(at, K4, at + K4, 2 * K4), 2, RawLibrary.BYTES - 2 * K4, 0);
        readv("readv across the end, odd", handle, vector(at, K4, at + K4, 2 * K4), 2, RawLibrary.BYTES - 5000, 0);
        readv("readv at the end", handle, two, 2, RawLibrary.BYTES, 0);
        readv("readv of 129 ranges", handle, longs(many), 129, 0, 0);
        readv("readv to one range twice", handle, vector(at, K4, at, K4), 2, 0, 0);
        readv("readv of 2^63 bytes", handle, vector(at, 1L << 62, at, 1L << 62), 2, 0, 0);
        writev("writev 2 x 4096", handle, two, 2, 0, 0);
        writev("writev to a file that is read", readOnly, two, 2, 0, 0);
        writev("writev of none", handle, two, 0, 0, 0);
        writev("writev unaligned", handle, odd, 2, 3, 0);
        writev("writev with flags 1", handle, two, 2, 0, 1);
        writev("writev at -4096", handle, two, 2, -K4, 0);
        writev("writev of 129 ranges", handle, longs(many), 129, 0, 0);
    }

    /** How many bytes the library writes, and what it counts. */
    private void statistics() {
        library.status("setStatsLevel 3", calls.status(CuFileFunction.SET_STATS_LEVEL, 3));
        library.driverOpen("open with statistics");
        library.status("start", calls.status(CuFileFunction.STATS_START));
        long handle = library.registerSilently(library.buffered);
        MemorySegment two = vector(library.device, K4, library.device + 2 * K4, K4);
        for (int i = 0; i < 3; i++) {
            calls.transferVector(CuFileFunction.READV, handle, two, 2, 0, 0);
        }
        calls.transferVector(CuFileFunction.WRITEV, handle, two, 2, 0, 0);
        extent("bytes of level 1", CuFileFunction.GET_STATS_L1);
        extent("bytes of level 2", CuFileFunction.GET_STATS_L2);
        library.status("stop", calls.status(CuFileFunction.STATS_STOP));
        library.driverClose("close with statistics");
    }

    private void extent(String name, CuFileFunction function) {
        MemorySegment room = library.arena.allocate(ROOM);
        room.fill(UNTOUCHED);
        int error = CuFileResults.error(calls.status(function, room.address()));
        long end = ROOM;
        while (end > 0 && room.get(JAVA_BYTE, end - 1) == UNTOUCHED) {
            end--;
        }
        library.row(name, "err %d written %d".formatted(error, end));
    }
}
