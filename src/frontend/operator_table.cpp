#include "frontend/operator_table.h"

#include <algorithm>

namespace stitch {
namespace {

constexpr std::span<const OperatorRow> (*kFamilies[])() = {
    activation_operators,  attention_operators,   contrib_attention_operators,
    contrib_operators,     control_operators,     convolution_operators,
    deform_conv_operators, dropout_operators,     dynamic_operators,
    einsum_operators,      elementwise_operators, image_operators,
    indexing_operators,    legacy_operators,      loss_operators,
    matmul_operators,      movement_operators,    normalisation_operators,
    pooling_operators,     qlinear_operators,     quantised_operators,
    recurrent_operators,   reduction_operators,   resize_operators,
    roi_operators,         sampling_operators,    sequence_operators,
    shape_operators,       signal_operators,      slicing_operators,
    softmax_operators,     state_space_operators, text_operators,
    unsupported_operators,
};

}  // namespace

OperatorTable::OperatorTable() {
  for (const auto family : kFamilies) {
    for (const OperatorRow& row : family()) rows_[{row.domain, row.name}].push_back(&row);
  }
  for (auto& [key, rows] : rows_) {
    std::sort(rows.begin(), rows.end(), [](const OperatorRow* a, const OperatorRow* b) {
      return a->since_version < b->since_version;
    });
  }
}

const OperatorRow* OperatorTable::find(const std::string& domain, const std::string& name,
                                       int64_t opset) const {
  const auto found = rows_.find({domain, name});
  if (found == rows_.end()) return nullptr;
  const OperatorRow* newest = nullptr;
  for (const OperatorRow* row : found->second) {
    if (row->since_version <= opset) newest = row;
  }
  return newest;
}

std::optional<int> OperatorTable::first_version(const std::string& domain,
                                                const std::string& name) const {
  const auto found = rows_.find({domain, name});
  if (found == rows_.end()) return {};
  return found->second.front()->since_version;
}

std::vector<std::string> OperatorTable::names(const std::string& domain) const {
  std::vector<std::string> result;
  for (const auto& [key, rows] : rows_) {
    if (key.first == domain) result.emplace_back(key.second);
  }
  return result;
}

}  // namespace stitch
