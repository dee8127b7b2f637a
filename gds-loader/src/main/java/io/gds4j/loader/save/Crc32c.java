package io.gds4j.loader.save;

/** Joins the CRC32C of adjacent pieces, so that several threads can compute it. */
final class Crc32c {
    /** The Castagnoli polynomial with reversed bits. */
    private static final int POLYNOMIAL = 0x82F63B78;

    private Crc32c() {
    }

    /**
     * Returns the CRC32C of two pieces, one after the other.
     *
     * @param length bytes of the second piece, 0 or more
     */
    static int combine(int first, int second, long length) {
        if (length == 0) {
            return first;
        }
        // A zero bit shifts the register; squaring the matrix of one bit doubles the number of bits that it shifts by.
        int[] odd = new int[Integer.SIZE];
        int[] even = new int[Integer.SIZE];
        odd[0] = POLYNOMIAL;
        for (int i = 1; i < Integer.SIZE; i++) {
            odd[i] = 1 << (i - 1);
        }
        square(even, odd);
        square(odd, even);
        int crc = first;
        long left = length;
        while (left != 0) {
            square(even, odd);
            crc = (left & 1) != 0 ? times(even, crc) : crc;
            left >>>= 1;
            int[] swap = even;
            even = odd;
            odd = swap;
        }
        return crc ^ second;
    }

    private static int times(int[] matrix, int vector) {
        int product = 0;
        for (int i = 0, bits = vector; bits != 0; i++, bits >>>= 1) {
            product ^= (bits & 1) != 0 ? matrix[i] : 0;
        }
        return product;
    }

    private static void square(int[] target, int[] matrix) {
        for (int i = 0; i < Integer.SIZE; i++) {
            target[i] = times(matrix, matrix[i]);
        }
    }
}
