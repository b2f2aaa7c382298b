// The importer: an ONNX file becomes a graph of primitives, or a list of everything that is in the
// way.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "graph/dim.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace stitch {

// The opsets of the default domain whose definitions are known.
inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;

struct ImportOptions {
  // Extents by symbol ("batch"), or by input and axis ("image.2") for a dimension without a symbol
  // or to overrule a symbol that stands for two extents.
  DimBindings dims = {};
  // Inputs that become constants.
  std::map<std::string, Tensor> bound_inputs = {};
  // Weights in external files that are missing are zeros; an error only where a value must be known
  // at import.
  bool weights_may_be_absent = false;
};

// What keeps one node, input or output from being imported.
struct ImportProblem {
  std::string node;  // empty where the problem is not about a node
  std::string op;
  std::string reason;
  std::vector<std::string> notes;
  std::vector<std::string> helps;
  std::vector<std::string> inputs_to_bind;  // whose values would have to be known
};

// "node 'x' (Op): reason", then its note: and help: lines, each behind `indent`.
std::string to_string(const ImportProblem& problem, const std::string& indent = "");

struct ImportResult {
  Graph graph;
  std::vector<std::string> notes;  // what the user may want to know; nothing is wrong
};

// Every problem of a model at once, as one message and each by itself.
class ImportError : public ModelError {
 public:
  ImportError(const std::filesystem::path& model, std::vector<ImportProblem> problems);
  const std::vector<ImportProblem>& problems() const { return problems_; }

 private:
  std::vector<ImportProblem> problems_;
};

// ImportError when there is any problem.
ImportResult import_onnx(const std::filesystem::path& model, const ImportOptions& options = {});

struct CheckReport {
  int64_t node_count = 0;  // Constant nodes not counted; those of subgraphs and functions are
  int64_t opset = 0;
  std::vector<ImportProblem> problems;
  std::vector<std::string> notes;
};

// The import without its result. ModelError only when the file cannot be read.
CheckReport check_onnx(const std::filesystem::path& model, const ImportOptions& options = {});

}  // namespace stitch
