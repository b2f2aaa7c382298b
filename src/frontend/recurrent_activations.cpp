#include "frontend/recurrent_activations.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "frontend/activation_functions.h"
#include "frontend/node_context.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct Parameters {
  double alpha = 0;
  double beta = 0;
};

using Function = ValueId (*)(PrimitiveBuilder&, ValueId, const Parameters&);

struct Row {
  std::string_view name;              // in lower case: exporters differ
  std::optional<double> alpha, beta;  // the defaults of parameters that it has
  Function function;
};

ValueId affine(PrimitiveBuilder& b, ValueId x, const Parameters& p) {
  return b.add(b.mul(x, p.alpha), p.beta);
}

ValueId scaled_tanh(PrimitiveBuilder& b, ValueId x, const Parameters& p) {
  return b.mul(b.unary(Op::k_tanh, b.mul(x, p.beta)), p.alpha);
}

ValueId thresholded_relu(PrimitiveBuilder& b, ValueId x, const Parameters& p) {
  const ValueId below = b.compare(CompareKind::kLt, x, p.alpha);
  return b.select(below, b.scalar(b.dtype(x), 0), x);
}

ValueId softsign(PrimitiveBuilder& b, ValueId x, const Parameters&) {
  return b.div(x, b.add(b.unary(Op::k_abs, x), 1.0));
}

const Row kRows[] = {
    {"affine", 1.0, 0.0, affine},
    {"elu", 1.0, {}, [](auto& b, ValueId x, auto& p) { return elu(b, x, p.alpha); }},
    {"hardsigmoid", 0.2, 0.5,
     [](auto& b, ValueId x, auto& p) { return hard_sigmoid(b, x, p.alpha, p.beta); }},
    {"leakyrelu", 0.01, {}, [](auto& b, ValueId x, auto& p) { return leaky_relu(b, x, p.alpha); }},
    {"relu", {}, {}, [](auto& b, ValueId x, auto&) { return relu(b, x); }},
    {"scaledtanh", 1.0, 1.0, scaled_tanh},
    {"sigmoid", {}, {}, [](auto& b, ValueId x, auto&) { return sigmoid(b, x); }},
    {"softplus", {}, {}, [](auto& b, ValueId x, auto&) { return softplus(b, x); }},
    {"softsign", {}, {}, softsign},
    {"tanh", {}, {}, [](auto& b, ValueId x, auto&) { return b.unary(Op::k_tanh, x); }},
    {"thresholdedrelu", 1.0, {}, thresholded_relu},
};

const Row& row_of(const std::string& given) {
  std::string lower;
  for (const char c : given) {
    lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const Row& row : kRows) {
    if (row.name == lower) return row;
  }
  throw ModelError(fmt::format("activation '{}' is not known", given));
}

}  // namespace

std::vector<RecurrentActivation> recurrent_activations(const NodeContext& n,
                                                       std::vector<std::string> absent) {
  const size_t count = absent.size();
  const std::vector<std::string> names =
      n.has_attribute("activations") ? n.texts("activations") : std::move(absent);
  if (names.size() != count) {
    throw ModelError(fmt::format("{} activations, expected {}", names.size(), count));
  }
  const std::vector<double> alphas = n.numbers("activation_alpha");
  const std::vector<double> betas = n.numbers("activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<RecurrentActivation> result;
  for (const std::string& name : names) {
    const Row& row = row_of(name);
    Parameters p{row.alpha.value_or(0), row.beta.value_or(0)};
    if (row.alpha && next_alpha < alphas.size()) p.alpha = alphas[next_alpha++];
    if (row.beta && next_beta < betas.size()) p.beta = betas[next_beta++];
    result.emplace_back(
        [function = row.function, p](PrimitiveBuilder& b, ValueId x) { return function(b, x, p); });
  }
  return result;
}

}  // namespace stitch
