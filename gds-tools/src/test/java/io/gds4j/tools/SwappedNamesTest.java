package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.config.CuFileConfig;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.loader.Checkpoint;
import io.gds4j.tools.terminal.InputFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Names that others exchange while they are opened. */
class SwappedNamesTest {
    private static final int OPENS = 1000;
    private static final int STRANGER = 4711;

    @TempDir
    private Path folder;

    /** Opens a file. */
    interface Opening {
        void open(Path file) throws IOException;
    }

    static Stream<Arguments> openings() {
        return Stream.of(
                Arguments.of("cufile.json", (Opening) CuFileConfig::load),
                Arguments.of("data set", (Opening) file -> RecordFiles.fixed(List.of(file), 1)),
                Arguments.of("input", (Opening) file -> InputFile.bytes(file, 100, "a file")));
    }

    /** Before the look came first, one of about 100 opens waited for a writer without end. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("openings")
    @Timeout(60)
    void nameThatBecomesAPipeMakesNothingWait(String what, Opening opening) throws Exception {
        Path name = Files.writeString(folder.resolve("name"), "{}");
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        Path file = Files.createLink(folder.resolve("file"), name);
        AtomicBoolean over = new AtomicBoolean();
        Thread attacker = Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                exchange(pipe, name);
                exchange(file, name);
            }
        });
        int refused = 0;
        for (int i = 0; i < OPENS || refused == 0; i++) {
            try {
                opening.open(name);
            } catch (RuntimeException e) {
                assertThat(e).hasMessageContaining("regular file");
                refused++;
            }
        }
        over.set(true);
        attacker.join();
    }

    /** Tells which folders belong to this user. */
    static final class Asking {
        private Asking() {
        }

        public static void main(String[] folders) {
            for (String folder : folders) {
                try (OwnFolder _ = OwnFolder.open(Path.of(folder))) {
                    System.out.println("own");
                } catch (IOException e) {
                    System.out.println(e.getMessage().replaceFirst(".*: ", ""));
                }
            }
        }
    }

    /** Saves over a file of another user, and asks for the owner of a link without libc. */
    static final class Saving {
        private Saving() {
        }

        public static void main(String[] paths) throws IOException {
            Checkpoint.save(Path.of(paths[0]), Map.of("t", new float[]{1}));
            try (FoundFile link = FoundFile.at(Optional.empty(), Path.of(paths[1]), LinkOption.NOFOLLOW_LINKS)) {
                System.out.println(link.belongsTo(FoundFile.user()));
            }
        }
    }

    /** Runs a program as the user nobody of a namespace, which knows no other user. */
    private static List<String> runAsNobody(Class<?> program, Path... arguments) throws IOException {
        List<String> unshare = List.of("unshare", "-U", "--map-user=65534", "--map-group=65534");
        assumeTrue(FoundFile.user().equals(Optional.of(0)), "only root can play the other user");
        assumeTrue(run(unshare, "true").isEmpty(), "no namespaces of users");
        return run(unshare, java(program, arguments));
    }

    @Test
    @Timeout(60)
    void strangersGiveNoPermissionsToAUserNobody() throws Exception {
        Path old = Files.writeString(folder.resolve("model.safetensors"), "theirs");
        Path secret = Files.writeString(folder.resolve("secret"), "secret");
        Path link = Files.createSymbolicLink(folder.resolve("link"), secret);
        Files.setPosixFilePermissions(old, PosixFilePermissions.fromString("rw-rw-rw-"));
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        assumeTrue(FoundFile.user().equals(Optional.of(0)), "only root can play the other user");
        Files.setAttribute(old, "unix:uid", STRANGER);
        Files.setAttribute(link, "unix:uid", STRANGER, LinkOption.NOFOLLOW_LINKS);
        assertThat(runAsNobody(Saving.class, old, link)).containsExactly("false");
        assertThat(Files.getAttribute(old, "unix:uid")).isEqualTo(0);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(old))).endsWith("r--");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(secret))).isEqualTo("rw-------");
    }

    /** A container with a namespace of users shows files of users that it does not have as those of nobody, and may run as nobody. */
    @Test
    @Timeout(60)
    void strangersAreNotTheUserNobodyOfAContainer() throws Exception {
        Path own = Files.createDirectory(folder.resolve("own"));
        Path theirs = Files.createDirectory(folder.resolve("theirs"));
        assumeTrue(FoundFile.user().equals(Optional.of(0)), "only root can play the other user");
        Files.setAttribute(theirs, "unix:uid", STRANGER);
        assertThat(runAsNobody(Asking.class, own, theirs)).containsExactly("own",
                "this folder belongs to another user");
    }

    /** With libc; {@code OwnFolderTest} has the same without it. */
    @Test
    void removalKeepsFoldersOfOthers() throws IOException {
        assumeTrue(FoundFile.user().equals(Optional.of(0)), "only root can play the other user");
        try (OwnFolder own = OwnFolder.create(folder.resolve("own"))) {
            Path theirs = Files.createDirectory(own.path().resolve("theirs"));
            Files.writeString(theirs.resolve("id"), "PRECIOUS");
            Files.setAttribute(theirs, "unix:uid", STRANGER);
            assertThatThrownBy(own::remove).isInstanceOf(DirectoryNotEmptyException.class);
        }
        assertThat(folder.resolve("own/theirs/id")).hasContent("PRECIOUS");
    }

    @Test
    void removalTakesLinksAndNotWhatTheyLeadTo() throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Path id = Files.writeString(home.resolve("id"), "PRECIOUS");
        Path name = folder.resolve("own");
        try (OwnFolder own = OwnFolder.create(name)) {
            Files.createSymbolicLink(own.path().resolve("link"), home);
            Files.createLink(own.path().resolve("hard"), id);
            own.remove();
        }
        assertThat(name).doesNotExist();
        assertThat(id).hasContent("PRECIOUS");
    }

    /** Removes a folder. */
    static final class Removing {
        private Removing() {
        }

        public static void main(String[] paths) {
            try (OwnFolder folder = OwnFolder.open(Path.of(paths[0]))) {
                folder.remove();
                System.out.println("removed");
            } catch (IOException e) {
                System.out.println(e.getClass().getSimpleName());
            }
        }
    }

    /** A folder of the same file system and user that is mounted below is no content of it. */
    @Test
    @Timeout(60)
    void removalEntersNoMount() throws IOException {
        Path home = Files.createDirectory(folder.resolve("home"));
        Files.writeString(home.resolve("id"), "PRECIOUS");
        Path own = Files.createDirectory(folder.resolve("own"));
        Path mounted = Files.createDirectory(own.resolve("mounted"));
        List<String> mounting =
                List.of("unshare", "-m", "sh", "-c", "mount --bind \"$0\" \"$1\" && shift && exec \"$@\"",
                        home.toString(), mounted.toString());
        assumeTrue(FoundFile.user().equals(Optional.of(0)), "only root can mount");
        assumeTrue(run(mounting, "true").isEmpty(), "no namespaces of mounts");
        assertThat(run(mounting, java(Removing.class, own))).containsExactly("DirectoryNotEmptyException");
        assertThat(home.resolve("id")).hasContent("PRECIOUS");
    }

    private static String[] java(Class<?> program, Path... arguments) {
        return Stream.concat(
                Stream.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-cp",
                        System.getProperty("java.class.path"), program.getName()),
                Stream.of(arguments).map(Path::toString)).toArray(String[]::new);
    }

    private static List<String> run(List<String> before, String... command) throws IOException {
        Process process = new ProcessBuilder(Stream.concat(before.stream(), Stream.of(command)).toList())
                .redirectErrorStream(true).start();
        try (BufferedReader lines = process.inputReader()) {
            return lines.lines().toList();
        }
    }

    private void exchange(Path other, Path name) {
        try {
            Files.move(Files.createLink(folder.resolve("next"), other), name, StandardCopyOption.ATOMIC_MOVE);
            Files.deleteIfExists(folder.resolve("next")); // rename leaves both names of one file
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
