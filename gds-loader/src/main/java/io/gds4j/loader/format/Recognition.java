package io.gds4j.loader.format;

/**
 * What a format says about the content of a file.
 *
 * @since 0.1
 */
public sealed interface Recognition {
    /** The file is of this format, complete or broken. */
    Recognition RECOGNIZED = new Recognized();
    /** The file is not of this format. */
    Recognition UNRECOGNIZED = new Unrecognized();

    /** The format reads the file. It is {@link #RECOGNIZED}. */
    record Recognized() implements Recognition {
    }

    /** The file is not of this format. It is {@link #UNRECOGNIZED}. */
    record Unrecognized() implements Recognition {
    }

    /**
     * The format knows the file and does not read it.
     *
     * @param what what the file is, such as {@code a TorchScript archive}
     * @param remedy what the user can do, such as {@code save the state dict with torch.save}
     */
    record Unsupported(String what, String remedy) implements Recognition {
    }
}
