// The source of convert.ptx, the program of ConvertKernel. dev/kernels.py compiles it, without fused operations, so that its results
// are those of FloatDecoder and Conversion bit by bit. Elements begin at any byte: a word at an odd address would fault.
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ float bits(u32 b) { return __int_as_float((int) b); }
__device__ u32 word(const u8 *p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32) p[3] << 24; }
__device__ u32 half_word(const u8 *p) { return p[0] | p[1] << 8; }

__device__ float half(u32 h) {
    u32 sign = (h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00)
        return bits(sign | 0x7f800000 | (magnitude & 0x3ff ? 0x400000 | (magnitude & 0x3ff) << 13 : 0));
    if (magnitude < 0x400)
        return bits(__float_as_int((float) magnitude * bits(0x33800000)) | sign); // times 2^-24
    return bits(sign | (magnitude << 13) + (112u << 23));
}

__device__ float half_at(const u8 *p) { return half(half_word(p)); }

// A finite 8-bit float of a sign bit, an exponent and a mantissa of m bits.
__device__ float small(u32 b, int m, int bias) {
    int exponent = (b & 0x7f) >> m, mantissa = b & ((1 << m) - 1);
    int significand = exponent == 0 ? mantissa : mantissa | 1 << m;
    float magnitude = (float) significand * bits((u32) ((exponent > 1 ? exponent : 1) - bias - m + 127) << 23);
    return b >= 0x80 ? -magnitude : magnitude;
}

// 2^(b - 127) for 0 <= b < 255.
__device__ float power(int b) { return bits(b > 0 ? (u32) b << 23 : 0x400000); }

// The scale or the minimum of a group in Q4_K and Q5_K: 6 bits, of which those of the last four groups lie in two places.
__device__ int scale6(const u8 *s, int group) { return group < 4 ? s[group] & 63 : s[4 + group] & 15 | s[group - 4] >> 2 & 48; }
__device__ int minimum6(const u8 *s, int group) { return group < 4 ? s[4 + group] & 63 : s[4 + group] >> 4 | s[group] >> 2 & 48; }

// Where the bytes of a group of Q2_K, Q3_K or Q6_K begin.
__device__ int pair(int group) { return (group >> 3) * 32 + (group & 1) * 16; }

__device__ int nibble(const u8 *p, int i) { return i < 16 ? p[i] & 15 : p[i - 16] >> 4; }

__constant__ s8 IQ4_NL[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
__constant__ s8 MXFP4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Decodes element n. The cases are the places of the types in ConvertKernel.
__device__ float decode(int type, const u8 *from, u64 n) {
    const u8 *p;
    int i = (int) (n & 31), j = (int) (n & 255), group, value;
    switch (type) {
        case 0: return bits(word(from + 4 * n));
        case 1: return half_at(from + 2 * n);
        case 2: return bits(half_word(from + 2 * n) << 16);
        case 3: return half((u32) from[n] << 8);
        case 4: return (from[n] & 0x7f) == 0x7f ? bits(0x7fc00000) : small(from[n], 3, 7);
        case 5: return from[n] == 0xff ? bits(0x7fc00000) : power(from[n]);
        case 6: return from[n] == 0x80 ? bits(0x7fc00000) : small(from[n], 3, 8);
        case 7: return from[n] == 0x80 ? bits(0x7fc00000) : small(from[n], 2, 16);
        case 8: // Q4_0
            p = from + (n >> 5) * 18;
            return half_at(p) * (float) (nibble(p + 2, i) - 8) + -0.f;
        case 9: // Q4_1
            p = from + (n >> 5) * 20;
            return half_at(p) * (float) nibble(p + 4, i) + half_at(p + 2);
        case 10: // Q5_0
            p = from + (n >> 5) * 22;
            return half_at(p) * (float) ((nibble(p + 6, i) | (int) (word(p + 2) >> i & 1) << 4) - 16) + -0.f;
        case 11: // Q5_1
            p = from + (n >> 5) * 24;
            return half_at(p) * (float) (nibble(p + 8, i) | (word(p + 4) >> i & 1) << 4) + half_at(p + 2);
        case 12: // Q8_0
            p = from + (n >> 5) * 34;
            return half_at(p) * (float) (s8) p[2 + i];
        case 13: // Q2_K
            p = from + (n >> 8) * 84;
            group = j >> 4;
            value = p[16 + pair(group) + (j & 15)] >> (group & 6) & 3;
            return half_at(p + 80) * (float) (p[group] & 15) * (float) value - half_at(p + 82) * (float) (p[group] >> 4);
        case 14: // Q3_K: the third bit of an element adds 4 to numbers from -4 on
            p = from + (n >> 8) * 110;
            group = j >> 4;
            value = (p[32 + pair(group) + (j & 15)] >> (group & 6) & 3)
                    + ((p[(group & 1) * 16 + (j & 15)] >> (group >> 1) & 1) << 2) - 4;
            return half_at(p + 108) * (float) ((p[96 + (group & 7)] >> (group >> 3 << 2) & 15
                    | (p[104 + (group & 3)] >> (group >> 2 << 1) & 3) << 4) - 32) * (float) value;
        case 15: // Q4_K
            p = from + (n >> 8) * 144;
            group = j >> 5;
            value = p[16 + (group >> 1) * 32 + i] >> ((group & 1) << 2) & 15;
            return half_at(p) * (float) scale6(p + 4, group) * (float) value
                    - half_at(p + 2) * (float) minimum6(p + 4, group);
        case 16: // Q5_K
            p = from + (n >> 8) * 176;
            group = j >> 5;
            value = p[48 + (group >> 1) * 32 + i] >> ((group & 1) << 2) & 15 | (p[16 + i] >> group & 1) << 4;
            return half_at(p) * (float) scale6(p + 4, group) * (float) value
                    - half_at(p + 2) * (float) minimum6(p + 4, group);
        case 17: // Q6_K
            p = from + (n >> 8) * 210;
            group = j >> 4;
            value = p[(group >> 3) * 64 + (group & 3) * 16 + (j & 15)] >> (group & 4) & 15
                    | (p[128 + pair(group) + (j & 15)] >> (group & 6) & 3) << 4;
            return half_at(p + 208) * (float) (s8) p[192 + group] * (float) (value - 32);
        case 18: // IQ4_NL
            p = from + (n >> 5) * 18;
            return half_at(p) * (float) IQ4_NL[nibble(p + 2, i)];
        default: // MXFP4: twice the values of 4-bit floats, so the scale is halved
            p = from + (n >> 5) * 17;
            return (p[0] > 0 ? power(p[0] - 1) : bits(0x200000)) * (float) MXFP4[nibble(p + 1, i)];
    }
}

// Rounds to the nearest value, ties to even.
__device__ u16 to_half(float f) {
    u32 b = (u32) __float_as_int(f), sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
    if (magnitude >= 0x477ff000) // rounds to infinity
        return sign | 0x7c00;
    if (magnitude < 0x38800000) // below 2^-14: the sum's last bits are the result, rounded by the addition
        return sign | (u16) ((u32) __float_as_int(bits(magnitude) + 0.5f) - 0x3f000000);
    return sign | (u16) (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1) >> 13);
}

__device__ u16 to_bfloat(float f) {
    u32 b = (u32) __float_as_int(f);
    return (b & 0x7fffffff) > 0x7f800000 ? b >> 16 | 0x40 : b + 0x7fff + (b >> 16 & 1) >> 16;
}

// what: the number of elements, behind it 6 bits for the type of the source and 2 for that of the target.
extern "C" __global__ void gds4j_convert(const u8 *from, u8 *to, u64 what) {
    u64 count = what >> 8, stride = (u64) gridDim.x * blockDim.x;
    int type = (int) (what >> 2 & 63), target = (int) (what & 3);
    for (u64 n = (u64) blockIdx.x * blockDim.x + threadIdx.x; n < count; n += stride) {
        float value = decode(type, from, n);
        if (target == 0)
            ((float *) to)[n] = value;
        else
            ((u16 *) to)[n] = target == 1 ? to_half(value) : to_bfloat(value);
    }
}
