package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.loader.save.UnforcedSave;
import io.gds4j.tools.GdsRun;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The calls that replace a checkpoint. */
final class Checkpoints {
    /** A round that no run comes to: what the save after a crash writes. */
    private static final int NEXT = 1_000_000;

    private Checkpoints() {
    }

    /** One file or several, with O_DIRECT and without: rounds change from each to each. */
    private static SaveOptions options(int round) {
        SaveOptions options = SaveOptions.DEFAULTS.withDirect(round % 4 < 2);
        return round % 7 < 3 ? options : options.withMaxShardBytes(Rounds.SHARD);
    }

    /** Replaces the checkpoint of one folder again and again. */
    private abstract static class Replacing implements Operation {
        final CuFileDriver driver;
        private final String name;

        Replacing(CuFileDriver driver, String name) {
            this.driver = driver;
            this.name = name;
        }

        @Override
        public final String name() {
            return name;
        }

        /** Saves a round to the folder. */
        abstract void save(Path folder, int round, Phases phases) throws Exception;

        @Override
        public void run(Path root, int round, Phases phases) throws Exception {
            save(root.resolve(name), round, phases);
        }

        @Override
        public void check(Path root, int round, String phase) throws Exception {
            Path folder = root.resolve(name);
            try (Rounds rounds = new Rounds(driver)) {
                rounds.verify(folder, phase.equals(DONE) ? round : round - 1, round);
                if (!Rounds.hidden(folder).isEmpty()) {
                    save(folder, NEXT + round, unused -> {
                    });
                    assertThat(rounds.verify(folder)).as("save after the crash").isEqualTo(NEXT + round);
                    assertThat(Rounds.hidden(folder)).as("what the crash left").isEmpty();
                }
            }
        }
    }

    static Operation savePlan(CuFileDriver driver) {
        return new Replacing(driver, "SavePlan") {
            @Override
            void save(Path folder, int round, Phases phases) {
                try (Rounds rounds = new Rounds(driver)) {
                    rounds.plan(round, options(round), tensor -> true).toFolder(folder).save(driver);
                }
            }
        };
    }

    /** A save that leaves out what makes files or names durable. */
    static Operation unforced(CuFileDriver driver, UnforcedSave.Omission omission) {
        return new Replacing(driver, "without-" + omission) {
            @Override
            void save(Path folder, int round, Phases phases) {
                try (Rounds rounds = new Rounds(driver)) {
                    SaveOptions options = SaveOptions.DEFAULTS.withDirect(false);
                    SavePlan plan = rounds.plan(round, options, tensor -> true).toFolder(folder);
                    UnforcedSave.save(plan, omission);
                }
            }
        };
    }

    static Operation convert(CuFileDriver driver) {
        return new Replacing(driver, "convert") {
            @Override
            void save(Path folder, int round, Phases phases) throws IOException {
                Path source = Files.createTempFile("round", ".safetensors");
                Rounds.write(source, round);
                long shard = round % 3 == 0 ? Rounds.SHARD : Long.MAX_VALUE;
                GdsRun run = GdsRun.gds("convert", source.toString(), folder.toString(), "--max-shard",
                        Long.toString(shard));
                assertThat(run.status()).as(run.err()).isZero();
                Files.delete(source);
            }
        };
    }

    /** Two ranks and a new folder for each round, which appears whole. */
    static Operation shardedSave(CuFileDriver driver) {
        return new Operation() {
            private static final int RANKS = 2;

            @Override
            public String name() {
                return "ShardedSave";
            }

            private Path folder(Path root, int round) {
                return root.resolve(name()).resolve("step-" + round);
            }

            @Override
            public void run(Path root, int round, Phases phases) throws Exception {
                if (Files.exists(folder(root, round))) {
                    return; // the machine died between the commit and its mark
                }
                try (Rounds rounds = new Rounds(driver);
                        ShardedSave save = ShardedSave.begin(folder(root, round), round)) {
                    for (int rank = 0; rank < RANKS; rank++) {
                        int own = rank;
                        Path part = ShardedSave.join(folder(root, round), rank, round, Duration.ZERO);
                        rounds.plan(round, options(round), tensor -> tensor.length() % RANKS == own).toFile(part)
                                .save(driver);
                    }
                    save.commit(RANKS, Duration.ZERO);
                }
            }

            @Override
            public void check(Path root, int round, String phase) throws Exception {
                try (Rounds rounds = new Rounds(driver)) {
                    Path folder = folder(root, round);
                    boolean there = Files.exists(folder);
                    if (phase.equals(DONE) || there) {
                        assertThat(rounds.verify(folder)).isEqualTo(round);
                    }
                    if (round > 1) {
                        assertThat(rounds.verify(folder(root, round - 1))).isEqualTo(round - 1);
                    }
                    if (!there) {
                        run(root, round, unused -> {
                        });
                        assertThat(rounds.verify(folder)).as("save after the crash").isEqualTo(round);
                        assertThat(Files.exists(folder.resolveSibling("step-" + round + ".tmp"))).isFalse();
                    }
                }
            }
        };
    }
}
