package io.gds4j.tools.terminal;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds threads of this process that wait in one system call on a file. The kernel tells which call each thread is in, and how often
 * the thread has run: one that makes progress runs now and then. Finds nothing where the kernel does not tell. Used by one thread.
 */
final class StalledCalls {
    private static final Path TASKS = Path.of("/proc/self/task");
    private static final int LONGEST_PATH = 4096;

    /**
     * A call that has not returned.
     *
     * @param file what it asks for
     * @param action what it does, such as {@code read}
     * @param seconds how long it has been seen
     */
    record Call(String file, String action, double seconds) {}

    /** A thread in a call: the call with its arguments, and how often the thread has waited. */
    private record Seen(String state, long since) {}

    private final Map<Path, Seen> seen = new HashMap<>();

    /** Looks at all threads. Returns the calls on files in which a thread has been since an earlier look. */
    List<Call> look() {
        List<Call> calls = new ArrayList<>();
        Map<Path, Seen> before = new HashMap<>(seen);
        seen.clear();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(TASKS)) {
            for (Path thread : threads) {
                look(thread, before.get(thread), calls);
            }
        } catch (IOException | DirectoryIteratorException e) {
            // This kernel does not tell.
        }
        return calls;
    }

    private void look(Path thread, @Nullable Seen before, List<Call> calls) {
        try {
            String call = Files.readString(thread.resolve("syscall")).strip();
            String[] words = call.split(" ");
            FileCall known = FileCall.of(words[0]);
            if (known == null) {
                return;
            }
            String state = call + waits(thread);
            Seen now = before != null && before.state.equals(state) ? before : new Seen(state, System.nanoTime());
            seen.put(thread, now);
            if (now == before) {
                String file = known.file(words);
                if (file.startsWith("/") || !known.byDescriptor()) { // else a socket or an anonymous pipe
                    calls.add(new Call(file, known.action(), (System.nanoTime() - now.since) / 1e9));
                }
            }
        } catch (IOException e) {
            // The thread has ended, or this kernel does not tell.
        }
    }

    private static String waits(Path thread) throws IOException {
        try (Stream<String> lines = Files.lines(thread.resolve("status"), StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.contains("ctxt_switches")).toList().toString();
        }
    }

    /**
     * A system call on a file. The numbers are those of asm/unistd_64.h and asm-generic/unistd.h.
     *
     * @param name its name in these headers
     * @param action what it does, in the words of the command
     * @param descriptor number of the argument with a descriptor; 0 if there is none
     * @param path number of the argument with the address of a path; 0 if there is none
     * @param x86 its number on x86-64
     * @param arm its number on aarch64; {@link #NONE} if it has none
     */
    private record FileCall(String name, String action, int descriptor, int path, int x86, int arm) {

        private static final int NONE = -1;
        private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");

        private static final Map<String, FileCall> BY_NUMBER = Stream.of(
                ofDescriptor("read", "read", 0, 63),
                ofDescriptor("pread64", "read", 17, 67),
                ofDescriptor("readv", "read", 19, 65),
                ofDescriptor("preadv", "read", 295, 69),
                ofDescriptor("getdents64", "listing", 217, 61),
                ofDescriptor("fstat", "stat", 5, 80),
                ofDescriptor("fstatfs", "stat", 138, 44),
                ofDescriptor("fadvise64", "stat", 221, 223),
                ofDescriptor("cachestat", "stat", 451, 451),
                ofPath("open", "open", 2, NONE),
                ofPath("stat", "stat", 4, NONE),
                ofPath("lstat", "stat", 6, NONE),
                ofPath("access", "stat", 21, NONE),
                ofPath("readlink", "stat", 89, NONE),
                ofPath("statfs", "stat", 137, 43),
                at("openat", "open", 257, 56),
                at("newfstatat", "stat", 262, 79),
                at("statx", "stat", 332, 291),
                at("readlinkat", "stat", 267, 78),
                at("faccessat", "stat", 269, 48),
                at("faccessat2", "stat", 439, 439))
                .filter(call -> call.number() != NONE)
                .collect(Collectors.toMap(call -> Integer.toString(call.number()), call -> call));

        private static FileCall ofDescriptor(String name, String action, int x86, int arm) {
            return new FileCall(name, action, 1, 0, x86, arm);
        }

        private static FileCall ofPath(String name, String action, int x86, int arm) {
            return new FileCall(name, action, 0, 1, x86, arm);
        }

        /** A call with a folder's descriptor and a path below it. */
        private static FileCall at(String name, String action, int x86, int arm) {
            return new FileCall(name, action, 1, 2, x86, arm);
        }

        private int number() {
            return ARM ? arm : x86;
        }

        static @Nullable FileCall of(String number) {
            return BY_NUMBER.get(number);
        }

        boolean byDescriptor() {
            return path == 0;
        }

        /** Returns what the call asks for. */
        String file(String... words) throws IOException {
            String named = path == 0 ? "" : text(Long.decode(words[path]));
            if (!named.isEmpty()) {
                return named;
            }
            // an empty name stands for the descriptor itself
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + Long.decode(words[descriptor]).intValue()))
                    .toString();
        }

        /** Returns the text at an address of this process, up to its zero byte. */
        private static String text(long address) throws IOException {
            byte[] bytes = new byte[LONGEST_PATH];
            int length = 0;
            try (RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
                memory.seek(address);
                while (length < LONGEST_PATH) {
                    int next = memory.read();
                    if (next <= 0) {
                        break;
                    }
                    bytes[length++] = (byte) next;
                }
            }
            return new String(bytes, 0, length, StandardCharsets.UTF_8);
        }
    }
}
