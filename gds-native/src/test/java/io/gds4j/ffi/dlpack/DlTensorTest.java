package io.gds4j.ffi.dlpack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.StructLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Offsets of the structs: those of the header of DLPack 1.3 on a 64-bit system. */
class DlTensorTest {
    @Test
    void offsetsAreThoseOfTheHeader() {
        Map<String, Long> expected = new LinkedHashMap<>();
        expected.put("sizeof(DLTensor)", 48L);
        expected.put("offsetof(DLTensor, data)", 0L);
        expected.put("offsetof(DLTensor, device.device_type)", 8L);
        expected.put("offsetof(DLTensor, device.device_id)", 12L);
        expected.put("offsetof(DLTensor, ndim)", 16L);
        expected.put("offsetof(DLTensor, dtype.code)", 20L);
        expected.put("offsetof(DLTensor, dtype.bits)", 21L);
        expected.put("offsetof(DLTensor, dtype.lanes)", 22L);
        expected.put("offsetof(DLTensor, shape)", 24L);
        expected.put("offsetof(DLTensor, strides)", 32L);
        expected.put("offsetof(DLTensor, byte_offset)", 40L);
        expected.put("sizeof(DLManagedTensor)", 64L);
        expected.put("offsetof(DLManagedTensor, dl_tensor)", 0L);
        expected.put("offsetof(DLManagedTensor, manager_ctx)", 48L);
        expected.put("offsetof(DLManagedTensor, deleter)", 56L);
        expected.put("sizeof(DLManagedTensorVersioned)", 80L);
        expected.put("offsetof(DLManagedTensorVersioned, version.major)", 0L);
        expected.put("offsetof(DLManagedTensorVersioned, version.minor)", 4L);
        expected.put("offsetof(DLManagedTensorVersioned, manager_ctx)", 8L);
        expected.put("offsetof(DLManagedTensorVersioned, deleter)", 16L);
        expected.put("offsetof(DLManagedTensorVersioned, flags)", 24L);
        expected.put("offsetof(DLManagedTensorVersioned, dl_tensor)", 32L);
        assertThat(ours()).containsExactlyEntriesOf(expected);
    }

    /** The header is that of an installed PyTorch, or the one that -Dgds4j.dlpack.header names. */
    @Test
    @Tag("gpu")
    void offsetsAreThoseOfTheCompiler(@TempDir Path folder) throws Exception {
        Optional<Path> header = header();
        assumeTrue(header.isPresent(), "no dlpack.h here; -Dgds4j.dlpack.header names one");
        StringBuilder c =
                new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n#include \"%s\"\nint main(void) {\n"
                        .formatted(header.get()));
        ours().keySet().forEach(asked -> c.append("printf(\"%%ld\\n\", (long)%s);\n".formatted(asked)));
        Path source = Files.writeString(folder.resolve("offsets.c"), c.append("return 0;\n}\n"));
        Path program = folder.resolve("offsets");
        run("gcc", "-w", source.toString(), "-o", program.toString());
        assertThat(run(program.toString()).lines().map(Long::valueOf)).containsExactlyElementsOf(ours().values());
    }

    private static Optional<Path> header() throws Exception {
        String named = System.getProperty("gds4j.dlpack.header");
        if (named != null) {
            return Optional.of(Path.of(named));
        }
        String folder = run("python3", "-c",
                "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')")
                .strip();
        Path header = Path.of(folder, "include", "ATen", "dlpack.h");
        return folder.isEmpty() || !Files.exists(header) ? Optional.empty() : Optional.of(header);
    }

    private static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return output;
    }

    private static Map<String, Long> ours() {
        Map<String, Long> all = new LinkedHashMap<>();
        ask(all, "DLTensor", DlTensor.LAYOUT, "data", "device.device_type", "device.device_id", "ndim", "dtype.code",
                "dtype.bits", "dtype.lanes", "shape", "strides", "byte_offset");
        ask(all, "DLManagedTensor", DlTensor.MANAGED, "dl_tensor", "manager_ctx", "deleter");
        ask(all, "DLManagedTensorVersioned", DlTensor.VERSIONED, "version.major", "version.minor", "manager_ctx",
                "deleter", "flags", "dl_tensor");
        return all;
    }

    private static void ask(Map<String, Long> all, String name, StructLayout layout, String... fields) {
        all.put("sizeof(%s)".formatted(name), layout.byteSize());
        for (String field : fields) {
            PathElement[] path = java.util.Arrays.stream(field.split("\\."))
                    .map(PathElement::groupElement)
                    .toArray(PathElement[]::new);
            all.put("offsetof(%s, %s)".formatted(name, field), layout.byteOffset(path));
        }
    }
}
