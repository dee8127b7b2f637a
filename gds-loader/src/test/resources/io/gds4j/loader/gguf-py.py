# Writes gguf-py.gguf and gguf-py.txt (name, type, shape, SHA-256) with gguf-py 0.19.0, for GgufPyTest.
import gguf, numpy as np, hashlib, sys
rng=np.random.default_rng(19)
w=gguf.GGUFWriter('gguf-py.gguf','llama')
w.add_name('written by gguf-py'); w.add_block_count(2); w.add_context_length(4096)
w.add_rope_freq_base(500000.0); w.add_tokenizer_model('llama')
w.add_token_list(['<unk>','▁a','b','ü']); w.add_token_scores([0.0,-1.0,-2.5,-3.0]); w.add_token_types([2,1,1,1])
w.add_add_bos_token(True); w.add_uint64('test.u64',2**64-1); w.add_int8('test.i8',-7); w.add_float64('test.f64',0.1)
w.add_quantization_version(2)
lines=[]
for t,(block,size) in gguf.GGML_QUANT_SIZES.items():
    # Q8_1 has 40 bytes in gguf-py and 36 in ggml, which writes it to no file
    if int(t) in (9,36,37,38,31,32,33): continue
    raw=rng.integers(0,256,(3,size*2),dtype=np.uint8)
    name='t.%s'%t.name
    w.add_tensor(name, raw, raw_shape=raw.shape, raw_dtype=t)
    lines.append('%s %s %d,%d %s'%(name,t.name,3,2*block,hashlib.sha256(raw.tobytes()).hexdigest()))
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
open('gguf-py.txt','w').write('\n'.join(lines)+'\n')
