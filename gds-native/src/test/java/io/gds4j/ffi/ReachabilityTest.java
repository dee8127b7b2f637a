package io.gds4j.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What GraalVM must know of the bindings, in the jar of this module, compared with what they link. {@code -Dgds4j.graalvm.renew=true} writes
 * the file anew.
 */
class ReachabilityTest {
    private static final Path FILE = Path.of(
            "src/main/resources/META-INF/native-image/io.gds4j/gds-native/reachability-metadata.json").toAbsolutePath();
    private static final SymbolLookup EVERYTHING = name -> Optional.of(MemorySegment.ofAddress(1));
    private static final int NVTX_SLOTS = 64;

    @Test
    void metadataNamesEveryCallThatTheBindingsLink() throws Exception {
        assumeTrue(
                DynamicLoader.open("libcurl.so.4") instanceof DynamicLoader.Loaded,
                "functions of libcurl are linked only where it is");
        ForeignCalls bindings = new ForeignCalls(
                Path.of(Linkage.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
        for (String name : names()) {
            try {
                Class.forName(name, true, bindings);
            } catch (ExceptionInInitializerError e) {
                // It holds a library of the process that this machine lacks.
                assertThat(e).hasCauseInstanceOf(CuFileException.class);
            }
        }
        construct(bindings, "io.gds4j.ffi.nvml.FfmNvml", SymbolLookup.class, EVERYTHING);
        construct(bindings, "io.gds4j.ffi.verbs.FfmVerbs", SymbolLookup.class, EVERYTHING);
        call(bindings, "io.gds4j.ffi.torch.TorchLibrary", "link", "torch", EVERYTHING);
        // Any function of an int will do: the library refuses to attach if its result is not 0.
        MemorySegment abs = Linker.nativeLinker().defaultLookup().find("abs").orElseThrow();
        call(bindings, "io.gds4j.ffi.nvtx.NvtxInjection", "initialize", "abs", abs);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment functions = arena.allocate(ValueLayout.JAVA_LONG, NVTX_SLOTS);
            functions.fill((byte) 1);
            construct(bindings, "io.gds4j.ffi.nvtx.NvtxFunctions", MemorySegment.class, functions);
        }

        assertThat(ForeignCalls.linked()).as("methods that link").containsAll(bindings.sites());
        String text = "{\n  \"foreign\": {\n    \"downcalls\": [\n%s\n    ],\n    \"upcalls\": [\n%s\n    ]\n  }\n}\n"
                .formatted(lines(ForeignCalls.downcalls()), lines(ForeignCalls.upcalls()));
        if (Boolean.getBoolean("gds4j.graalvm.renew")) {
            Files.writeString(FILE, text);
        }
        assertThat(FILE).content().isEqualTo(text);
    }

    private static String lines(Set<String> calls) {
        return "      " + String.join(",\n      ", calls);
    }

    private static List<String> names() throws Exception {
        Path classes = Path.of(Linkage.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            return files.map(file -> classes.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.contains("-info"))
                    .map(file -> file.substring(0, file.length() - ".class".length()).replace('/', '.'))
                    .sorted().toList();
        }
    }

    private static void construct(ClassLoader bindings, String name, Class<?> type, Object argument) throws Exception {
        Constructor<?> constructor = bindings.loadClass(name).getDeclaredConstructor(type);
        constructor.setAccessible(true);
        constructor.newInstance(argument);
    }

    private static void call(ClassLoader bindings, String type, String name, Object... arguments) throws Exception {
        Method method = Stream.of(bindings.loadClass(type).getDeclaredMethods())
                .filter(any -> any.getName().equals(name) && any.getParameterCount() == arguments.length)
                .findFirst().orElseThrow();
        method.setAccessible(true);
        method.invoke(null, arguments);
    }
}
