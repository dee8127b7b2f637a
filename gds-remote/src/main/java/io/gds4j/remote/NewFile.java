package io.gds4j.remote;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Set;

/** Creates files for this user alone, in folders that others may write. They are open from the start: their names may change. */
final class NewFile {
    private static final FileAttribute<?> FOR_OWNER =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final SecureRandom RANDOM = new SecureRandom();
    /** The smallest number of 19 digits. */
    private static final long MIN_RANDOM = 1_000_000_000_000_000_000L;

    private NewFile() {
    }

    /** Creates a file, which nothing else may have the name of. */
    static FileChannel open(Path file) throws IOException {
        return FileChannel.open(
                file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
                FOR_OWNER);
    }

    /** Returns 19 digits for a name that cannot be guessed. */
    static String randomDigits() {
        return Long.toString(RANDOM.nextLong(MIN_RANDOM, Long.MAX_VALUE));
    }
}
