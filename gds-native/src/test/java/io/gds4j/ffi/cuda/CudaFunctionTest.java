package io.gds4j.ffi.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compares the bound names with those of cuda.h 13.0. */
class CudaFunctionTest {
    private static final Map<String, String> SELECTED = new HashMap<>();

    @BeforeAll
    static void readTheNames() throws IOException {
        try (InputStream names = CudaFunctionTest.class.getResourceAsStream("cuda-13.0-functions.txt")) {
            new String(names.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" "))
                    .forEach(pair -> SELECTED.put(pair[0], pair[1]));
        }
        assertThat(SELECTED).hasSizeGreaterThan(400).containsEntry("cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2");
    }

    @ParameterizedTest
    @EnumSource(CudaFunction.class)
    void boundNameIsSelectedByTheHeader(CudaFunction function) {
        assertThat(SELECTED).containsEntry(function.documentedName(), function.symbol());
    }

    @Test
    void noFunctionIsBoundTwice() {
        assertThat(CudaFunction.values()).extracting(CudaFunction::symbol).doesNotHaveDuplicates();
    }
}
