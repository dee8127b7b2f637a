# Writes decoded.txt (type, seed, SHA-256 of the decoded floats) with gguf-py 0.19.0 and torch, for DecodedTensorsTest, which makes the
# same bytes. All NaNs count as one. Arguments: seeds; 1 2 3 without.
import gguf, hashlib, numpy as np, sys, torch
T=gguf.GGMLQuantizationType
BLOCKS='Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL MXFP4'.split()
TORCH=dict(F8_E5M2=torch.float8_e5m2,F8_E4M3=torch.float8_e4m3fn,F8_E8M0=torch.float8_e8m0fnu,F8_E4M3FNUZ=torch.float8_e4m3fnuz,
           F8_E5M2FNUZ=torch.float8_e5m2fnuz,F16=torch.float16,BF16=torch.bfloat16,F32=torch.float32)
SPECIALS=[0x0000,0x8000,0x7c00,0xfc00,0x7e00,0x0001,0x8001,0x7bff,0x03ff,0x3c00]
def random(name, seed, length):
    out=b''.join(hashlib.sha256(b'%s %d %d'%(name.encode(),seed,i)).digest() for i in range((length+31)//32))
    return bytearray(out[:length])
def content(name, seed, size):
    if size<=4:
        return bytearray(range(256)) + bytearray(b for i in range(65536) for b in (i&255,i>>8)) + random(name,seed,4096)
    out=bytearray(b for value in range(256) for b in [value]*size)
    rest=random(name,seed,size*128)
    choices=random(name,seed+1000,256)
    for block in range(64):
        for i,place in enumerate((0,2,size-4,size-2)):
            special=SPECIALS[choices[4*block+i]%10]
            rest[block*size+place:block*size+place+2]=bytes((special&255,special>>8))
    return out+rest
lines=[]
for seed in [int(s) for s in sys.argv[1:]] or [1,2,3]:
    for name in list(TORCH)+BLOCKS:
        if name in TORCH:
            size=TORCH[name].itemsize
            raw=content(name,seed,size)
            floats=torch.frombuffer(raw,dtype=TORCH[name]).to(torch.float32).numpy()
        else:
            size=gguf.GGML_QUANT_SIZES[T[name]][1]
            raw=content(name,seed,size)
            with np.errstate(all='ignore'):
                floats=gguf.dequantize(np.frombuffer(bytes(raw),np.uint8).reshape(-1,size),T[name]).ravel()
        bits=floats.view(np.uint32).copy()
        bits[np.isnan(floats)]=0x7fc00000
        lines.append('%s %d %s'%(name,seed,hashlib.sha256(bits.astype('<u4').tobytes()).hexdigest()))
open('decoded.txt','w').write('\n'.join(lines)+'\n')
