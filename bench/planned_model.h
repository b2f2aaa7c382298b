// What `stitchc plan --json` says of a full-size model, for the tables.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace stitch::bench {

// `wanted`: NAME or NAME:dim=value,... of a folder of `corpus`; discarded where planning fails.
// Weights need not be there: plans depend on shapes.
nlohmann::ordered_json planned_model(const std::string& stitchc, const std::string& corpus,
                                     const std::string& wanted, const std::string& flags);

}  // namespace stitch::bench
