package io.gds4j.loader.internal;

/**
 * Decodes blocks of ggml's quantised types. Each method decodes whole blocks from the start of an array; the order of its operations
 * is that of ggml, so results are equal bit by bit. Layouts: ggml-common.h.
 */
final class GgmlBlocks {
    /** Elements of a small block. */
    private static final int SMALL = 32;
    /** Elements of a block of a K type. */
    private static final int LARGE = 256;
    /** Elements with one scale in Q2_K, Q3_K and Q6_K; half of those with one scale in Q4_K and Q5_K. */
    private static final int GROUP = 16;
    /** Added to a value, it changes nothing, also not the sign of zero. */
    private static final float NO_MINIMUM = -0f;

    private static final float[] IQ4_NL = {
            -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
    };
    /** Twice the values of 4-bit floats; the scale is halved in turn. */
    private static final float[] MXFP4 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    /** Exponent bias of MXFP4's scale; one more than that of float, because its values are doubled. */
    private static final int MXFP4_BIAS = 128;

    private GgmlBlocks() {
    }

    static void q8of0(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 34 * block;
            float scale = half(from, begin);
            for (int i = 0; i < SMALL; i++) {
                to[at + i] = scale * from[begin + 2 + i];
            }
        }
    }

    static void q4of0(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 18 * block;
            nibbles(from, begin + 2, to, at, 8, half(from, begin), NO_MINIMUM);
        }
    }

    static void q4of1(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 20 * block;
            nibbles(from, begin + 4, to, at, 0, half(from, begin), half(from, begin + 2));
        }
    }

    private static void nibbles(byte[] from, int begin, float[] to, int at, int zero, float scale, float minimum) {
        for (int i = 0; i < GROUP; i++) {
            int bits = from[begin + i];
            to[at + i] = scale * ((bits & 15) - zero) + minimum;
            to[at + GROUP + i] = scale * ((bits >> 4 & 15) - zero) + minimum;
        }
    }

    static void q5of0(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 22 * block;
            fiveBits(from, begin + 2, to, at, 16, half(from, begin), NO_MINIMUM);
        }
    }

    static void q5of1(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 24 * block;
            fiveBits(from, begin + 4, to, at, 0, half(from, begin), half(from, begin + 2));
        }
    }

    /** Decodes elements whose fifth bits stand before their nibbles. */
    private static void fiveBits(byte[] from, int begin, float[] to, int at, int zero, float scale, float minimum) {
        int fifths = from[begin] & 0xff | (from[begin + 1] & 0xff) << 8 | (from[begin + 2] & 0xff) << 16
                | from[begin + 3] << 24;
        for (int i = 0; i < GROUP; i++) {
            int bits = from[begin + 4 + i];
            to[at + i] = scale * ((bits & 15 | (fifths >> i & 1) << 4) - zero) + minimum;
            to[at + GROUP + i] = scale * ((bits >> 4 & 15 | (fifths >> GROUP + i & 1) << 4) - zero) + minimum;
        }
    }

    static void iq4nl(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 18 * block;
            values(from, begin + 2, to, at, IQ4_NL, half(from, begin));
        }
    }

    static void mxfp4(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++, at += SMALL) {
            int begin = 17 * block;
            values(from, begin + 1, to, at, MXFP4, Math.scalb(1f, (from[begin] & 0xff) - MXFP4_BIAS));
        }
    }

    private static void values(byte[] from, int begin, float[] to, int at, float[] values, float scale) {
        for (int i = 0; i < GROUP; i++) {
            int bits = from[begin + i];
            to[at + i] = scale * values[bits & 15];
            to[at + GROUP + i] = scale * values[bits >> 4 & 15];
        }
    }

    static void q2k(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++) {
            int begin = 84 * block;
            float scale = half(from, begin + 80);
            float minimum = half(from, begin + 82);
            for (int group = 0; group < LARGE / GROUP; group++, at += GROUP) {
                int scales = from[begin + group];
                float groupScale = scale * (scales & 15);
                float groupMinimum = minimum * (scales >> 4 & 15);
                int quants = begin + 16 + pair(group);
                int shift = group & 6;
                for (int i = 0; i < GROUP; i++) {
                    to[at + i] = groupScale * (from[quants + i] >> shift & 3) - groupMinimum;
                }
            }
        }
    }

    static void q3k(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++) {
            int begin = 110 * block;
            float scale = half(from, begin + 108);
            for (int group = 0; group < LARGE / GROUP; group++, at += GROUP) {
                int low = from[begin + 96 + (group & 7)] >> (group >> 3 << 2) & 15;
                int high = from[begin + 104 + (group & 3)] >> (group >> 2 << 1) & 3;
                float groupScale = scale * ((low | high << 4) - 32);
                int thirds = begin + (group & 1) * GROUP;
                int third = group >> 1;
                int quants = begin + 32 + pair(group);
                int shift = group & 6;
                for (int i = 0; i < GROUP; i++) {
                    // the third bit of an element adds 4 to numbers from -4 on
                    int value = (from[quants + i] >> shift & 3) + ((from[thirds + i] >> third & 1) << 2) - 4;
                    to[at + i] = groupScale * value;
                }
            }
        }
    }

    /** Returns where the bytes of a group of Q2_K or Q3_K begin; eight groups share two times 16 bytes. */
    private static int pair(int group) {
        return (group >> 3) * 32 + (group & 1) * GROUP;
    }

    static void q4k(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++) {
            int begin = 144 * block;
            float scale = half(from, begin);
            float minimum = half(from, begin + 2);
            for (int group = 0; group < LARGE / SMALL; group++, at += SMALL) {
                float groupScale = scale * scale(from, begin + 4, group);
                float groupMinimum = minimum * minimum(from, begin + 4, group);
                int quants = begin + 16 + (group >> 1) * SMALL;
                int shift = (group & 1) << 2;
                for (int i = 0; i < SMALL; i++) {
                    to[at + i] = groupScale * (from[quants + i] >> shift & 15) - groupMinimum;
                }
            }
        }
    }

    static void q5k(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++) {
            int begin = 176 * block;
            float scale = half(from, begin);
            float minimum = half(from, begin + 2);
            for (int group = 0; group < LARGE / SMALL; group++, at += SMALL) {
                float groupScale = scale * scale(from, begin + 4, group);
                float groupMinimum = minimum * minimum(from, begin + 4, group);
                int quants = begin + 48 + (group >> 1) * SMALL;
                int shift = (group & 1) << 2;
                for (int i = 0; i < SMALL; i++) {
                    int fifth = (from[begin + 16 + i] >> group & 1) << 4;
                    to[at + i] = groupScale * (from[quants + i] >> shift & 15 | fifth) - groupMinimum;
                }
            }
        }
    }

    /** Returns the scale of a group in Q4_K and Q5_K: 6 bits, of which those of the last four groups lie in two places. */
    private static int scale(byte[] from, int scales, int group) {
        return group < 4 ? from[scales + group] & 63
                : from[scales + 4 + group] & 15 | from[scales - 4 + group] >> 2 & 48;
    }

    private static int minimum(byte[] from, int scales, int group) {
        return group < 4 ? from[scales + 4 + group] & 63
                : from[scales + 4 + group] >> 4 & 15 | from[scales + group] >> 2 & 48;
    }

    static void q6k(byte[] from, float[] to, int at, int blocks) {
        for (int block = 0; block < blocks; block++) {
            int begin = 210 * block;
            float scale = half(from, begin + 208);
            for (int group = 0; group < LARGE / GROUP; group++, at += GROUP) {
                float groupScale = scale * from[begin + 192 + group];
                int lows = begin + (group >> 3) * 64 + (group & 3) * GROUP;
                int lowShift = group & 4;
                int highs = begin + 128 + pair(group);
                int highShift = group & 6;
                for (int i = 0; i < GROUP; i++) {
                    int value = from[lows + i] >> lowShift & 15 | (from[highs + i] >> highShift & 3) << 4;
                    to[at + i] = groupScale * (value - 32);
                }
            }
        }
    }

    private static float half(byte[] from, int at) {
        return Float.float16ToFloat((short) (from[at] & 0xff | from[at + 1] << 8));
    }
}
