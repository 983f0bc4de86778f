"""The programs of scripts/workloads/wheels/all, and what each runs in."""

from dataclasses import dataclass, field

from environments import LIBRARIES, ROCM, Environment

# Libraries of AMD's that Debian lacks: two functions that do nothing, and one of another number.
TRACER = {"libroctracer64.so.4": "roctracer.c"}
ROCM7 = ["python3", "libhiprtc7", "libhiprtc-builtins7"]
NUMPY = "numpy==2.3.5"

ENVIRONMENTS = {one.name: one for one in (
    Environment("triton", "Triton 3.6.0", "forky", ["python3"], ["triton==3.6.0", NUMPY],
                settings={"TRITON_CACHE_DIR": "{folder}/cache"},
                note="Triton's own launcher needs torch: gfxgraph.triton compiles for gfx1030, and the program launches. Triton 3.9 refuses gfx1030."),
    Environment("tinygrad", "tinygrad 0.14.0", "forky", ["python3"], ["tinygrad==0.14.0", NUMPY],
                settings={"DEV": "HIP", "PARALLEL": "0", "HIP_PATH": "{libraries}/libamdhip64.so.6",
                          "COMGR_PATH": "{libraries}/libamd_comgr.so.3"},
                note="tinygrad gives comgr an empty option, which comgr 3 refuses: the program has two lines for that. It has no graphs for HIP."),
    Environment("openmm", "OpenMM 8.6.1", "forky", ["python3", "libhiprtc6", "libhiprtc-builtins6"], ["openmm==8.6.1", "OpenMM-HIP-6==8.6.1", NUMPY]),
    Environment("cupy", "CuPy 14.2.0", "experimental",
                [*ROCM7, "libhipblas3", "librocfft0", "libhipfft0", "librocsparse1", "libhipsparse4", "librocsolver0", "libhiprand1",
                 "librccl1", "libroctx64-4", "librocm-smi64-7", "librocthrust-dev", "librocprim-dev", "libhipcub-dev"],
                ["cupy-rocm-7-0==14.2.0", "fastrlock==0.8.4", NUMPY, "scipy==1.16.3"], stubs=TRACER,
                settings={"CUPY_CACHE_DIR": "{folder}/home", "ROCM_HOME": "/usr"}),
    Environment("torch", "torch 2.14 of Debian, for the CPU", "forky", ["python3", "python3-torch", "python3-numpy", "libhiprtc6", "libhiprtc-builtins6"], [],
                note="Its classes, hooks and modules with gfxgraph.torch; device arrays and kernels are not torch's, which has no device here."),
    Environment("jax", "JAX 0.5.0", "sid",
                ["libhipsolver0", "librocsolver0", "libhipfft0", "librocfft0", "libmiopen1", "libhipblas2", "libhipsparse1", "libhiprand1",
                 "libhiprtc6", "libhiprtc-builtins6", "libroctx64-4", "libnuma1"],
                ["jax==0.5.0", "jaxlib==0.5.0", "jax-rocm60-plugin==0.5.0", "jax-rocm60-pjrt==0.5.0", "numpy==2.3.5", "scipy==1.16.3",
                 "ml_dtypes==0.5.4", "opt_einsum==3.4.0"],
                python="3.11",
                stubs={"librccl.so.1": "rccl.c", "libhipblaslt.so.0": "hipblaslt.c", "librocprofiler-register.so.0": "empty.c",
                       "librocm_smi64.so.7": "empty.c", "libamd_comgr.so.2": f"{LIBRARIES}/libamd_comgr.so.3"},
                links={"opt/rocm/llvm": "/usr/lib/{llvm}", "opt/rocm/amdgcn/bitcode": "/usr/lib/{llvm}/lib/clang/{version}/amdgcn/bitcode"},
                settings={"XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                          "XLA_FLAGS": "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false "
                                       "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL --xla_gpu_graph_min_graph_size=1"},
                note="rocBLAS for products, of which XLA captures a stream, and no timing of its solutions, which takes 0.7 s each."),
    Environment("onnxruntime", "ONNX Runtime 1.22.2", "experimental",
                [*ROCM7, "libhipblas3", "librocfft0", "libhipfft0", "libhiprand1", "librccl1", "libroctx64-4", "librocm-smi64-7", "libmiopen1"],
                ["onnxruntime-rocm==1.22.2.post3", NUMPY, "onnx==1.20.0", "protobuf==6.33.1", "ml_dtypes==0.5.4", "typing_extensions==4.15.0",
                 "coloredlogs==15.0.1", "humanfriendly==10.0", "flatbuffers==25.9.23", "packaging==25.0", "sympy==1.14.0", "mpmath==1.3.0"],
                stubs={**TRACER, "librocm_smi64.so.1": f"{LIBRARIES}/librocm_smi64.so.7"},
                settings={"MIOPEN_DEBUG_FIND_ONLY_SOLVER": "ConvDirectNaiveConvFwd", "CCC_OVERRIDE_OPTIONS": "#s/^.usr.include$/./",
                          "MIOPEN_CUSTOM_CACHE_DIR": "{folder}/home", "MIOPEN_USER_DB_PATH": "{folder}/home"},
                note="LayerNormalization and Softmax take it for granted that a wave has 64 lanes, and are wrong on gfx1030."),
    Environment("numba-hip", "Numba-HIP 0.2.1", "experimental", [*ROCM7, "libclang1-22"],
                ["numba-hip==0.2.1", "numba==0.63.1", "llvmlite==0.46.0", NUMPY, "hip-python-interop==10.0.0.0.1.2",
                 "rocm-bindings-compiler==10.0.0.0.1.2", "rocm-bindings-systems==10.0.0.0.1.2", *ROCM],
                stubs={"librocm_sysdeps_z.so.1": "sysdeps_z.c", "librocm_sysdeps_zstd.so.1": "sysdeps_zstd.c",
                       "libclang.so": f"{LIBRARIES}/libclang-22.so.1"},
                links={"opt/rocm/llvm": "/usr/lib/{llvm}", "opt/rocm/amdgcn/bitcode": "/usr/lib/{llvm}/lib/clang/{version}/amdgcn/bitcode",
                       "opt/rocm/include": "/usr/include", "opt/rocm/lib": LIBRARIES}),
    Environment("hip-python", "hip-python (rocm-bindings-hip 10.0.0)", "experimental", ROCM7, [*ROCM, NUMPY]),
    Environment("hipengine", "hipEngine 0.8.3", "experimental", ROCM7, ["hipengine==0.8.3", "safetensors==0.8.0", NUMPY], settings={"HIPENGINE_HIP_ARCH": "gfx1030"}),
    Environment("cyllama", "cyllama 0.7.0", "sid", ["python3", "libhipblas2"], ["cyllama-rocm==0.7.0", NUMPY],
                lacks="its kernels are for {targets} only; and its libggml-hip exports a std::call_once of its own, which LLVM in "
                      "Debian's comgr then calls: the process ends when HIP compiles its first kernel"),
    Environment("openmm7", "OpenMM 8.6.1, its plugin for HIP 7", "experimental", ROCM7, ["openmm==8.6.1", "openmm-hip-7==8.6.1", NUMPY]),
    Environment("pennylane", "PennyLane Lightning 0.45.0", "experimental", ROCM7,
                ["pennylane_lightning_amdgpu==0.45.0", "pennylane_lightning==0.45.0", "pennylane==0.45.1", "autoray==0.8.4",
                 "scipy-openblas32==0.3.34.481.3", "autograd==1.8.0", NUMPY, "rustworkx==0.18.1", "appdirs==1.4.4", "cachetools==8.0.2",
                 "diastatic-malt==2.15.3", "gast==0.7.0", "networkx==3.6.1", "packaging==26.4", "requests==2.34.2", "scipy==1.17.1",
                 "tomlkit==0.15.2", "typing_extensions==4.16.0", "certifi==2026.10.19.post1", "charset-normalizer==3.5.3", "idna==3.20",
                 "urllib3==2.8.0", "termcolor==3.3.0"],
                lacks="its kernels are for {targets} only, and HIP 7.2.4 ends the process when Kokkos writes a variable of them, without gfxgraph's "
                      "layers too"),
)}


@dataclass
class Program:
    """tests/workloads/python/FILE.py with the arguments, in one of the environments. `reason`: it does not get as far as its values, and
    that is not gfxgraph's doing; the row has it. `captured`: the arguments of a run with gfxgraph's hooks, in which it captures steps of
    itself. `explained`: what gfxgraph check finds in it, by class and a part of the kernel's name."""
    name: str
    environment: str
    file: str
    arguments: tuple = ()
    settings: dict = field(default_factory=dict)
    captured: tuple = ()
    explained: dict = field(default_factory=dict)


# OpenMM's own source, which it compiles when it runs, gives ds_bpermute the number of a thread in its workgroup: the instruction takes
# it modulo the wave.
ROTATES = {("S8", "computeNonbonded"): "OpenMM numbers lanes by the thread in its workgroup, and gives that to `__builtin_amdgcn_ds_bpermute`, "
                                       "which takes it modulo the wave: the second wave of a workgroup reads the lanes that are meant."}

# In a loop over outputs: a store, and in the next round a barrier. No other wave reads what is stored, so values are right.
UNFINISHED = {("S7", "cupy_"): "clang 22 leaves out the `s_waitcnt_vscnt` between the store of a loop's round and the barrier of the next one; hipcc 7.2.4 "
                               "compiles CuPy's source to the same. No wave reads what was stored, so the values are right."}
ENDED = {("S2", name): f"waves of {library} that have nothing to do end before the barriers of the others. RDNA2 counts the remaining ones, so the "
                       "values are right." for name, library in (("bluestein_single", "rocFFT"), ("substitution_kernel", "rocSOLVER"))}
BARE_BARRIER = {("S7", "sort_"): "XLA 0.5.0 makes a barrier without a fence: no wave waits for its stores to LDS before it, which gfx1030 needs. On a "
                                 "GPU that is a race; the agent's waves store before they come to a barrier, so that values are right here."}

PROGRAMS = [
    *[Program(f"triton-{part}", "triton", "triton_kernels", (part,)) for part in ("softmax", "layer_norm", "matmul", "attention")],
    *[Program(f"tinygrad-{part}", "tinygrad", "tinygrad_training", (part,)) for part in ("training", "operations")],
    *[Program(f"openmm-{part}", "openmm", "openmm_dynamics", (part,), explained=ROTATES) for part in ("cutoff", "pme", "constraints")],
    Program("cupy-kernels", "cupy", "cupy_arrays", ("kernels", "numbers", "streams"), explained=UNFINISHED),
    Program("cupy-libraries", "cupy", "cupy_arrays", ("products", "fourier", "solves", "sparse"), explained=UNFINISHED | ENDED),
    Program("cupy-captured", "cupy", "cupy_arrays", ("captured",)),
    Program("cupy-exchange", "cupy", "cupy_exchange", ("pools",), captured=("pools", "steps", "graphs")),
    Program("torch-graphs", "torch", "torch_graphs", ("names", "replaced", "modules"), captured=("names", "replaced", "modules", "steps")),
    *[Program(f"jax-{part}", "jax", "jax_training", (part,), explained=BARE_BARRIER) for part in ("functions", "libraries", "training")],
    *[Program(f"onnxruntime-{part}", "onnxruntime", "onnxruntime_models", (part,)) for part in ("layers", "graph", "convolution")],
    Program("numba-hip", "numba-hip", "numba_kernels"),
    Program("hip-python", "hip-python", "hip_python_calls"),
    Program("hipengine", "hipengine", "hipengine_kernels"),
    Program("openmm-hip-7", "openmm7", "openmm_dynamics", explained=ROTATES),
    Program("pennylane", "pennylane", "pennylane_circuit"),
    Program("cyllama", "cyllama", "cyllama_model"),
]
