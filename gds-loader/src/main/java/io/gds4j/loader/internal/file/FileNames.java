package io.gds4j.loader.internal.file;

/** The rule for names of files in a checkpoint's own files. */
public final class FileNames {
    private FileNames() {
    }

    /** Returns whether a name leads to a file in the folder of the file that has it, or below. */
    public static boolean areBelow(String name) {
        if (name.indexOf('\\') >= 0 || name.indexOf('\0') >= 0) {
            return false;
        }
        for (String part : name.split("/", -1)) {
            if (part.isEmpty() || part.equals(".") || part.equals("..")) {
                return false;
            }
        }
        return true;
    }
}
