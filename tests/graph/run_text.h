// Parses a text graph, validates it and evaluates it: the shape of most tests here.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "graph/validate.h"

namespace stitch {

inline std::vector<Tensor> run_text(const std::string& body,
                                    const std::map<std::string, Tensor>& inputs = {},
                                    EvaluationPrecision precision = EvaluationPrecision::kNative) {
  const Graph graph = parse_graph("graph \"test\" {\n" + body + "\n}\n");
  validate(graph);
  return evaluate(graph, inputs, precision);
}

}  // namespace stitch
