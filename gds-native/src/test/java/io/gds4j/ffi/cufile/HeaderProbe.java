package io.gds4j.ffi.cufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
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
import java.util.regex.Pattern;

/**
 * Asks the C compiler about {@code cufile.h} by a program that prints size and offset of every field that has a layout here,
 * and the value of every constant. The expected answers come from this code.
 */
final class HeaderProbe {
    /** The C path to the fields of a structure, if they are not at its top. */
    private static final Map<String, String> INSIDE = Map.of(
            "CUfileIOParams_t.devPtr_base", "u.batch.devPtr_base",
            "CUfileIOParams_t.file_offset", "u.batch.file_offset",
            "CUfileIOParams_t.devPtr_offset", "u.batch.devPtr_offset",
            "CUfileIOParams_t.size", "u.batch.size");

    private final Path include;
    private final String header;
    private final Map<String, String> expressions = new LinkedHashMap<>();
    private final Map<String, Long> believed = new LinkedHashMap<>();

    /** @param include a folder with cufile.h */
    private HeaderProbe(Path include) throws IOException {
        this.include = include;
        this.header = Files.readString(include.resolve("cufile.h"));
    }

    /** Returns whether this version of the header has a name. */
    private boolean declares(String name) {
        return Pattern.compile("\\b" + name + "\\b").matcher(header).find();
    }

    /** Everything that some version of cuFile declares. */
    private Map<String, MemoryLayout> structures() {
        StatsLevel3 statistics = StatsLevel3.of(new CuFileVersion(declares("readv_ops") ? 1190 : 1150));
        Map<String, MemoryLayout> all = new LinkedHashMap<>();
        all.put("CUfileError_t", CuFileResults.STATUS);
        all.put("CUfileDescr_t", FileDescr.LAYOUT);
        all.put("CUfileDrvProps_t", DrvProps.LAYOUT);
        all.put("CUfileIOParams_t", IoParams.LAYOUT);
        all.put("CUfileIOEvents_t", IoEvents.LAYOUT);
        all.put("CUfileOpCounter_t", StatsLevel1.COUNTER);
        all.put("CUfileStatsLevel1_t", statistics.detailed().basic().layout());
        all.put("CUfileStatsLevel2_t", statistics.detailed().layout());
        all.put("CUfilePerGpuStats_t", PerGpuStats.LAYOUT);
        all.put("CUfileStatsLevel3_t", statistics.layout());
        all.put("CUfileIOVec_t", IoVec.LAYOUT);
        all.put("struct timespec", Timespec.LAYOUT);
        return all;
    }

    /** Sizes of structures, offsets and sizes of their fields. */
    static HeaderProbe ofLayouts(Path include) throws IOException {
        HeaderProbe probe = new HeaderProbe(include);
        probe.structures().forEach((name, layout) -> {
            if (name.startsWith("struct ") || probe.declares(name)) {
                probe.ask("sizeof(" + name + ")", layout.byteSize());
                probe.fields(name, "", layout, 0);
            }
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
    static HeaderProbe ofConstants(Path include) throws IOException {
        HeaderProbe probe = new HeaderProbe(include);
        for (CuFileError error : CuFileError.values()) {
            probe.askIfDeclared("CU_FILE_" + error.name(), error.code());
        }
        for (BatchStatus status : BatchStatus.values()) {
            probe.askIfDeclared("CUFILE_" + status.name(), status.value());
        }
        for (SizeParameter parameter : SizeParameter.values()) {
            probe.askIfDeclared(parameter.cName(), parameter.index());
        }
        for (BoolParameter parameter : BoolParameter.values()) {
            probe.askIfDeclared(parameter.cName(), parameter.index());
        }
        for (StringParameter parameter : StringParameter.values()) {
            probe.askIfDeclared(parameter.cName(), parameter.index());
        }
        for (TargetType type : TargetType.values()) {
            probe.askIfDeclared("CU_FILE_" + type.name() + "_SUPPORTED", type.number());
        }
        probe.ask("CU_FILE_HANDLE_TYPE_OPAQUE_FD", FileDescr.OPAQUE_FD);
        probe.ask("CUFILE_BATCH", IoParams.BATCH);
        probe.ask("CUFILE_READ", IoParams.READ);
        probe.ask("CUFILE_WRITE", IoParams.WRITE);
        return probe;
    }

    private void askIfDeclared(String name, long value) {
        if (declares(name)) {
            ask(name, value);
        }
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
    Map<String, Long> compiled(Path folder) throws IOException, InterruptedException {
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
