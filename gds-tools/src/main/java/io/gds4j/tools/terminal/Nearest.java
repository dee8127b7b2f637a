package io.gds4j.tools.terminal;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Finds the word that a user probably meant. */
public final class Nearest {
    /** One typo for every three characters. */
    private static final int CHARACTERS_PER_TYPO = 3;
    /** Longest word that is compared: the comparison takes the square of the length. */
    private static final int MAX_CHARACTERS = 64;

    private Nearest() {
    }

    /** Returns the known word with the fewest typos between it and the given one; empty if none is near. */
    public static Optional<String> to(String word, Collection<String> known) {
        if (word.length() > MAX_CHARACTERS) {
            return Optional.empty();
        }
        return known.stream()
                .filter(candidate -> typos(word, candidate) <= Math.max(1,
                        Math.min(word.length(), candidate.length()) / CHARACTERS_PER_TYPO))
                .min(Comparator.comparingInt(candidate -> typos(word, candidate)));
    }

    /** Counts letters to insert, remove, replace or swap with the next one. */
    private static int typos(String one, String other) {
        int[][] typos = new int[one.length() + 1][other.length() + 1];
        for (int i = 0; i <= one.length(); i++) {
            for (int j = 0; j <= other.length(); j++) {
                if (i == 0 || j == 0) {
                    typos[i][j] = i + j;
                    continue;
                }
                int replaced = typos[i - 1][j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                typos[i][j] = Math.min(replaced, Math.min(typos[i - 1][j], typos[i][j - 1]) + 1);
                if (i > 1 && j > 1 && one.charAt(i - 1) == other.charAt(j - 2)
                        && one.charAt(i - 2) == other.charAt(j - 1)) {
                    typos[i][j] = Math.min(typos[i][j], typos[i - 2][j - 2] + 1);
                }
            }
        }
        return typos[one.length()][other.length()];
    }
}
