// TensorProto and .npy files: what is written is read back, what is broken is refused.
#include <fstream>

#include "frontend/model_builder.h"
#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"
#include "support/catch.h"
#include "support/make_tensor.h"

namespace stitch {
namespace {

constexpr DType kDTypes[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                             DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                             DType::kBF16, DType::kF32, DType::kF64};

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.extents() == b.extents() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

std::string npy_error(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    read_npy(path);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tensors of every dtype and rank survive a TensorProto file") {
  const TemporaryFolder folder;
  for (const DType dtype : kDTypes) {
    for (const auto& extents : {std::vector<int64_t>{}, {0}, {3}, {2, 3, 5}}) {
      const Tensor tensor = random_tensor(dtype, extents, 7);
      write_tensor_pb(folder.path() / "t.pb", tensor, "t");
      INFO(name(dtype));
      CHECK(equal(read_tensor_pb(folder.path() / "t.pb"), tensor));
    }
  }
}

TEST_CASE("tensors of every dtype but bf16 survive a .npy file; bf16 comes back as f32") {
  const TemporaryFolder folder;
  for (const DType dtype : kDTypes) {
    for (const auto& extents : {std::vector<int64_t>{}, {0}, {3}, {2, 3, 5}}) {
      const Tensor tensor = random_tensor(dtype, extents, 11);
      write_npy(folder.path() / "t.npy", tensor);
      const Tensor back = read_npy(folder.path() / "t.npy");
      INFO(name(dtype));
      if (dtype == DType::kBF16) {
        CHECK(back.dtype() == DType::kF32);
        CHECK(reals(back) == reals(tensor));
      } else {
        CHECK(equal(back, tensor));
      }
    }
  }
}

TEST_CASE("data of a .npy file starts at a multiple of 64 bytes") {
  const TemporaryFolder folder;
  write_npy(folder.path() / "t.npy", f32({2}, {1, 2}));
  CHECK(std::filesystem::file_size(folder.path() / "t.npy") % 64 == 8);
}

TEST_CASE("broken .npy files are refused with a reason") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "broken.npy";
  const std::string start = "cannot read '" + path.string() + "': ";
  CHECK(npy_error(path, "hello") == start + "it is not a .npy file");
  const std::string magic("\x93NUMPY\x01\x00\x40\x00", 10);
  CHECK(npy_error(path, magic + "   ") == start + "it is cut off");
  const auto with_header = [&](std::string header, const std::string& data) {
    header.resize(64, ' ');
    return npy_error(path, magic + header + data);
  };
  CHECK(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234") ==
        start + "4 bytes of data, expected 8");
  CHECK(with_header("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234") ==
        start + "element type '>f4' is not supported");
  CHECK(with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "1234") ==
        start + "Fortran order is not supported");
  CHECK(with_header("{'descr': '<f4', 'fortran_order': False, }", "1234") ==
        start + "no 'shape' in its header");
  CHECK(with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "1234") ==
        start + "its shape is not a tuple of numbers");
}

TEST_CASE("a file that is no TensorProto is refused") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.pb";
  std::ofstream(path) << "no protobuf";
  CHECK_THROWS_WITH(read_tensor_pb(path), "'" + path.string() + "' is not a TensorProto file");
}

}  // namespace stitch
