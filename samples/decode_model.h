// The shape and the weights of decode_step's transformer, shared by the GPU program and its CPU
// reference. Weights are made up but fixed; nothing is trained.
#pragma once

#include <vector>

#include "sample.h"

namespace decode {

constexpr int kLayers = 8;
constexpr int kModel = 128;  // width of the residual stream
constexpr int kHeads = 8;    // query heads
constexpr int kKvHeads = 4;  // each serves kHeads / kKvHeads query heads
constexpr int kHeadSize = 16;
constexpr int kKvSize = kKvHeads * kHeadSize;
constexpr int kHidden = 352;  // width of the MLP
constexpr int kVocabulary = 500;
constexpr int kMaxPositions = 64;
constexpr int kTokens = 12;  // generated if --tokens does not say otherwise
constexpr int kFirstToken = 17;
constexpr float kEpsilon = 1e-5f;

// One layer's weights, row major: output rows x input columns. T is std::vector<float> on the host
// and const float* on the device.
template <typename T>
struct Layer {
  T attention_norm, query, key, value, output, mlp_norm, gate, up, down;
};

template <typename T>
struct Model {
  Layer<T> layers[kLayers];
  T embedding, final_norm, head;
  T cosines, sines;  // kMaxPositions x kHeadSize / 2
};

using HostModel = Model<std::vector<float>>;
using DeviceModel = Model<const float*>;

// Calls f(host tensor, device tensor) for every tensor of the model.
template <typename A, typename B, typename F>
void for_each_tensor(A& a, B& b, F f) {
  for (int i = 0; i < kLayers; ++i) {
    auto& x = a.layers[i];
    auto& y = b.layers[i];
    f(x.attention_norm, y.attention_norm);
    f(x.query, y.query);
    f(x.key, y.key);
    f(x.value, y.value);
    f(x.output, y.output);
    f(x.mlp_norm, y.mlp_norm);
    f(x.gate, y.gate);
    f(x.up, y.up);
    f(x.down, y.down);
  }
  f(a.embedding, b.embedding);
  f(a.final_norm, b.final_norm);
  f(a.head, b.head);
  f(a.cosines, b.cosines);
  f(a.sines, b.sines);
}

inline HostModel make_model() {
  HostModel model;
  uint64_t seed = 100;
  const auto matrix = [&](int rows, int columns) {
    return sample::random_floats(static_cast<size_t>(rows) * columns, ++seed,
                                 1.7f / std::sqrt(static_cast<float>(columns)));
  };
  const auto gains = [&] {
    std::vector<float> values = sample::random_floats(kModel, ++seed, 0.2f);
    for (float& value : values) value += 1.0f;
    return values;
  };
  for (auto& layer : model.layers) {
    layer.attention_norm = gains();
    layer.query = matrix(kModel, kModel);
    layer.key = matrix(kKvSize, kModel);
    layer.value = matrix(kKvSize, kModel);
    layer.output = matrix(kModel, kModel);
    layer.mlp_norm = gains();
    layer.gate = matrix(kHidden, kModel);
    layer.up = matrix(kHidden, kModel);
    layer.down = matrix(kModel, kHidden);
  }
  model.embedding = sample::random_floats(kVocabulary * kModel, ++seed);
  model.final_norm = gains();
  model.head = matrix(kVocabulary, kModel);
  for (int position = 0; position < kMaxPositions; ++position) {
    for (int i = 0; i < kHeadSize / 2; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * i / kHeadSize);
      model.cosines.push_back(static_cast<float>(std::cos(angle)));
      model.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return model;
}

}  // namespace decode
