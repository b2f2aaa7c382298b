// What `stitchc plan --json` says of a full-size model, for the tables.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stitch::bench {

// `wanted`: NAME of a folder of `corpus`, with the extents of its fill.json, or NAME:dim=value,...;
// discarded where planning fails. Weights need not be there: plans depend on shapes.
nlohmann::ordered_json planned_model(const std::string& stitchc, const std::string& corpus,
                                     const std::string& wanted, const std::string& flags);

// Those that are named, or all of `corpus`.
std::vector<std::string> wanted_models(const std::string& corpus, int count, char** names);

}  // namespace stitch::bench
