package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a command line tells before it is parsed. */
class HeadStartTest {
    private static String[] words(String line) {
        return line.split(" ");
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "load m.safetensors --target host", "load -t host m.safetensors",
            "load m.safetensors --target=host --verify",
            "load -t=host m.gguf", "convert a b", "convert a b --max-shard 1G"})
    void commandThatUsesHostMemoryAloneNeedsNoGpu(String line) {
        assertThat(HeadStart.needsNoGpu(words(line))).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "load m.safetensors", "load m.safetensors --target gpu:0", "load m --target host,gpu:1",
            "load m -t host -t gpu:0",
            "load m -t host -tgpu:0", "load m --target host --backend libcufile", "load m --target host --backend=auto",
            "load m --target host --direct-storage require", "load host", "load m --target", "convert a b --gpu 0",
            "convert a b --gpu=0", "convert a b --backend libcufile", "check", "records a --target host", "io -f host",
            ""})
    void commandThatMayUseAGpuLooksForIt(String line) {
        assertThat(HeadStart.needsNoGpu(words(line))).isFalse();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "load m | 0", "load m -t gpu:3 | 3", "load m --target=gpu:1,gpu:2 | 1 2", "load m -tgpu:1 | 1",
            "load m -t gpu:0000:3b:00.0 | -1", "load m -t gpu:GPU-5b1c | -1", "load m -t gpu:GPU-5b1c,gpu:12 | 12",
            "load m -t gpu:12345 | -1", "load m -t gpu: | -1"})
    void gpusAreThoseThatAreNumbered(String line, String expected) {
        assertThat(HeadStart.gpus(words(line))).map(String::valueOf).containsExactlyInAnyOrder(expected.split(" "));
    }
}
