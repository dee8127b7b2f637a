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
     * A system call on a file.
     *
     * @param action what it does
     * @param descriptor number of the argument with a descriptor; 0 if there is none
     * @param path number of the argument with the address of a path; 0 if there is none
     */
    private record FileCall(String action, int descriptor, int path) {

        private static final Map<String, FileCall> BY_NUMBER = System.getProperty("os.arch").equals("aarch64")
                ? all(new int[]{63, 67, 65, 69}, new int[]{61}, new int[]{80, 44, 223, 451},
                        new int[]{}, new int[]{43}, new int[]{56}, new int[]{79, 291, 78, 48, 439})
                : all(new int[]{0, 17, 19, 295}, new int[]{217}, new int[]{5, 138, 221, 451},
                        new int[]{2}, new int[]{4, 6, 21, 89, 137}, new int[]{257}, new int[]{262, 332, 267, 269, 439});

        /**
         * @param read read, pread64, readv, preadv
         * @param list getdents64
         * @param ask fstat, fstatfs, fadvise64, cachestat
         * @param open open
         * @param stat stat, lstat, access, readlink, statfs
         * @param openAt openat
         * @param statAt newfstatat, statx, readlinkat, faccessat, faccessat2
         */
        private static Map<String, FileCall> all(
                int[] read, int[] list, int[] ask, int[] open, int[] stat, int[] openAt, int[] statAt) {
            Map<String, FileCall> calls = new HashMap<>();
            add(calls, new FileCall("read", 1, 0), read);
            add(calls, new FileCall("listing", 1, 0), list);
            add(calls, new FileCall("stat", 1, 0), ask);
            add(calls, new FileCall("open", 0, 1), open);
            add(calls, new FileCall("stat", 0, 1), stat);
            add(calls, new FileCall("open", 1, 2), openAt);
            add(calls, new FileCall("stat", 1, 2), statAt);
            return calls;
        }

        private static void add(Map<String, FileCall> calls, FileCall call, int... numbers) {
            for (int number : numbers) {
                calls.put(Integer.toString(number), call);
            }
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
