package io.gds4j.ffi.nvtx;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.Logged;
import io.gds4j.ffi.CString;
import io.gds4j.spi.RangeTracer;
import io.gds4j.spi.TracedOperation;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What a profiler hears. */
class NvtxTracerTest {
    @TempDir
    private static Path folder;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("no NVTX ranges: ");

    private final NvtxTracer tracer = new NvtxTracer();

    @Test
    void profilerHearsDomainCategoriesAndRanges() throws Throwable {
        Path library = TestProfiler.compile(folder);
        assertThat(tracer.attach(library.toString())).isTrue();
        tracer.end(tracer.begin(TracedOperation.READ, "", IoPath.COMPAT_DIRECT.ordinal() + 1, 4096));
        tracer.end(tracer.begin(TracedOperation.LOAD, "/data/a\0b", RangeTracer.NO_CATEGORY, 1L << 40));
        tracer.end(tracer.begin(TracedOperation.BATCH_WRITE, "", 1, 7));
        assertThat(log(library)).isEqualTo("""
                domain gds4j
                category gds4j 1 nvfs
                category gds4j 2 p2pdma
                category gds4j 3 libcufile posix
                category gds4j 4 compat direct
                category gds4j 5 compat buffered
                category gds4j 6 compat cached
                category gds4j 7 user source
                push gds4j|read|category 4|payload 4096 of type 2|message 3|version 3 size 48
                pop gds4j
                push gds4j|checkpoint load /data/a?b|category 0|payload 1099511627776 of type 2|message 1|version 3 size 48
                pop gds4j
                start gds4j|batch write|category 1|payload 7 of type 2|message 3|version 3 size 48
                end gds4j 1
                """);
    }

    @Test
    void virtualThreadsStartAndEnd() throws Throwable {
        Path library = TestProfiler.compile(folder);
        assertThat(tracer.attach(library.toString())).isTrue();
        Thread.ofVirtual().start(() -> tracer.end(tracer.begin(TracedOperation.WRITE, "", 5, 512))).join();
        assertThat(log(library)).endsWith("""
                start gds4j|write|category 5|payload 512 of type 2|message 3|version 3 size 48
                end gds4j 1
                """);
    }

    @Test
    void profilerWithoutStringsHearsNames() throws Throwable {
        Path library = TestProfiler.compile(folder, "-DWITHOUT_STRINGS", "-Wno-unused-function");
        assertThat(tracer.attach(library.toString())).isTrue();
        tracer.end(tracer.begin(TracedOperation.READ, "", 4, 1));
        assertThat(log(library)).contains("push gds4j|read|category 4|payload 1 of type 2|message 1|");
    }

    @Test
    void brokenLibrariesAreRefused() throws Exception {
        assertThat(tracer.attach("/no/such/library.so")).isFalse();
        assertThat(tracer.attach("libm.so.6")).isFalse();
        Path text = Files.writeString(folder.resolve("text.so"), "no library");
        assertThat(tracer.attach(text.toString())).isFalse();
        assertThat(logged.lines()).hasSize(3).allMatch(line -> line.startsWith("WARNING no NVTX ranges: "));
        assertThat(tracer.begin(TracedOperation.READ, "", 1, 1)).isZero();
        tracer.end(0);
    }

    private static String log(Path library) throws Throwable {
        MemorySegment function = SymbolLookup.libraryLookup(library, Arena.global()).find("nvtx_log").orElseThrow();
        long text = (long) Linker.nativeLinker()
                .downcallHandle(function, FunctionDescriptor.of(ValueLayout.JAVA_LONG))
                .invokeExact();
        return CString.at(text, 1 << 20);
    }
}
