package io.gds4j.loader.internal.file;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names of files that each have the slices of one rank, in numbers without a total: {@code consolidated.00.pth} of Meta,
 * {@code mp_rank_00_model_states.pt} and {@code layer_01-model_00-model_states.pt} of DeepSpeed, the folder {@code mp_rank_00} of
 * Megatron, and {@code mp_rank_00_001} with the stage of a pipeline.
 */
public final class RankName {
    private static final Pattern NUMBER =
            Pattern.compile(
                    "(?<=consolidated\\.|rank|rank[-_.]|mp_rank_\\d{2,5}_|layer_\\d{2,4}-model_)\\d{1,5}(?!\\d)");

    /** Numbers above 0 that say by themselves that there are others, unlike those in {@code lora_rank8}. */
    private static final Pattern LATER =
            Pattern.compile("(?<=consolidated\\.|mp_rank_(?:\\d{2,5}_)?|layer_\\d{2,4}-model_)0*[1-9]\\d{0,4}(?!\\d)");

    private RankName() {
    }

    /** Returns whether two files are of different ranks of one set. */
    public static boolean areOfOneSet(Path one, Path other) {
        String name = name(one);
        return !name.equals(name(other)) && NUMBER.matcher(name).find() && set(name).equals(set(name(other)));
    }

    /** Returns whether a file or folder is of one rank of several: by its number, or because there is one of another rank beside it. */
    public static boolean hasOthers(Path path) {
        String name = name(path);
        if (LATER.matcher(name).find()) {
            return true;
        }
        Matcher number = NUMBER.matcher(name);
        while (number.find()) {
            // each number of a set occurs, so that two looks decide, and no listing of a bucket
            int other = Integer.parseInt(number.group()) == 0 ? 1 : 0;
            String digits = String.format(Locale.ROOT, "%0" + number.group().length() + "d", other);
            if (Files.exists(path.resolveSibling(
                    name.substring(0, number.start()) + digits + name.substring(number.end())))) {
                return true;
            }
        }
        return false;
    }

    private static String set(String name) {
        return NUMBER.matcher(name).replaceAll("*");
    }

    private static String name(Path path) {
        return String.valueOf(path.getFileName());
    }
}
