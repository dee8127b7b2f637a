package io.gds4j.internal.text;

import io.gds4j.internal.text.PythonLiteral.Malformed;
import io.gds4j.internal.text.PythonLiteral.Value;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What the header of an array in {@code .npy} form says. The readers of arrays decide which types they take.
 *
 * @param descr type of an element
 * @param fortran whether the first dimension runs fastest
 * @param shape the dimensions, 0 or more each
 */
public record NpyGrammar(Value descr, boolean fortran, List<Long> shape) {

    /** Bytes of the magic and the version, in front of the length. */
    public static final int PREFIX = 8;

    /** Largest header in bytes. NumPy stops at 10,000 unless told otherwise; structures with many fields need more. */
    public static final int MAX = 1 << 20;

    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    /** Most dimensions of an array in NumPy. */
    private static final int MAX_DIMENSIONS = 64;

    /** Returns the first bytes of each array. */
    public static byte[] magic() {
        return MAGIC.clone();
    }

    /** Takes the magic, and returns whether it is right. */
    public static boolean hasMagic(ByteBuffer start) {
        byte[] magic = new byte[MAGIC.length];
        start.get(magic);
        return Arrays.equals(magic, MAGIC);
    }

    /** Returns whether a version can be read. */
    public static boolean knows(int major, int minor) {
        return major >= 1 && major <= 3 && minor == 0;
    }

    /** Returns the bytes of the length. */
    public static int lengthBytes(int major) {
        return major == 1 ? Short.BYTES : Integer.BYTES;
    }

    /** Takes the length of the header, which is little-endian. */
    public static long length(ByteBuffer field, int major) {
        return major == 1 ? Short.toUnsignedLong(field.getShort()) : Integer.toUnsignedLong(field.getInt());
    }

    /** Parses a header of this version. A position of {@link Malformed} is exact up to the first character beyond ASCII. */
    public static NpyGrammar parse(ByteBuffer bytes, int major) throws Malformed {
        Charset charset = major == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
        try {
            return of(PythonLiteral.parse(charset.newDecoder().decode(bytes).toString()));
        } catch (CharacterCodingException e) {
            throw new Malformed(0, "it is not UTF-8");
        }
    }

    private static NpyGrammar of(Value header) throws Malformed {
        Value descr = null;
        Value order = null;
        Value shape = null;
        if (!(header instanceof Value.Mapping(List<Value> entries)) || entries.size() != 6) {
            throw new Malformed(0, "it is no dict of descr, fortran_order and shape");
        }
        for (int i = 0; i < entries.size(); i += 2) {
            String key = entries.get(i) instanceof Value.Text(String text) ? text : "";
            switch (key) {
                case "descr" -> descr = entries.get(i + 1);
                case "fortran_order" -> order = entries.get(i + 1);
                case "shape" -> shape = entries.get(i + 1);
                default -> throw new Malformed(0, "it has the unknown key " + InertText.quote(key));
            }
        }
        if (descr == null || shape == null || !(order == Value.Word.TRUE || order == Value.Word.FALSE)) {
            throw new Malformed(0, "it lacks descr or shape, or fortran_order is neither True nor False");
        }
        return new NpyGrammar(descr, order == Value.Word.TRUE, dimensions(shape));
    }

    private static List<Long> dimensions(Value shape) throws Malformed {
        if (!(shape instanceof Value.Sequence(boolean tuple, List<Value> elements))
                || !tuple
                || elements.size() > MAX_DIMENSIONS) {
            throw new Malformed(0, "the shape is no tuple of at most %s numbers".formatted(MAX_DIMENSIONS));
        }
        List<Long> dimensions = new ArrayList<>(elements.size());
        for (Value element : elements) {
            if (!(element instanceof Value.Whole(long dimension)) || dimension < 0) {
                throw new Malformed(0, "the shape has something else than numbers from 0 on");
            }
            dimensions.add(dimension);
        }
        return dimensions;
    }
}
