#include "emit_cuda/bundle/bundle_name.h"

#include "emit_cuda/bundle/launcher_object.h"
#include "emit_cuda/bundle/text_template.h"
#include "graph/error.h"
#include "support/catch.h"

namespace stitch {

TEST_CASE("any text becomes a C identifier") {
  CHECK(bundle_name("bert") == "bert");
  CHECK(bundle_name("BERT base/v2.onnx") == "BERT_base_v2_onnx");
  CHECK(bundle_name("3d-unet") == "model_3d_unet");
  CHECK(bundle_name("__x__") == "x");
  CHECK(bundle_name("") == "model");
  CHECK(bundle_name("\xC3\xA9t\xC3\xA9") == "t");
  CHECK(bundle_name("std") == "model_std");
}

TEST_CASE("names name their launcher apart, at one length") {
  CHECK(launcher_namespace("a") != launcher_namespace("b"));
  CHECK(launcher_namespace("a").size() == launcher_namespace("a_longer_name").size());
}

TEST_CASE("the compiled launcher takes the namespace of a bundle") {
  const std::string object = launcher_object(launcher_namespace("bert"));
  CHECK(object.find(launcher_namespace("bert")) != std::string::npos);
  CHECK(object.find("stitch_bundle_0000000000000000") == std::string::npos);
  CHECK(object.find(STITCH_SOURCE_DIR) == std::string::npos);
}

TEST_CASE("templates") {
  CHECK(fill_template("a @KEY@ b@x.y @KEY@", {{"KEY", "1"}}) == "a 1 b@x.y 1");
  CHECK(fill_template("@", {}) == "@");
  REQUIRE_THROWS_AS(fill_template("@MISSING@", {}), InternalError);
}

}  // namespace stitch
