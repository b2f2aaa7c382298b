// Which function lowers which operator from which version on.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stitch {

class NodeContext;

using LowerFunction = void (*)(NodeContext&);

// Versions between two rows of an operator changed types or wording only, or the function asks
// since_version for what differs.
struct OperatorRow {
  std::string_view name;
  int since_version;
  LowerFunction lower;
  std::string_view domain = "";
};

class OperatorTable {
 public:
  OperatorTable();
  // The newest row that is not newer than `opset`; null when the operator is not known then.
  const OperatorRow* find(const std::string& domain, const std::string& name, int64_t opset) const;
  // The version from which the operator exists here; nothing when it is not known at all.
  std::optional<int> first_version(const std::string& domain, const std::string& name) const;
  std::vector<std::string> names(const std::string& domain) const;

 private:
  // Rows of one operator, oldest first.
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const OperatorRow*>> rows_;
};

// The families, one file each.
std::span<const OperatorRow> activation_operators();
std::span<const OperatorRow> attention_operators();
std::span<const OperatorRow> contrib_attention_operators();
std::span<const OperatorRow> contrib_operators();
std::span<const OperatorRow> control_operators();
std::span<const OperatorRow> convolution_operators();
std::span<const OperatorRow> deform_conv_operators();
std::span<const OperatorRow> dropout_operators();
std::span<const OperatorRow> dynamic_operators();
std::span<const OperatorRow> einsum_operators();
std::span<const OperatorRow> elementwise_operators();
std::span<const OperatorRow> image_operators();
std::span<const OperatorRow> indexing_operators();
std::span<const OperatorRow> legacy_operators();
std::span<const OperatorRow> loss_operators();
std::span<const OperatorRow> matmul_operators();
std::span<const OperatorRow> movement_operators();
std::span<const OperatorRow> normalisation_operators();
std::span<const OperatorRow> pooling_operators();
std::span<const OperatorRow> qlinear_operators();
std::span<const OperatorRow> quantised_operators();
std::span<const OperatorRow> recurrent_operators();
std::span<const OperatorRow> reduction_operators();
std::span<const OperatorRow> resize_operators();
std::span<const OperatorRow> roi_operators();
std::span<const OperatorRow> sampling_operators();
std::span<const OperatorRow> sequence_operators();
std::span<const OperatorRow> shape_operators();
std::span<const OperatorRow> signal_operators();
std::span<const OperatorRow> slicing_operators();
std::span<const OperatorRow> softmax_operators();
std::span<const OperatorRow> state_space_operators();
std::span<const OperatorRow> text_operators();
std::span<const OperatorRow> unsupported_operators();

}  // namespace stitch
