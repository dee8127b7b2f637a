package io.gds4j.loader.faults;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Runs the whole matrix, or the cells whose name contains each of the arguments; status 5 if one of them fails. */
final class FaultMatrixRun {
    private FaultMatrixRun() {
    }

    public static void main(String[] words) throws Exception {
        long begun = System.nanoTime();
        Path folder = Files.createTempDirectory("gds4j-faults");
        List<String> findings = new ArrayList<>();
        FaultMatrix matrix = new FaultMatrix(folder);
        List<FaultMatrix.Cell> cells = matrix.cells().stream()
                .filter(cell -> List.of(words).stream().allMatch(cell.toString()::contains))
                .toList();
        System.err.printf("%s cells of %s, recorded in %s ms%n", cells.size(), matrix.cells().size(),
                (System.nanoTime() - begun) / 1_000_000);
        int ended = 0;
        for (FaultMatrix.Cell cell : cells) {
            if (++ended % 500 == 0) {
                System.err.printf("%s cells, %s s%n", ended, (System.nanoTime() - begun) / 1_000_000_000);
            }
            Optional<String> finding = matrix.run(cell);
            finding.ifPresent(text -> {
                findings.add(text);
                System.err.println(text);
            });
        }
        Files.delete(folder);
        System.out.print(FaultMatrix.table(cells));
        System.out.printf("%n%s cells, of which %s hit their call and %s fail; %s s%n", cells.size(), matrix.hits(),
                findings.size(), (System.nanoTime() - begun) / 1_000_000_000);
        System.exit(findings.isEmpty() ? 0 : 5);
    }
}
