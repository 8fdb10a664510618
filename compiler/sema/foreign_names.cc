#include "compiler/sema/foreign_names.h"

#include <array>
#include <span>

namespace pyasc::sema {

namespace {

struct Foreign {
  std::string_view advice;
  std::array<std::string_view, 24> names;
};

constexpr Foreign kFunctions[] = {
    {"read elements by indexing: x[i], or x[i:i + 8] for a slice",
     {"load", "vload", "data_copy_in", "block_load"}},
    {"write elements by assignment: y[i] = value, or y[i:i + 8] = values for a slice",
     {"store", "vstore", "data_copy_out", "block_store"}},
    {"a kernel is one program for the whole problem: write asc.parallel_for(n), whose iterations "
     "the compiler divides among the cores",
     {"program_id",    "num_programs", "get_program_id", "get_block_idx",
      "get_block_num", "GetBlockIdx",  "GetBlockNum",    "get_sub_block_idx",
      "get_core_idx",  "get_core_num", "blockIdx",       "threadIdx",
      "blockDim",      "gridDim",      "thread_id",      "block_id",
      "grid",          "prange",       "parallel",       "parallel_range",
      "cuda",          "launch",       "block_dim"}},
    {"there are no pointers: a slice such as x[i:i + 8, j:j + 8] is a view of a block",
     {"make_block_ptr", "block_ptr", "advance", "make_tensor_descriptor", "make_tensor_ptr",
      "tensor_descriptor", "load_tensor_descriptor", "store_tensor_descriptor", "pointer",
      "pointer_type", "data_ptr", "addptr", "set_global_buffer", "SetGlobalBuffer"}},
    {"copy by assignment, y[:] = x, or by asc.copy(x, y); the compiler moves what is needed "
     "between the memories",
     {"data_copy", "DataCopy", "data_copy_pad", "DataCopyPad", "memcpy", "async_copy", "copy_in",
      "copy_out", "load_data", "LoadData", "Fixpipe", "fixpipe", "copy_ubuf", "Copy"}},
    {"memory on the chip and its queues are the compiler's; asc.local and asc.shared_memory ask "
     "for it",
     {"alloc_ub",
      "alloc_tensor",
      "AllocTensor",
      "FreeTensor",
      "free_tensor",
      "TPipe",
      "TQue",
      "TBuf",
      "InitBuffer",
      "init_buffer",
      "EnQue",
      "DeQue",
      "enque",
      "deque",
      "LocalTensor",
      "GlobalTensor",
      "LocalMemAllocator",
      "shared_array",
      "local_array",
      "alloc",
      "malloc"}},
    {"nothing has to be written: the compiler synchronises cores, pipes and memories",
     {"pipe_barrier", "PipeBarrier", "set_flag", "wait_flag", "SetFlag", "WaitFlag", "sync_all",
      "SyncAll", "syncthreads", "sync_threads", "debug_barrier", "sync_block", "fence",
      "threadfence", "wait", "commit_group", "wait_group"}},
    {"use asc.matmul(x, y), x @ y, or the sum of products in loops",
     {"mm", "mmad", "Mmad", "Matmul", "gemm", "einsum", "inner", "tensordot", "linear", "addmm",
      "dot_scaled", "dot_product", "vdot", "matvec", "mv", "Gemm", "contract", "mma"}},
    {"the operators + - * / and functions such as asc.maximum and asc.exp take whole tensors",
     {"adds", "muls", "Adds", "Muls", "Add",  "Sub",  "Mul",       "Div",
      "Exp",  "Ln",   "Abs",  "Relu", "Sqrt", "Max",  "Min",       "vadd",
      "vmul", "vexp", "maxs", "mins", "Axpy", "axpy", "Duplicate", "duplicate"}},
    {"use a reduction with an axis: asc.sum, prod, max, min, mean, or asc.cumsum and cumprod",
     {"reduce", "reduce_sum", "reduce_max", "reduce_min", "ReduceSum", "ReduceMax", "ReduceMin",
      "associative_scan", "scan", "WholeReduceSum", "nansum", "logsumexp", "cub", "reduce_mean",
      "block_reduce", "warp_reduce"}},
    {"the atomic functions are asc.atomic_add, atomic_max and atomic_min",
     {"atomic_cas", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor", "atomic_sub",
      "atomicAdd", "atomicMax", "atomicMin", "compare_and_swap"}},
    {"use asc.where(condition, x, y)", {"masked_fill", "masked_select", "Select", "iif", "choose"}},
    {"make tensors by asc.zeros, full or arange, and pass arrays as parameters",
     {"array", "asarray", "ascontiguousarray", "from_numpy", "as_tensor", "Tensor", "linspace",
      "logspace", "meshgrid", "fromfunction", "frombuffer", "CreateVecIndex"}},
    {"use asc.concat(tensors, axis) or asc.stack(tensors, axis)",
     {"cat", "join", "hstack", "vstack", "interleave", "column_stack", "append"}},
    {"use asc.reshape, transpose, permute or broadcast_to",
     {"view", "trans", "broadcast", "expand", "moveaxis", "rearrange", "Transpose", "Broadcast",
      "broadcast_arrays"}},
    {"use asc.rand(shape, seed) or asc.randn(shape, seed)",
     {"randint", "uniform", "normal", "dropout", "random", "randint4x", "seed", "bernoulli"}},
    {"use asc.print in debug mode",
     {"printf", "device_print", "static_print", "PRINTF", "DumpTensor", "dump_tensor"}},
    {"asc.topk gives the indices of the greatest elements, asc.sort the elements in order",
     {"argsort", "searchsorted", "unique", "nonzero", "argwhere", "Sort", "histogram", "bincount"}},
    {"the compiler finds such things by itself; leave it out",
     {"multiple_of", "max_contiguous", "max_constancy", "assume", "inline_asm_elementwise",
      "swizzle2d", "vectorize", "pipelined", "num_stages", "autotune"}},
    {"a kernel is a function with the decorator @asc.kernel; another one is called by its name",
     {"jit", "njit", "compile", "kernel"}},
    {"it belongs to the annotation of a parameter", {"tensor", "constexpr"}},
    // Python's own.
    {"what a type is, is known at compile time: x.dtype, x.shape, x.ndim",
     {"type", "isinstance", "issubclass", "hasattr", "getattr", "callable", "dir", "vars", "id",
      "hash", "setattr", "delattr"}},
    {"use asc.sort(x)", {"sorted"}},
    {"write a comprehension, or a loop", {"map", "filter", "iter", "next"}},
    {"kernels have tuples and lists of fixed length, and tensors",
     {"set", "dict", "frozenset", "bytes", "bytearray", "object", "slice", "memoryview"}},
    {"strings exist in asc.print and assert alone",
     {"str", "repr", "format", "ord", "chr", "ascii", "hex", "oct", "bin"}},
    {"a kernel computes on its arguments, and nothing else of Python's is there",
     {"eval", "exec", "open", "input", "globals", "locals", "__import__", "super", "classmethod",
      "staticmethod", "property", "breakpoint", "exit", "quit", "complex", "help", "__file__",
      "__debug__", "NotImplemented"}},
};

constexpr Foreign kAttributes[] = {
    {"use x.reshape(...)", {"view", "resize", "view_as", "reshape_as", "unflatten"}},
    {"cast by x.astype(asc.float16) or asc.float16(x)",
     {"to", "half", "float", "double", "int", "long", "bool", "type", "bfloat16"}},
    {"it has shape, ndim, size and dtype",
     {"dim", "numel", "stride", "strides", "nbytes", "rank", "length", "len", "get_shape",
      "GetSize", "element_size", "flags", "device", "layout"}},
    {"tensors live where the compiler puts them; leave it out",
     {"contiguous", "cpu", "cuda", "npu", "numpy", "detach", "requires_grad", "data", "base",
      "data_ptr", "ctypes", "pin_memory"}},
    {"read elements by indexing: x[i], or x[i:i + 8] for a slice", {"load", "GetValue", "get"}},
    {"write elements by assignment: x[i] = value, or x[:] = value for all of them",
     {"store", "SetValue", "set", "fill", "fill_", "zero_", "copy_", "put", "itemset", "add_",
      "mul_"}},
    {"use asc.where(condition, x, y)", {"masked_fill", "masked_select", "where", "compress"}},
    {"use x @ y or asc.matmul(x, y)", {"matmul", "mm", "bmm", "mv"}},
    {"use x.T, or x.transpose(...)", {"t", "H", "trans"}},
    {"use asc.take(x, indices, axis)", {"index_select", "gather", "take", "select", "choose"}},
    {"use asc.copy(x)", {"clone", "deepcopy", "new"}},
    {"use asc.broadcast_to(x, shape) or asc.tile(x, times)", {"expand", "repeat", "broadcast_to"}},
    {"write a loop, or asc.sort and asc.topk",
     {"sort", "argsort", "nonzero", "tolist", "unique", "searchsorted", "topk"}},
    {"write it as a function of asc: asc.exp(x), asc.abs(x), asc.softmax(x)",
     {"exp", "log",  "sqrt",  "abs",    "sin", "cos", "tanh", "sigmoid", "relu", "softmax",
      "pow", "norm", "rsqrt", "square", "neg", "add", "sub",  "mul",     "div",  "log_softmax"}},
};

std::string_view Find(std::span<const Foreign> table, std::string_view name) {
  for (const Foreign &row : table)
    for (std::string_view known : row.names)
      if (!known.empty() && known == name)
        return row.advice;
  return {};
}

} // namespace

std::string_view ForeignFunction(std::string_view name) { return Find(kFunctions, name); }
std::string_view ForeignAttribute(std::string_view name) { return Find(kAttributes, name); }

} // namespace pyasc::sema
