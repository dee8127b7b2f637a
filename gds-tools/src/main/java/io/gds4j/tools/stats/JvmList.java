package io.gds4j.tools.stats;

import com.sun.tools.attach.VirtualMachine;
import com.sun.tools.attach.VirtualMachineDescriptor;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Finds the JVMs of this user, without a connection to them. */
final class JvmList {
    /** The class that runs {@code java File.java}. */
    private static final String SOURCE_LAUNCHER = "com.sun.tools.javac.launcher.SourceLauncher";

    private JvmList() {
    }

    /** Returns the programs of the other JVMs of this user, by process. */
    static Map<Long, String> others() {
        ProcessHandle self = ProcessHandle.current();
        Optional<String> user = self.info().user();
        Map<Long, String> programs = new TreeMap<>();
        for (VirtualMachineDescriptor jvm : VirtualMachine.list()) {
            if (!jvm.id().matches("\\d{1,18}")) {
                continue;
            }
            long pid = Long.parseLong(jvm.id());
            boolean sameUser = ProcessHandle.of(pid).flatMap(process -> process.info().user()).equals(user);
            if (sameUser && pid != self.pid()) {
                programs.put(pid, program(jvm.displayName()));
            }
        }
        return programs;
    }

    /** Returns the program of a process; empty if unknown. */
    static String program(long pid) {
        return VirtualMachine.list().stream()
                .filter(jvm -> jvm.id().equals(Long.toString(pid)))
                .findFirst()
                .map(jvm -> program(jvm.displayName()))
                .orElse("");
    }

    /** Returns the class or file of a command line, without arguments, which may be secret. */
    static String program(String commandLine) {
        String[] words = commandLine.strip().split("\\s", 3);
        String first = words.length > 1 && words[0].endsWith(SOURCE_LAUNCHER) ? words[1] : words[0];
        return first.endsWith(".jar") || first.endsWith(".java") ? first.substring(first.lastIndexOf('/') + 1) : first;
    }

    /** Returns whether a process has an open session: the name of a thread tells. */
    static boolean holdsDriver(long pid) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
            for (Path thread : threads) {
                if (name(thread).equals(CuFileStatisticsMXBean.THREAD_NAME)) {
                    return true;
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // The process has ended.
        }
        return false;
    }

    /** Returns whether a process belongs to the user of this one. */
    static boolean isOfThisUser(long pid) {
        try {
            return Files.getAttribute(Path.of("/proc/" + pid), "unix:uid")
                    .equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns whether a process runs. One that has ended and whose parent has not asked for its status yet does not. */
    static boolean isRunning(long pid) {
        try {
            String status = Files.readString(Path.of("/proc/" + pid + "/stat"));
            return !status.startsWith("Z", status.lastIndexOf(')') + 2);
        } catch (IOException e) {
            return false;
        }
    }

    private static String name(Path thread) {
        try {
            return Files.readString(thread.resolve("comm")).strip();
        } catch (IOException e) {
            return ""; // the thread has ended
        }
    }
}
