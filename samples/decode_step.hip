// A small transformer that decodes greedily: 108 launches per token, the position passed as a
// scalar that changes from token to token, the token itself handed on in device memory. Float32;
// the CPU reference in decode_reference.h runs in double precision.
#include "../include/gfxgraph/record.h"
#include "decode_model.h"
#include "decode_reference.h"

#include <cstdlib>
#include <cstring>

namespace {

using namespace decode;

constexpr unsigned kWave = 32;
constexpr unsigned kBlock = 128;

__device__ float sum_wave(float value) {
  for (unsigned step = kWave / 2; step > 0; step /= 2) value += __shfl_xor(value, step, kWave);
  return value;
}

__device__ float max_wave(float value) {
  for (unsigned step = kWave / 2; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor(value, step, kWave));
  }
  return value;
}

__global__ void embed(const float* table, const int* token, float* x) {
  x[threadIdx.x] = table[*token * kModel + threadIdx.x];
}

// One workgroup of kModel lanes.
__global__ void rms_norm(const float* x, const float* gain, float* out) {
  __shared__ float waves[kModel / kWave];
  const float value = x[threadIdx.x];
  const float squares = sum_wave(value * value);
  if (threadIdx.x % kWave == 0) waves[threadIdx.x / kWave] = squares;
  __syncthreads();
  float total = 0.0f;
  for (unsigned i = 0; i < kModel / kWave; ++i) total += waves[i];
  out[threadIdx.x] = value * rsqrtf(total / kModel + kEpsilon) * gain[threadIdx.x];
}

// out[row] = matrix[row] . x (+ out[row]); one wavefront per row.
template <bool kAccumulate>
__global__ void gemv(const float* matrix, const float* x, float* out, int rows, int columns) {
  const int row = blockIdx.x * (kBlock / kWave) + threadIdx.x / kWave;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = threadIdx.x % kWave; i < columns; i += kWave)
    sum += matrix[row * columns + i] * x[i];
  sum = sum_wave(sum);
  if (threadIdx.x % kWave == 0) out[row] = kAccumulate ? out[row] + sum : sum;
}

// Rotates neighbouring pairs of the query and key heads by the angles of this position.
__global__ void rope(float* query, float* key, const float* cosines, const float* sines,
                     int position) {
  constexpr int kHalf = kHeadSize / 2;
  const int pair = threadIdx.x;
  if (pair >= (kModel + kKvSize) / 2) return;
  float* data = pair < kModel / 2 ? query + 2 * pair : key + 2 * pair - kModel;
  const float cosine = cosines[position * kHalf + pair % kHalf];
  const float sine = sines[position * kHalf + pair % kHalf];
  const float even = data[0], odd = data[1];
  data[0] = even * cosine - odd * sine;
  data[1] = even * sine + odd * cosine;
}

__global__ void append(const float* key, const float* value, float* keys, float* values,
                       int position) {
  const int i = threadIdx.x;
  keys[position * kKvSize + i] = key[i];
  values[position * kKvSize + i] = value[i];
}

// One wavefront per query head; the scores live in dynamic LDS, one float per position so far.
__global__ void attention(const float* query, const float* keys, const float* values, float* out,
                          int position) {
  extern __shared__ float scores[];
  const int head = blockIdx.x, lane = threadIdx.x;
  const int kv = head / (kHeads / kKvHeads) * kHeadSize;
  float peak = -INFINITY;
  for (int past = lane; past <= position; past += kWave) {
    float score = 0.0f;
    for (int i = 0; i < kHeadSize; ++i) {
      score += query[head * kHeadSize + i] * keys[past * kKvSize + kv + i];
    }
    score *= 0.25f;  // 1 / sqrt(kHeadSize)
    scores[past] = score;
    peak = fmaxf(peak, score);
  }
  peak = max_wave(peak);
  float total = 0.0f;
  for (int past = lane; past <= position; past += kWave) {
    const float weight = expf(scores[past] - peak);
    scores[past] = weight;
    total += weight;
  }
  total = sum_wave(total);
  __syncthreads();
  if (lane >= kHeadSize) return;
  float sum = 0.0f;
  for (int past = 0; past <= position; ++past) {
    sum += scores[past] * values[past * kKvSize + kv + lane];
  }
  out[head * kHeadSize + lane] = sum / total;
}

__global__ void silu_multiply(float* gate, const float* up, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

// The index of the largest logit, the lowest of equals; also the trace of all tokens so far.
__global__ void argmax(const float* logits, int n, int* token, int* history, int position) {
  __shared__ float best_values[kBlock];
  __shared__ int best_indices[kBlock];
  float best = -INFINITY;
  int index = 0;
  for (int i = threadIdx.x; i < n; i += kBlock) {
    if (logits[i] > best) {
      best = logits[i];
      index = i;
    }
  }
  best_values[threadIdx.x] = best;
  best_indices[threadIdx.x] = index;
  for (unsigned step = kBlock / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x >= step) continue;
    const float other = best_values[threadIdx.x + step];
    const int other_index = best_indices[threadIdx.x + step];
    const float mine = best_values[threadIdx.x];
    if (other > mine || (other == mine && other_index < best_indices[threadIdx.x])) {
      best_values[threadIdx.x] = other;
      best_indices[threadIdx.x] = other_index;
    }
  }
  if (threadIdx.x == 0) {
    *token = best_indices[0];
    history[position] = best_indices[0];
  }
}

class Decoder {
 public:
  explicit Decoder(const HostModel& host) {
    for_each_tensor(host, model_, [](const std::vector<float>& tensor, const float*& pointer) {
      pointer = sample::to_device(tensor);
    });
    for (int layer = 0; layer < kLayers; ++layer) {
      keys_[layer] = cache();
      values_[layer] = cache();
    }
    token_ = sample::to_device(std::vector<int>{kFirstToken});
    history_ = sample::to_device(std::vector<int>(kMaxPositions, -1));
    HIP_CHECK(hipStreamCreate(&stream_));
    name_buffers();
  }

  ~Decoder() {
    for_each_tensor(model_, model_, [](const float*& pointer, const float*&) { release(pointer); });
    for (int layer = 0; layer < kLayers; ++layer) {
      release(keys_[layer]);
      release(values_[layer]);
    }
    for (const float* pointer : {x_, normal_, query_, key_, value_, mixed_, gate_, up_, logits_}) {
      release(pointer);
    }
    release(token_);
    release(history_);
    HIP_CHECK(hipStreamDestroy(stream_));
  }

  // Enqueues one token's launches; the token it decides on stays on the device.
  void decode(int position) {
    gfxgraph_range_begin("decode");  // each token is a range of a recording
    embed<<<1, kModel, 0, stream_>>>(model_.embedding, token_, x_);
    for (int i = 0; i < kLayers; ++i) {
      const Layer<const float*>& layer = model_.layers[i];
      normalize(layer.attention_norm);
      multiply(layer.query, normal_, query_, kModel, kModel);
      multiply(layer.key, normal_, key_, kKvSize, kModel);
      multiply(layer.value, normal_, value_, kKvSize, kModel);
      rope<<<1, 96, 0, stream_>>>(query_, key_, model_.cosines, model_.sines, position);
      append<<<1, kKvSize, 0, stream_>>>(key_, value_, keys_[i], values_[i], position);
      attention<<<kHeads, kWave, (position + 1) * sizeof(float), stream_>>>(
          query_, keys_[i], values_[i], mixed_, position);
      multiply_add(layer.output, mixed_, x_, kModel, kModel);
      mlp(layer);
    }
    normalize(model_.final_norm);
    multiply(model_.head, normal_, logits_, kVocabulary, kModel);
    argmax<<<1, kBlock, 0, stream_>>>(logits_, kVocabulary, token_, history_, position);
    gfxgraph_range_end("decode");
    HIP_CHECK(hipGetLastError());
  }

  // The last token, as a program needs it that shows each as it comes.
  int token() {
    int token = 0;
    HIP_CHECK(hipMemcpyAsync(&token, token_, sizeof(token), hipMemcpyDeviceToHost, stream_));
    HIP_CHECK(hipStreamSynchronize(stream_));
    return token;
  }

  std::vector<float> logits() {
    std::vector<float> host(kVocabulary);
    HIP_CHECK(hipMemcpyAsync(host.data(), logits_, host.size() * sizeof(float),
                             hipMemcpyDeviceToHost, stream_));
    HIP_CHECK(hipStreamSynchronize(stream_));
    return host;
  }
  std::vector<int> history(int tokens) {
    HIP_CHECK(hipStreamSynchronize(stream_));
    return sample::to_host(history_, static_cast<size_t>(tokens));
  }

 private:
  static float* cache() {
    float* pointer = sample::device_alloc<float>(kMaxPositions * kKvSize);
    HIP_CHECK(hipMemset(pointer, 0, kMaxPositions * kKvSize * sizeof(float)));
    return pointer;
  }
  // So that a trace's buffers are found by what they are, whatever their addresses.
  void name_buffers() const {
    const auto name = [](const void* pointer, int layer, const char* what) {
      char text[32];
      std::snprintf(text, sizeof(text), "layer %d %s", layer, what);
      gfxgraph_name(pointer, text);
    };
    for (int i = 0; i < kLayers; ++i) {
      const Layer<const float*>& layer = model_.layers[i];
      name(layer.attention_norm, i, "attention norm");
      name(layer.query, i, "query");
      name(layer.key, i, "key");
      name(layer.value, i, "value");
      name(layer.output, i, "output");
      name(layer.mlp_norm, i, "mlp norm");
      name(layer.gate, i, "gate");
      name(layer.up, i, "up");
      name(layer.down, i, "down");
      name(keys_[i], i, "key cache");
      name(values_[i], i, "value cache");
    }
    gfxgraph_name(model_.embedding, "embedding");
    gfxgraph_name(model_.final_norm, "final norm");
    gfxgraph_name(model_.head, "head");
    gfxgraph_name(model_.cosines, "cosines");
    gfxgraph_name(model_.sines, "sines");
    gfxgraph_name(x_, "residual");
    gfxgraph_name(logits_, "logits");
    gfxgraph_name(token_, "token");
    gfxgraph_name(history_, "history");
  }
  static void release(const void* pointer) { HIP_CHECK(hipFree(const_cast<void*>(pointer))); }

  void mlp(const Layer<const float*>& layer) {
    normalize(layer.mlp_norm);
    multiply(layer.gate, normal_, gate_, kHidden, kModel);
    multiply(layer.up, normal_, up_, kHidden, kModel);
    silu_multiply<<<sample::blocks(kHidden, kBlock), kBlock, 0, stream_>>>(gate_, up_, kHidden);
    multiply_add(layer.down, gate_, x_, kModel, kHidden);
  }
  void normalize(const float* gain) { rms_norm<<<1, kModel, 0, stream_>>>(x_, gain, normal_); }
  void multiply(const float* matrix, const float* x, float* out, int rows, int columns) {
    gemv<false><<<sample::blocks(rows, kBlock / kWave), kBlock, 0, stream_>>>(matrix, x, out, rows,
                                                                              columns);
  }
  void multiply_add(const float* matrix, const float* x, float* out, int rows, int columns) {
    gemv<true><<<sample::blocks(rows, kBlock / kWave), kBlock, 0, stream_>>>(matrix, x, out, rows,
                                                                             columns);
  }

  DeviceModel model_;
  float *keys_[kLayers], *values_[kLayers];
  float* x_ = sample::device_alloc<float>(kModel);
  float* normal_ = sample::device_alloc<float>(kModel);
  float* query_ = sample::device_alloc<float>(kModel);
  float* key_ = sample::device_alloc<float>(kKvSize);
  float* value_ = sample::device_alloc<float>(kKvSize);
  float* mixed_ = sample::device_alloc<float>(kModel);
  float* gate_ = sample::device_alloc<float>(kHidden);
  float* up_ = sample::device_alloc<float>(kHidden);
  float* logits_ = sample::device_alloc<float>(kVocabulary);
  int* token_ = nullptr;
  int* history_ = nullptr;
  hipStream_t stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr float kTolerance = 2e-3f;
  int count = kTokens;
  bool each = false;
  bool understood = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--each") == 0) {
      each = true;
    } else if (std::strcmp(argv[i], "--tokens") == 0 && i + 1 < argc) {
      count = std::atoi(argv[++i]);
    } else {
      understood = false;
    }
  }
  if (!understood || count < 1 || count > kMaxPositions) {
    std::fprintf(stderr,
                 "usage: decode_step [--tokens N] [--each], N from 1 to %d\n"
                 "  --each  show each token as it comes: the host waits for it\n",
                 kMaxPositions);
    return 2;
  }
  const HostModel model = make_model();
  Decoder decoder(model);
  for (int position = 0; position < count; ++position) {
    decoder.decode(position);
    if (!each) continue;
    std::printf("%d ", decoder.token());
    std::fflush(stdout);
  }
  if (each) std::printf("\n");
  const std::vector<int> tokens = decoder.history(count);
  const std::vector<float> logits = decoder.logits();

  // The reference follows the program's own tokens: each must be the best, or as good as that.
  Reference reference(model);
  std::vector<float> expected_logits;
  bool passed = true;
  for (int position = 0; position < count; ++position) {
    const Row row = reference.decode(position == 0 ? kFirstToken : tokens[position - 1]);
    const int token = tokens[position];
    const auto best = std::max_element(row.begin(), row.end());
    if (token < 0 || token >= kVocabulary || row[token] < *best - 4 * kTolerance) {
      std::fprintf(stderr, "token %d at position %d: expected %d\n", token, position,
                   static_cast<int>(best - row.begin()));
      passed = false;
      break;
    }
    expected_logits.assign(row.begin(), row.end());
  }
  std::printf("tokens:");
  for (const int token : tokens) std::printf(" %d", token);
  std::printf("\n");
  passed = passed && sample::close("logits", logits, expected_logits, kTolerance);
  return sample::finish("decode_step", passed);
}
