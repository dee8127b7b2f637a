# Writes llama.txt, the logits of a small Llama by transformers 5.24.0 with weights decoded by gguf-py 0.19.0, for MappedLlamaTest, which makes
# the same weights.
import gguf, hashlib, numpy as np, torch
from transformers import LlamaConfig, LlamaForCausalLM
T=gguf.GGMLQuantizationType
HEADS={'self_attn.q_proj':4,'self_attn.k_proj':2}
NAMES={'model.embed_tokens':'token_embd','model.norm':'output_norm','lm_head':'output','model.layers.':'blk.','self_attn.q_proj':'attn_q',
       'self_attn.k_proj':'attn_k','self_attn.v_proj':'attn_v','self_attn.o_proj':'attn_output','mlp.gate_proj':'ffn_gate','mlp.up_proj':'ffn_up',
       'mlp.down_proj':'ffn_down','post_attention_layernorm':'ffn_norm','input_layernorm':'attn_norm'}
LONGER={'output.weight','blk.0.attn_v.weight','blk.0.ffn_down.weight'}
def random(name, length):
    out=b''.join(hashlib.sha256(b'%s 1 %d'%(name.encode(),i)).digest() for i in range((length+31)//32))
    return np.frombuffer(out[:length],np.uint8).copy()
def weight(name, shape):
    if len(shape)==1:
        return (random(name,shape[0]).astype('f4')+128)/256
    kind,size,scales=(T.Q6_K,210,{208:0x0400}) if name in LONGER else (T.Q4_K,144,{0:0x0c00,2:0x1800})
    blocks=random(name,shape[0]*shape[1]//256*size).reshape(-1,size)
    for at,scale in scales.items():
        blocks[:,at:at+2]=scale&255,scale>>8
    return gguf.dequantize(blocks,kind).astype('f4').reshape(shape)
model=LlamaForCausalLM(LlamaConfig(vocab_size=32,hidden_size=256,intermediate_size=256,num_hidden_layers=2,num_attention_heads=4,
    num_key_value_heads=2,max_position_embeddings=64,rms_norm_eps=1e-5,tie_word_embeddings=False)).eval()
for name,parameter in model.named_parameters():
    short=name
    for old,new in NAMES.items():
        short=short.replace(old,new)
    w=weight(short,tuple(parameter.shape))
    for layer,heads in HEADS.items():
        if layer in name: # as llama.cpp's converter orders the rows of a head
            w=w.reshape(heads,w.shape[0]//heads//2,2,w.shape[1]).swapaxes(1,2).reshape(w.shape)
    parameter.data=torch.from_numpy(np.ascontiguousarray(w))
with torch.no_grad():
    logits=model(torch.tensor([[1,17,30,4]])).logits[0,-1]
open('llama.txt','w').write(''.join('%.9g\n'%x for x in logits))
