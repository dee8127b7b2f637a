package io.gds4j.ffi.cufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.spi.BatchStatus;
import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.UnionLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Asks the C compiler about {@code cufile.h} by a program that prints size and offset of every field that has a layout here,
 * and the value of every constant. The expected answers come from this code.
 */
final class HeaderProbe {
    private static final Map<String, MemoryLayout> STRUCTURES = structures();
    /** The C path to the fields of a structure, if they are not at its top. */
    private static final Map<String, String> INSIDE = Map.of(
            "CUfileIOParams_t.devPtr_base", "u.batch.devPtr_base",
            "CUfileIOParams_t.file_offset", "u.batch.file_offset",
            "CUfileIOParams_t.devPtr_offset", "u.batch.devPtr_offset",
            "CUfileIOParams_t.size", "u.batch.size");

    private final Map<String, String> expressions = new LinkedHashMap<>();
    private final Map<String, Long> believed = new LinkedHashMap<>();

    private HeaderProbe() {
    }

    /** Everything that cuFile 1.15 declares. */
    private static Map<String, MemoryLayout> structures() {
        Map<String, MemoryLayout> all = new LinkedHashMap<>();
        all.put("CUfileError_t", CuFileResults.STATUS);
        all.put("CUfileDescr_t", FileDescr.LAYOUT);
        all.put("CUfileDrvProps_t", DrvProps.LAYOUT);
        all.put("CUfileIOParams_t", IoParams.LAYOUT);
        all.put("CUfileIOEvents_t", IoEvents.LAYOUT);
        all.put("CUfileOpCounter_t", StatsLevel1.COUNTER);
        all.put("CUfileStatsLevel1_t", StatsLevel1.LAYOUT);
        all.put("CUfileStatsLevel2_t", StatsLevel2.LAYOUT);
        all.put("CUfilePerGpuStats_t", PerGpuStats.LAYOUT);
        all.put("CUfileStatsLevel3_t", StatsLevel3.LAYOUT);
        all.put("struct timespec", Timespec.LAYOUT);
        return all;
    }

    /** Sizes of structures, offsets and sizes of their fields. */
    static HeaderProbe ofLayouts() {
        HeaderProbe probe = new HeaderProbe();
        STRUCTURES.forEach((name, layout) -> {
            probe.ask("sizeof(" + name + ")", layout.byteSize());
            probe.fields(name, "", layout, 0);
        });
        return probe;
    }

    private void fields(String structure, String prefix, MemoryLayout layout, long at) {
        if (!(layout instanceof GroupLayout group)) {
            return;
        }
        long offset = at;
        for (MemoryLayout member : group.memberLayouts()) {
            if (!(member instanceof PaddingLayout)) {
                String field = prefix + member.name().orElseThrow();
                String inC = INSIDE.getOrDefault(structure + "." + field, field);
                ask("offsetof(" + structure + ", " + inC + ")", offset);
                ask("sizeof(((" + structure + " *)0)->" + inC + ")", member.byteSize());
                fields(structure, field + ".", member, offset);
            }
            offset += group instanceof UnionLayout ? 0 : member.byteSize();
        }
    }

    /** Numbers of errors, states of batch entries and parameters. */
    static HeaderProbe ofConstants() {
        HeaderProbe probe = new HeaderProbe();
        for (CuFileError error : CuFileError.values()) {
            probe.ask("CU_FILE_" + error.name(), error.code());
        }
        for (BatchStatus status : BatchStatus.values()) {
            probe.ask("CUFILE_" + status.name(), status.value());
        }
        for (SizeParameter parameter : SizeParameter.values()) {
            probe.ask(parameter.cName(), parameter.index());
        }
        for (BoolParameter parameter : BoolParameter.values()) {
            probe.ask(parameter.cName(), parameter.index());
        }
        for (StringParameter parameter : StringParameter.values()) {
            probe.ask(parameter.cName(), parameter.index());
        }
        probe.ask("CU_FILE_HANDLE_TYPE_OPAQUE_FD", FileDescr.OPAQUE_FD);
        probe.ask("CUFILE_BATCH", IoParams.BATCH);
        probe.ask("CUFILE_READ", IoParams.READ);
        probe.ask("CUFILE_WRITE", IoParams.WRITE);
        return probe;
    }

    private void ask(String expression, long value) {
        expressions.put(expression, "(long)" + expression);
        believed.put(expression, value);
    }

    /** Expected values by C expression. */
    Map<String, Long> believed() {
        return believed;
    }

    /** The program. */
    String source() {
        StringBuilder c = new StringBuilder("#include <cuda.h>\n#include <cufile.h>\n#include <stddef.h>\n")
                .append("#include <stdio.h>\n#include <time.h>\nint main(void) {\n");
        expressions.forEach((text, value) -> c.append("  printf(\"%s\\t%%ld\\n\", %s);\n".formatted(text, value)));
        return c.append("  return 0;\n}\n").toString();
    }

    /** The compiler's values by C expression. */
    Map<String, Long> compiled(Path folder, Path include) throws IOException, InterruptedException {
        Path source = Files.writeString(folder.resolve("header.c"), source());
        Path program = folder.resolve("header");
        run(List.of("gcc", "-w", "-I" + include, source.toString(), "-o", program.toString()));
        Map<String, Long> answers = new LinkedHashMap<>();
        for (String line : run(List.of(program.toString())).split("\n")) {
            String[] parts = line.split("\t");
            answers.put(parts[0], Long.valueOf(parts[1]));
        }
        return answers;
    }

    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(new ArrayList<>(command)).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        if (!process.waitFor(30, TimeUnit.SECONDS) || process.exitValue() != 0) {
            throw new AssertionError(command + " failed:\n" + output);
        }
        return output;
    }
}
