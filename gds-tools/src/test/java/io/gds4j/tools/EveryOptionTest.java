package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.ParseResult;

/**
 * Runs every option of every command. A line begins with the exit status; tests of the commands tell what options do. An option that no
 * line runs fails {@link #noOptionIsLeftOut}.
 */
@Tag("slow")
class EveryOptionTest {
    /** MODEL, FILE (64 KiB), OUT, and ME, this process; what is in them comes from lines before. */
    private static final List<String> LINES = List.of(
            "0 --version --json",
            "0 --help",
            "0 demo --size 8M --dir OUT/demo --keep --stats --json --no-progress",
            "0 demo -s 1M -d OUT -q",
            "0 load MODEL -t host --verify --digest --stats --backend compat --direct-storage off --follow-links"
                    + " --tensor w --no-progress --report OUT/load.html",
            "0 load OUT/demo/gds-demo -t host,host --parallel column --heads 8,2 --tensor self_attn --json",
            "0 load MODEL --list -q",
            "0 load MODEL -t host --budget 64M --digest -q",
            "0 load MODEL -t host --budget 64M --as F16 -q",
            "4 load MODEL -t host --budget 1K -q",
            "0 explain MODEL -t host --backend compat --direct-storage off --follow-links --tensor w --json --no-progress",
            "0 explain OUT/demo/gds-demo -t host,host --parallel column --heads 8,2 --tensor self_attn -q",
            "0 convert MODEL OUT/a --align 64 --max-shard 1G --checksums --follow-links --backend compat --stats"
                    + " --report OUT/convert.html --json --no-progress",
            "4 convert MODEL OUT/b --gpu 4095 -q",
            "0 convert MODEL OUT/b --all-names -q",
            "3 load MODEL -t host --variant fp16",
            "3 explain MODEL -t host --variant fp16",
            "3 convert MODEL OUT/c --variant fp16 -q",
            "0 records FILE --record 4K --header 4K --batch 2 --shuffle --seed 3 --block 2 --window 2 --epochs 2 --rank 0"
                    + " --world 2 --remainder drop --resume READS --memory 1M --readers 2 -t host --backend compat --stats"
                    + " --report OUT/records.html --follow-links --no-progress",
            "0 records FILE --record 4K --batch 4 --skip-bad --verify -T 5 --warm-up 0.01 --digest -t host --json -q",
            "0 records FILE --record 4K --list",
            "3 records FILE --column x",
            "3 records FILE --unpack OUT/unpacked",
            "0 check FILE --direct-storage off --verbose --no-progress",
            "0 check --print-config -q",
            "4 check /dev/shm --require odirect --json",
            "0 io -f FILE -d host -n 0 -m 4 -w 2 -s 64K -o 0 -i 4K -p 0 -b -x 0 -I 0 -T 0.01 -k 5 -O 1 --hot --warm-up 0"
                    + " --repeat 2 --backend compat --direct-storage off --policy buffered --stats --no-progress --json",
            "0 io -D OUT -d host -w 2 -s 16K -i 4K -I 1 -R -F --warm-up 0 --fresh -q",
            "0 io -f OUT/io -d host -s 16K -i 4K -I 1 -V --warm-up 0 --report OUT/io.html",
            "0 io -f OUT/io -d host -s 16K -i 4K -I 3 -M 50 -a 8K --warm-up 0 --gdsio-format",
            "0 io -f OUT/io -d host -s 16K -i 4K -I 2 -U --warm-up 0 --drop",
            "0 io -f OUT/io -d host -s 16K -i 4K -I 2 --each-once --warm-up 0 --fragments 2",
            "0 io -f OUT/io -d host -s 16K -i 4K -x 6 -B 2 --results --io-uring --warm-up 0 --cold",
            "0 io -f OUT/io -d host -s 16K -i 4K --warm-up 0 --mixed",
            "0 io -d host -J --warm-up 0 --overwrite JOBS",
            "0 io -d host -f OUT/io -i 4K --warm-up 0 --series SERIES",
            "0 plot RESULT -o OUT/chart.svg --title Reads --json --no-progress",
            "0 plot RESULT -o OUT/chart2.svg -q",
            "4 rdma bw --write -s 4K -n 5 -q 2 -x 0 -d none -i 1 -p 18516 --memory host --json localhost",
            "4 rdma bw --read -a -D 1 -d none --quiet localhost",
            "4 rdma lat --send -d none localhost",
            "4 rdma lat --atomic -d none localhost",
            "0 sample --list --json",
            "0 sample pattern-1 --backend compat --dir OUT --memory host --size 64K --io 16K --threads 2 --stats --no-progress",
            "4 sample pattern-1 --gpu 4095 --memory cuda_device -q",
            "3 sample --all --dir OUT/none -q",
            "0 patterns -p 1 -s 64K -i 16K -r 1 --memory host --backend compat --dir OUT --stats --json --no-progress",
            "0 patterns --from PATTERNS -o OUT/patterns.svg -q",
            "3 stats 4194304999 --any-user --json --no-progress -q",
            "0 load MODEL --map --json --no-progress",
            "0 check --bundle OUT/bundle.zip -q",
            "0 top ME --any-user --interval 0.1 --count 1 --json --no-progress",
            "0 top ME -i 0.1 -n 1 -q",
            "0 completion bash --json --no-progress -q",
            "0 help exit-codes --json --no-progress -q");

    @TempDir
    private static Path folder;

    @BeforeAll
    static void inputs() throws IOException {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Files.write(folder.resolve("file"), new byte[64 << 10]);
        Files.createDirectories(folder.resolve("out/demo"));
        Files.writeString(folder.resolve("series"), "-w 1\n-w 2\n");
        Files.writeString(folder.resolve("jobs"), "[global]\nxfer_type=0\nrw=read\nbs=4K\nfilename="
                + folder.resolve("file") + "\n[a]\nnum_threads=1\n");
        Files.writeString(folder.resolve("result"), gds(
                "io", "-d", "host", "-f", folder.resolve("file").toString(), "-i", "4K:8K:4K", "--warm-up", "0",
                "--json").out());
        Files.writeString(folder.resolve("reads"), gds(
                ("records " + folder.resolve("file") + " --record 4K --header 4K --batch 2 --shuffle --seed 3 --block 2"
                        + " --window 2 --world 2 --remainder drop -t host -T 1e-9 --json").split(" "))
                .out());
        Files.writeString(folder.resolve("patterns"), gds(
                "patterns", "-p", "1", "-s", "64K", "-i", "16K:32K:*2", "--memory", "host", "--json").out());
    }

    private static String[] words(String line) {
        return Arrays.stream(line.split(" ")).skip(1).map(word -> word
                .replace("MODEL", folder.resolve("model.safetensors").toString())
                .replace("FILE", folder.resolve("file").toString()).replace("OUT", folder.resolve("out").toString())
                .replace("JOBS", folder.resolve("jobs").toString())
                .replace("SERIES", folder.resolve("series").toString())
                .replace("READS", folder.resolve("reads").toString())
                .replace("RESULT", folder.resolve("result").toString())
                .replace("PATTERNS", folder.resolve("patterns").toString())
                .replace("ME", Long.toString(ProcessHandle.current().pid()))).toArray(String[]::new);
    }

    @TestFactory
    Stream<DynamicTest> lineEndsWithItsStatus() {
        return LINES.stream().map(line -> DynamicTest.dynamicTest("gds " + line.substring(2), () -> {
            GdsRun run = gds(words(line));
            assertThat(run.status()).as("%s%s", run.err(), run.out()).isEqualTo(line.charAt(0) - '0');
        }));
    }

    @Test
    void helpOfEveryCommand() {
        for (String name : GdsCommand.commandLine(Terminal.ofProcess()).getSubcommands().keySet()) {
            assertThat(gds(name, "-h").out()).startsWith("Usage: gds " + name);
        }
    }

    @Test
    void noOptionIsLeftOut() {
        TreeSet<String> missing = new TreeSet<>();
        CommandLine all = GdsCommand.commandLine(Terminal.ofProcess());
        all.getSubcommands().forEach((name, command) -> command.getCommandSpec().options().stream()
                .filter(option -> !option.usageHelp()) // helpOfEveryCommand
                .forEach(option -> missing.add(name + " " + option.longestName())));
        for (String line : LINES) {
            ParseResult parsed = GdsCommand.commandLine(Terminal.ofProcess())
                    .setCaseInsensitiveEnumValuesAllowed(true).parseArgs(words(line));
            if (parsed.hasSubcommand()) {
                ParseResult command = parsed.subcommand();
                command.matchedOptions().forEach(
                        option -> missing.remove(command.commandSpec().name() + " " + option.longestName()));
            }
        }
        assertThat(missing).as("options that no line runs").isEmpty();
    }
}
