// decode_step's CPU reference: the same transformer in plain double-precision C++.
#pragma once

#include <algorithm>

#include "decode_model.h"

namespace decode {

using Row = std::vector<double>;

class Reference {
 public:
  explicit Reference(const HostModel& model) : model_(model) {}

  // The logits that follow `token` at the next position.
  Row decode(int token) {
    Row x(kModel);
    for (int i = 0; i < kModel; ++i) x[i] = model_.embedding[token * kModel + i];
    for (int layer = 0; layer < kLayers; ++layer) {
      const auto& weights = model_.layers[layer];
      add(x, multiply(weights.output, attention(layer, normalize(x, weights.attention_norm))));
      const Row normal = normalize(x, weights.mlp_norm);
      Row hidden = multiply(weights.gate, normal);
      const Row up = multiply(weights.up, normal);
      for (int i = 0; i < kHidden; ++i) hidden[i] *= up[i] / (1.0 + std::exp(-hidden[i]));
      add(x, multiply(weights.down, hidden));
    }
    ++position_;
    return multiply(model_.head, normalize(x, model_.final_norm));
  }

 private:
  static void add(Row& x, const Row& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
  static Row multiply(const std::vector<float>& matrix, const Row& x) {
    Row result(matrix.size() / x.size(), 0.0);
    for (size_t row = 0; row < result.size(); ++row) {
      for (size_t i = 0; i < x.size(); ++i) result[row] += matrix[row * x.size() + i] * x[i];
    }
    return result;
  }
  static Row normalize(const Row& x, const std::vector<float>& gain) {
    double squares = 0.0;
    for (const double value : x) squares += value * value;
    Row result(x);
    for (size_t i = 0; i < x.size(); ++i) {
      result[i] *= gain[i] / std::sqrt(squares / static_cast<double>(x.size()) + kEpsilon);
    }
    return result;
  }
  void rotate(Row& heads) const {
    const size_t half = kHeadSize / 2;
    for (size_t i = 0; i < heads.size() / 2; ++i) {
      const double cosine = model_.cosines[position_ * half + i % half];
      const double sine = model_.sines[position_ * half + i % half];
      const double even = heads[2 * i], odd = heads[2 * i + 1];
      heads[2 * i] = even * cosine - odd * sine;
      heads[2 * i + 1] = even * sine + odd * cosine;
    }
  }
  Row attention(int layer, const Row& normal) {
    const auto& weights = model_.layers[layer];
    Row query = multiply(weights.query, normal);
    Row key = multiply(weights.key, normal);
    rotate(query);
    rotate(key);
    keys_[layer].push_back(key);
    values_[layer].push_back(multiply(weights.value, normal));
    Row result(kModel, 0.0);
    for (int head = 0; head < kHeads; ++head) {
      const int kv = head / (kHeads / kKvHeads) * kHeadSize;
      Row scores;
      for (const Row& past : keys_[layer]) {
        double score = 0.0;
        for (int i = 0; i < kHeadSize; ++i) score += query[head * kHeadSize + i] * past[kv + i];
        scores.push_back(score / std::sqrt(static_cast<double>(kHeadSize)));
      }
      const double peak = *std::max_element(scores.begin(), scores.end());
      double total = 0.0;
      for (double& score : scores) total += score = std::exp(score - peak);
      for (size_t past = 0; past < scores.size(); ++past) {
        for (int i = 0; i < kHeadSize; ++i) {
          result[head * kHeadSize + i] += scores[past] / total * values_[layer][past][kv + i];
        }
      }
    }
    return result;
  }

  const HostModel& model_;
  int position_ = 0;
  std::vector<Row> keys_[kLayers], values_[kLayers];
};

}  // namespace decode
