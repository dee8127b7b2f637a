package io.gds4j.loader.format.gguf;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of a part of a split set, {@code <prefix>-00001-of-00003.gguf}.
 *
 * @param folder path of the first part, for its folder
 * @param number number of the part from 1
 * @param count number of parts
 */
record SplitName(Path folder, String prefix, int number, int count) {

    private static final Pattern NAME = Pattern.compile("(.*)-(\\d{5})-of-(\\d{5})\\.gguf");

    /** Returns the name of a part; empty for a file with another name. */
    static Optional<SplitName> of(Path file) {
        Matcher name = NAME.matcher(String.valueOf(file.getFileName()));
        return name.matches()
                ? Optional.of(new SplitName(
                        file, name.group(1), Integer.parseInt(name.group(2)), Integer.parseInt(name.group(3))))
                : Optional.empty();
    }

    /** Returns the file of another part of the set. */
    Path part(int other) {
        return folder.resolveSibling(String.format(Locale.ROOT, "%s-%05d-of-%05d.gguf", prefix, other, count));
    }

    /** Returns what all parts of a set have in common. */
    String set() {
        return String.format(Locale.ROOT, "%s-of-%05d", prefix, count);
    }
}
