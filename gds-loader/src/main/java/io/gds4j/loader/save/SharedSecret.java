package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The random part of the hidden names of a {@link SharedSave}. The first writer lays it into the folder, and the others find it
 * there: as the target of a symbolic link, because a link is created together with what it says.
 */
final class SharedSecret {
    private static final int BYTES = 16;
    private static final Pattern SECRET = Pattern.compile("[0-9a-f]{" + 2 * BYTES + "}");
    private static final int MOST_ATTEMPTS = 100;

    private final Path link;
    private final FileCalls calls;
    private final GuessableName names;

    SharedSecret(Path link, FileCalls calls, GuessableName names) {
        this.link = link;
        this.calls = calls;
        this.names = names;
    }

    /**
     * Returns the secret, and lays it if there is none.
     *
     * @return empty where the file system knows no symbolic links
     * @throws CuFileException EPERM if the link is not one of this user
     */
    String layOrFind() {
        for (int i = 0; i < MOST_ATTEMPTS; i++) {
            String found = find();
            if (!found.isEmpty()) {
                return found;
            }
            byte[] random = new byte[BYTES];
            new SecureRandom().nextBytes(random);
            String secret = HexFormat.of().formatHex(random);
            try {
                Files.createSymbolicLink(link, Path.of(secret));
                return secret;
            } catch (FileAlreadyExistsException e) {
                // another writer was first
            } catch (UnsupportedOperationException | IOException e) {
                return ""; // without links, or without access, of which the next call tells
            }
        }
        throw SaveFailure.busy(link);
    }

    /** Returns the secret; empty if there is none. */
    String find() {
        try {
            Optional<StatxResult> found = calls.status(link);
            if (found.isEmpty()) {
                return "";
            }
            StatxResult there = found.get();
            String secret = there.isSymbolicLink() ? Files.readSymbolicLink(link).toString() : "";
            if (!SECRET.matcher(secret).matches()) {
                throw SaveFailure.of(link, "use the link: a save has not made it", Errno.EPERM);
            }
            names.checkOwn(link, there);
            return secret;
        } catch (IOException e) {
            return ""; // a commit has removed it meanwhile
        }
    }
}
