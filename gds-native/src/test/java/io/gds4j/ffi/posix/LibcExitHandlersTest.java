package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.ChildJvm;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Exit handlers set words at the end of a process. The words are in a mapped file, so that the test can read them. */
class LibcExitHandlersTest {
    private static final int FILE_BYTES = 4096;
    private static final byte FILLING = 0x5A;

    /** Offsets of the words of two groups. */
    private static final int FIRST = 1024;
    private static final int SECOND = 2048;

    @TempDir
    private Path folder;

    private Path file;

    enum Ending {
        HALT {
            @Override
            void end(int status) {
                Runtime.getRuntime().halt(status);
            }
        },
        EXIT {
            @Override
            void end(int status) {
                System.exit(status);
            }
        };

        abstract void end(int status);
    }

    @BeforeEach
    void fill() throws IOException {
        byte[] bytes = new byte[FILE_BYTES];
        Arrays.fill(bytes, FILLING);
        file = Files.write(folder.resolve("words"), bytes);
    }

    @ParameterizedTest
    @EnumSource
    void processEndSetsWordsAndNothingElse(Ending ending) throws IOException {
        endsWell(WordsOfAFile.class, ending.name());
        MemorySegment after = MemorySegment.ofArray(Files.readAllBytes(file));
        assertThat(after.get(ValueLayout.JAVA_INT_UNALIGNED, FIRST)).isEqualTo(ExitHandlers.PASSED);
        assertThat(after.get(ValueLayout.JAVA_INT_UNALIGNED, SECOND)).isEqualTo(ExitHandlers.PASSED);
        untouched(after, 0, FIRST);
        untouched(after, FIRST + ExitHandlers.BYTES, SECOND);
        untouched(after, SECOND + ExitHandlers.BYTES, FILE_BYTES);
    }

    @Test
    void forgottenWordIsSetAtOnceAndNotAtExit() throws IOException {
        assertThat(endsWell(OneGroupForgotten.class).output().lines()).containsExactly("7fffffff", "5a5a5a5a");
        MemorySegment after = MemorySegment.ofArray(Files.readAllBytes(file));
        untouched(after, 0, SECOND);
        assertThat(after.get(ValueLayout.JAVA_INT_UNALIGNED, SECOND)).isEqualTo(ExitHandlers.PASSED);
    }

    private ChildJvm.End endsWell(Class<?> main, String... more) {
        String[] arguments = new String[1 + more.length];
        arguments[0] = file.toString();
        System.arraycopy(more, 0, arguments, 1, more.length);
        ChildJvm.End end = new ChildJvm(main, folder).run(arguments);
        assertThat(end.status()).as("%s", end).isEqualTo(5);
        assertThat(end.error()).isEmpty();
        return end;
    }

    private static void untouched(MemorySegment bytes, long from, long to) {
        assertThat(bytes.asSlice(from, to - from).toArray(ValueLayout.JAVA_BYTE)).containsOnly(FILLING);
    }

    private static MemorySegment map(String file) throws IOException {
        try (FileChannel channel =
                FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, FILE_BYTES, Arena.global());
        }
    }

    private static void add(MemorySegment words, long word) {
        if (!new LibcExitHandlers().add(words.address() + word, words.address() + word)) {
            System.out.println("wrong: not added");
        }
    }

    /** Ends with two words. */
    static final class WordsOfAFile {
        public static void main(String[] args) throws IOException {
            MemorySegment words = map(args[0]);
            add(words, FIRST);
            add(words, SECOND);
            Ending.valueOf(args[1]).end(5);
        }
    }

    /** Forgets the first of two words and then writes there, as a new owner of the memory would. */
    static final class OneGroupForgotten {
        public static void main(String[] args) throws IOException {
            MemorySegment words = map(args[0]);
            add(words, FIRST);
            add(words, SECOND);
            new LibcExitHandlers().runAndForget(words.address() + FIRST);
            System.out.println(Integer.toHexString(words.get(ValueLayout.JAVA_INT, FIRST)));
            System.out.println(Integer.toHexString(words.get(ValueLayout.JAVA_INT, SECOND)));
            words.asSlice(FIRST, ExitHandlers.BYTES).fill(FILLING);
            Runtime.getRuntime().halt(5);
        }
    }
}
