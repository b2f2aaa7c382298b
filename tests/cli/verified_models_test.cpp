// Models of the corpus through the whole trail, on the emulator with all checks: enough of them to
// meet every operator of the trail milestone and every exporter (verified_models.tsv says what each
// adds), with and without stitching and with both kinds of contractions.
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "frontend/onnx_model.h"
#include "model_verdict.h"
#include "support/catch.h"
#include "support/shared_corpus.h"

namespace stitch {

namespace {

namespace fs = std::filesystem;

constexpr VerdictOptions kStitchLibrary = {FusionMode::kStitch, ContractionMode::kLibrary};
constexpr VerdictOptions kStitchOwn = {FusionMode::kStitch, ContractionMode::kOwn};
constexpr VerdictOptions kNoneLibrary = {FusionMode::kNone, ContractionMode::kLibrary};
constexpr VerdictOptions kNoneOwn = {FusionMode::kNone, ContractionMode::kOwn};

// Rows of a table of tab-separated values, without its header.
std::vector<std::vector<std::string>> read_table(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE(in);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
  }
  return rows;
}

std::vector<std::string> chosen_models() {
  std::vector<std::string> names;
  for (const auto& row : read_table(fs::path(STITCH_SOURCE_DIR) / "tests/cli/verified_models.tsv"))
    names.push_back(row.at(0));
  return names;
}

std::vector<std::string> trail_models(const fs::path& corpus) {
  std::vector<std::string> names;
  for (const auto& row : read_table(corpus / "small/milestones.tsv"))
    if (row.at(1) == "trail") names.push_back(row.at(0));
  return names;
}

void add_operators(const OnnxGraph& graph, std::set<std::string>& operators) {
  for (const OnnxNode& node : graph.nodes) {
    operators.insert(node.domain.empty() ? node.op_type : node.domain + "::" + node.op_type);
    for (const OnnxAttribute& attribute : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute.value))
        add_operators(**body, operators);
  }
}

std::set<std::string> operators_of(const fs::path& corpus, const std::vector<std::string>& names) {
  std::set<std::string> operators;
  for (const std::string& name : names)
    add_operators(read_model(corpus / "small" / name / "model.onnx").graph, operators);
  return operators;
}

// "bert_ts14_dyn" -> "ts14", "paddle_tagger13" -> "paddle13", "bert_eager_ts11" -> "ts11", "eager":
// the parts of the name that say how the file was written.
std::set<std::string> exporters_of(const std::vector<std::string>& names) {
  const std::set<std::string> kWays = {"ts", "dynamo", "script", "tf2onnx"};
  const std::set<std::string> kManners = {"eager", "converter", "unfolded", "nchw",
                                          "fp16",  "double",    "dyn"};
  std::set<std::string> found;
  for (const std::string& name : names) {
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '_');) {
      size_t digits = part.size();
      while (digits > 0 && std::isdigit(static_cast<unsigned char>(part[digits - 1])) != 0)
        --digits;
      const std::string word = part.substr(0, digits);
      if (kManners.contains(part) || (kWays.contains(word) && digits < part.size()))
        found.insert(part);
      else if (name.starts_with("paddle_") && digits < part.size())
        found.insert("paddle" + part.substr(digits));
    }
  }
  return found;
}

void verify_all(const VerdictOptions& options) {
  CHECK(verify_faults(fs::path(STITCH_SOURCE_DIR) / "models/bert_small", options) == "");
  const auto corpus = shared_corpus();
  if (!corpus) return;
  for (const std::string& name : chosen_models()) {
    INFO(name);
    CHECK(verify_faults(*corpus / "small" / name, options) == "");
  }
}

}  // namespace

TEST_CASE("the chosen models have every operator and exporter of the trail", "[list]") {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  const std::vector<std::string> trail = trail_models(*corpus), chosen = chosen_models();
  const std::set<std::string> operators = operators_of(*corpus, trail);
  CHECK(operators.size() == 89);
  const std::set<std::string> verified = operators_of(*corpus, chosen);
  for (const std::string& op : operators) {
    INFO("operator " << op);
    CHECK(verified.contains(op));
  }
  const std::set<std::string> written = exporters_of(chosen);
  for (const std::string& exporter : exporters_of(trail)) {
    INFO("exporter " << exporter);
    CHECK(written.contains(exporter));
  }
}

TEST_CASE("models are right: stitched, contractions by the library", "[stitch_library]") {
  verify_all(kStitchLibrary);
}

TEST_CASE("models are right: stitched, own contractions", "[stitch_own]") {
  verify_all(kStitchOwn);
}

TEST_CASE("models are right: a kernel per node, contractions by the library", "[none_library]") {
  verify_all(kNoneLibrary);
}

TEST_CASE("models are right: a kernel per node, own contractions", "[none_own]") {
  verify_all(kNoneOwn);
}

}  // namespace stitch
