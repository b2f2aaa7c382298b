// `verify` reports device memory that nothing freed.
#include "emulated_driver.h"
#include "runtime/driver.h"
#include "runtime/runner/device_buffer.h"
#include "support/catch.h"
#include "verify_model.h"

namespace stitch {

namespace {

VerifyResult verify_quietly() {
  VerifyRequest request;
  request.target = std::string(STITCH_SOURCE_DIR) + "/tests/onnx/contrib/gelu";
  Console console({.quiet = true});
  return verify_model(request, console);
}

}  // namespace

TEST_CASE("memory that is allocated at the end makes a verification fail") {
  const VerifyResult clean = verify_quietly();
  CHECK(clean.leaks.empty());
  CHECK(clean.report_count() == 0);
  REQUIRE(clean.passed());

  const runtime::Driver driver = runtime::Driver::open(emulated_driver_file());
  runtime::CUcontext context = nullptr;
  REQUIRE(driver.primary_context_retain(&context, 0) == 0);
  const runtime::CurrentContext current(driver, context);
  const runtime::DeviceBuffer forgotten(driver, 320, "a seeded leak");
  const VerifyResult leaking = verify_quietly();
  REQUIRE(leaking.leaks.size() == 1);
  CHECK_THAT(leaking.leaks[0], Catch::StartsWith("leak: ") && Catch::EndsWith("was never freed"));
  CHECK(leaking.report_count() == 1);
  CHECK_FALSE(leaking.passed());
}

}  // namespace stitch
