package io.gds4j.compat;

import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * The peer-to-peer flags of an open driver. They are kept and reported as cuFile does, and change nothing: this engine has no
 * peer-to-peer path. Thread-safe.
 */
final class CompatPeers {
    private static final int PCI_P2PDMA = 1;
    private static final int C2C = 8;
    /** The only flag that cuFile lets a program set. */
    private static final int ALLOWED =
            System.getProperty("os.arch").toLowerCase(Locale.ROOT).equals("aarch64") ? C2C : PCI_P2PDMA;

    private final Map<TargetType, Integer> flags = new EnumMap<>(TargetType.class);

    /** @throws CuFileException INVALID_VALUE for other flags than the machine's */
    synchronized void set(TargetType target, int bits) {
        if (bits != ALLOWED) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, "cuFileDriverSetP2PFlags",
                    "flags are 0x%x, allowed on this machine: 0x%x".formatted(bits, ALLOWED));
        }
        flags.put(target, bits);
    }

    synchronized int get(TargetType target) {
        return flags.getOrDefault(target, 0);
    }

    /** The driver closes: cuFile forgets the flags. */
    synchronized void clear() {
        flags.clear();
    }
}
