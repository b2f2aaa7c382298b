// Operators that are known but not imported, with the reason that users are told.
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

[[noreturn]] void report_strings(NodeContext&) { throw ModelError("strings are not supported"); }
[[noreturn]] void report_images(NodeContext&) {
  throw ModelError("decoding of images is not supported");
}
[[noreturn]] void report_random(NodeContext&) {
  throw ModelError("random numbers are not supported");
}
[[noreturn]] void report_dynamic_extent(NodeContext&) {
  throw ModelError("output size depends on data");
}
[[noreturn]] void report_optional(NodeContext&) {
  throw ModelError("optional values are not supported");
}

constexpr OperatorRow kRows[] = {
    {"Bernoulli", 15, report_random},
    {"ImageDecoder", 20, report_images},
    {"Multinomial", 7, report_random},
    {"NonMaxSuppression", 10, report_dynamic_extent},
    {"Optional", 15, report_optional},
    {"OptionalGetElement", 15, report_optional},
    {"OptionalHasElement", 15, report_optional},
    {"RandomNormal", 1, report_random},
    {"RandomNormalLike", 1, report_random},
    {"RandomUniform", 1, report_random},
    {"RandomUniformLike", 1, report_random},
    {"RegexFullMatch", 20, report_strings},
    {"StringConcat", 20, report_strings},
    {"StringNormalizer", 10, report_strings},
    {"StringSplit", 20, report_strings},
    {"Unique", 11, report_dynamic_extent},
};

}  // namespace

std::span<const OperatorRow> unsupported_operators() { return kRows; }

}  // namespace stitch
